"""A strike, and what the views show of the brokers that it struck.

    kafka2 struck at 5 s; it leads anew at 8 s                   =>  it led without what it lost
    kafka2 struck at 5 s; out of the ISR at 8 s, back at 12 s    =>  it has copied everything again

Which faults are strikes, and what they permit: analysis.causes.disks.strikes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.causes.cause import Cause
from analysis.causes.kinds import STRIKE
from analysis.causes.seen import Seen
from analysis.causes.states import Partition, State

ALWAYS = 0  # before anything happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Nodes that lost written records, when, and when they were healed."""

    fault: int
    words: str
    nodes: frozenset[str]
    invoke_ns: int
    ok_ns: int | None  # None: never proved
    healed_ns: int | None
    before: Mapping[str, Any] = field(default_factory=dict)  # the fault's own view
    why: str | None = None  # why it is not sure
    partition: int | None = None  # None: every one
    kept_from_ns: int | None = None  # records begun from then on were synced before it
    own_topic: bool = False  # it spares internal topics
    started_ns: int = ALWAYS  # its nodes were down until then
    ended: bool = False  # it ended its nodes: as they register Kafka knows what they may lack

    @property
    def up_ns(self) -> int:
        """From when on its nodes can have led anew."""
        return max(self.invoke_ns, self.started_ns)

    def hit(self, seen: Seen) -> bool:
        """Whether it hit a broker."""
        return not seen.brokers or bool(self.nodes & set(seen.brokers))

    def cause(self, partition: Partition) -> Cause:
        """Its cause in a partition, for all records."""
        return Cause(
            kind=STRIKE,
            words=self.words,
            at_ns=self.invoke_ns,
            fault=self.fault,
            sure=self.why is None,
            why=self.why,
            partition=partition.number,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """When a struck broker led anew, or was in the ISR again with all that the leader has."""

    at_ns: int | None = None
    since_ns: int = 0  # it did not do so before
    unseen: bool = False  # part of the time before was blind
    back_ns: int | None = None
    sure: bool = True  # False: it may have led before the strike, in a blind stretch
    before: State | None = None  # the state until then
    changes: int | None = None  # of the partition since that; None: not known


def led_anew(node: str, strike: Strike, partition: Partition) -> Led:
    """What the views show of a struck broker until it was back."""
    last, back_ns = partition.at(strike.invoke_ns), back_in_isr(node, strike, partition)
    for state in partition.after(strike.invoke_ns):
        # A leader that is down keeps leading; the epoch may rise for another replica.
        if state.leader == node and _anew(last, state) and state.time_ns > strike.up_ns:
            dark = partition.was_blind(state.since_ns, state.time_ns)
            was_up = strike.up_ns == strike.invoke_ns
            return Led(
                at_ns=state.time_ns,
                since_ns=max(state.since_ns, strike.up_ns),
                unseen=dark,
                sure=state.since_ns >= strike.up_ns or (was_up and not dark),
                before=last,
                changes=_changes(last, state),
            )
        if state.time_ns == back_ns:
            return Led(back_ns=back_ns)
        last = state
    return Led()


def _changes(last: State | None, state: State) -> int | None:
    """How often a partition was changed from one state to another."""
    if last is None or last.partition_epoch is None or state.partition_epoch is None:
        return None
    return state.partition_epoch - last.partition_epoch


def _anew(last: State | None, state: State) -> bool:
    """Whether its leader was elected since."""
    if last is None:
        return False  # it may have led before
    if last.leader != state.leader:
        return True
    return None not in (last.epoch, state.epoch) and last.epoch != state.epoch


def back_in_isr(broker: str, strike: Strike, partition: Partition) -> int | None:
    """When it was in the ISR again after it had left it."""
    last, out = partition.at(strike.invoke_ns), False
    for state in partition.after(strike.invoke_ns):
        # Out before the strike does not count: it may have come back meanwhile.
        struck = strike.ok_ns is not None and state.time_ns > strike.ok_ns
        out |= struck and last is not None and bool(last.isr) and broker not in last.isr
        if state.went_back:
            out = False  # an old ISR
        elif out and broker in state.isr:
            return state.time_ns
        last = state
    return None


def seen_before(strike: Strike, partition: Partition) -> State | None:
    """The fault's own view of a partition; None where it has none, or an older one."""
    number, view = str(partition.number), strike.before
    if view.get("known") is False or number not in view.get("isr", {}):
        return None
    isr, elr_in_view = frozenset(view["isr"].get(number, ())), view["elr"].get(number)
    now = partition.at(strike.invoke_ns)
    elr = None if elr_in_view is None else frozenset(elr_in_view)
    if elr is None and now is not None and now.elr is not None:
        elr = now.eligible - isr  # a member that left the ISR since then is eligible
    return State(
        time_ns=strike.invoke_ns,
        since_ns=strike.invoke_ns,
        leader=view["leader"].get(number),
        isr=isr,
        epoch=None,
        elr=elr,
        elr_unknown=elr is None and len(isr) < partition.eligible_below,
    )
