"""Strikes: faults that take what was written, and flipped bits.

    ISR 1 2; power of kafka1 lost at 5 s, of kafka2 at 6 s, both proved by 7 s
    =>  the whole ISR was struck: what was begun before 7 s may be gone
    ISR 1 2 3; power of kafka1 lost at 5 s; kafka1 leads anew at 8 s and never left the ISR
    =>  kafka1 came to lead without what it lost: what was begun before its `ok` may be gone

A strike counts for a partition whose whole ISR was hit, by one fault or by several that overlap
unhealed, whichever ISR the views show from its invoke to its `ok`, or its own `before`; and for
one that a struck broker came to lead anew before it had left the ISR and come back, which it can
only with all that the leader has. Under acks=1 the leader alone has a record when it is acked, so
there its strike permits what was acked. With `flush.messages=1` lost power takes nothing; a lost
disk takes what was synced, too.

A flipped bit is found when its broker starts: recovery truncates there. So its broker's start is a
strike, unless the bit was put back before. Until it is put back consumers that do not check CRCs
are given what it made of a record.

An ISR that nobody could read may have been any: such a strike is not sure, like one of a fault of
which it is not known what it can do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.causes.cause import Cause
from analysis.causes.kinds import AFTER_STRIKE, FLIPPED_BIT, LEADER_STRUCK, STRIKE
from analysis.causes.seen import Seen
from analysis.causes.states import Partition, State
from analysis.run_facts.faults import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Nodes that lost something, from when until when, and until when they were not healed."""

    fault: int
    words: str
    nodes: frozenset[str]
    invoke_ns: int
    ok_ns: int | None  # None: never proved
    healed_ns: int | None
    before: str | None  # the row's
    why: str | None = None  # it may have been none


def strike_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are strikes."""
    strikes = list(strikes_of(seen))
    for strike in strikes:
        cause = Cause(
            kind=AFTER_STRIKE,
            words=strike.words,
            at_ns=strike.invoke_ns,
            fault=strike.fault,
            sure=strike.why is None,
            why=strike.why,
        )
        yield replace(cause, shown_from_ns=strike.invoke_ns)
        together = frozenset[str]().union(*(each.nodes for each in _meanwhile(strike, strikes)))
        for partition in seen.partitions:
            mine = replace(cause, partition=partition.number, begun_before_ns=strike.ok_ns)
            yield from _whole_isr(mine, strike, together, partition)
            yield from _leads_anew(mine, strike, partition)
            if seen.acks_1:
                yield from _leader(mine, strike, together, partition)


def strikes_of(seen: Seen) -> Iterator[Strike]:
    """The run's strikes, in the order of their rows."""
    for fault, effects in seen.happened.known():
        if effects.takes == "all" or (effects.takes == "unsynced" and not seen.flushed):
            yield _strike(fault)
        if effects.alters_stored_bytes:
            yield from _found_at_start(fault, seen)
    for fault in seen.happened.unknown():
        # Whom else it hit, and until when, is not known either.
        every = _strike(fault)
        yield replace(
            every,
            nodes=every.nodes | set(seen.brokers),
            ok_ns=fault["heal_ok_ns"],
            why=seen.why_unknown(),
        )


def _strike(fault: Row) -> Strike:
    nodes = ", ".join(fault["nodes"])
    return Strike(
        fault=fault["fault"],
        words=f"{fault['verb']} took what {nodes} had written",
        nodes=frozenset(fault["nodes"]),
        invoke_ns=fault["invoke_ns"],
        ok_ns=fault["ok_ns"],
        healed_ns=fault["heal_ok_ns"],
        before=fault["before"],
    )


def _found_at_start(bit: Row, seen: Seen) -> Iterator[Strike]:
    """Each start of the bit's broker before the bit was put back."""
    for fault, effects in seen.happened.known():
        hit = set(bit["nodes"]) & set(fault["nodes"])
        started_ns = fault["heal_invoke_ns"] or fault["ok_ns"]
        if not (effects.ends_processes and hit) or started_ns is None:
            continue
        back_ns = bit["heal_ok_ns"]
        if started_ns > bit["invoke_ns"] and (back_ns is None or back_ns > started_ns):
            yield Strike(
                fault=bit["fault"],
                words=f"{', '.join(sorted(hit))} started anew with a flipped bit on its disk",
                nodes=frozenset(hit),
                invoke_ns=started_ns,
                ok_ns=fault["heal_ok_ns"] or fault["ok_ns"],
                healed_ns=back_ns,
                before=None,
            )


def _meanwhile(strike: Strike, strikes: Sequence[Strike]) -> Iterator[Strike]:
    """The strike, and those not healed yet when it began."""
    for other in strikes:
        begun = other.invoke_ns <= strike.invoke_ns
        if other is strike or (
            begun and (other.healed_ns is None or other.healed_ns > strike.invoke_ns)
        ):
            yield other


def _whole_isr(
    cause: Cause, strike: Strike, together: frozenset[str], partition: Partition
) -> Iterator[Cause]:
    isrs = [state.isr for state in partition.within(strike.invoke_ns, strike.ok_ns)]
    isrs.append(_before(strike, partition.number, "isr"))
    words = f"{cause.words}: the whole ISR of partition {partition.number}"
    if any(isr and isr <= together for isr in isrs):
        yield from _struck(replace(cause, words=words))
    else:
        yield from _maybe(cause, strike, partition, words)


def _leader(
    cause: Cause, strike: Strike, together: frozenset[str], partition: Partition
) -> Iterator[Cause]:
    leaders = {state.leader for state in partition.within(strike.invoke_ns, strike.ok_ns)}
    leaders |= _before(strike, partition.number, "leader")
    words = f"{cause.words}, and it led partition {partition.number}"
    mine = replace(cause, kind=LEADER_STRUCK, words=words, acked_only=True)
    if leaders & together:
        yield mine
    else:
        yield from _maybe(mine, strike, partition, words)


def _maybe(cause: Cause, strike: Strike, partition: Partition, words: str) -> Iterator[Cause]:
    """In doubt where it was not to be seen who was in the ISR, or led, at the strike."""
    for hidden in partition.hidden():
        if hidden.covers(strike.invoke_ns, strike.ok_ns):
            doubt = replace(cause, sure=False, why=cause.why or hidden.why, words=words)
            yield from ([doubt] if cause.acked_only else _struck(doubt))
            return


def _leads_anew(cause: Cause, strike: Strike, partition: Partition) -> Iterator[Cause]:
    for node in strike.nodes:
        last = partition.at(strike.invoke_ns)
        out = last is not None and bool(last.isr) and node not in last.isr
        for state in partition.after(strike.invoke_ns):
            if state.leader == node and _anew(last, state):
                words = f"{cause.words}, and {node} led partition {partition.number} without it"
                yield from _struck(replace(cause, words=words))
                break
            if state.isr and node not in state.isr:
                out = True
            elif state.isr and out:
                break  # it is back, with all that the leader has
            last = state
        else:
            yield from _hidden_lead(cause, strike, partition)


def _hidden_lead(cause: Cause, strike: Strike, partition: Partition) -> Iterator[Cause]:
    """It was never seen to lead anew, nor to come back: where nobody looked it may have."""
    for hidden in partition.hidden():
        if hidden.end_ns is None or hidden.end_ns > strike.invoke_ns:
            yield from _struck(replace(cause, sure=False, why=cause.why or hidden.why))
            return


def _anew(last: State | None, state: State) -> bool:
    """Whether its leader was elected since."""
    if last is None or last.leader != state.leader:
        return True
    return None not in (last.epoch, state.epoch) and last.epoch != state.epoch


def _struck(cause: Cause) -> Iterator[Cause]:
    yield replace(cause, kind=STRIKE)
    yield replace(cause, kind=LEADER_STRUCK)


def _before(strike: Strike, partition: int, key: str) -> frozenset[str]:
    """The ISR, or the leader, by the fault's own view, if that was no older one."""
    try:
        before: Any = json.loads(strike.before or "{}")
        if not before.get("known", True):
            return frozenset()
        found = before.get(key, {}).get(str(partition)) or ()
        return frozenset([found] if isinstance(found, str) else found)
    except (ValueError, AttributeError, TypeError):
        return frozenset()


# Flipped bits that consumers are given


def bit_causes(seen: Seen) -> Iterator[Cause]:
    """While a bit is flipped, readers that do not check CRCs are given what it made of a record."""
    everything = [(fault, seen.why_unknown()) for fault in seen.happened.unknown()]
    known = [(f, None) for f, effects in seen.happened.known() if effects.alters_stored_bytes]
    for fault, why in [*known, *everything]:
        yield Cause(
            kind=FLIPPED_BIT,
            words=f"{fault['verb']} changed what {', '.join(fault['nodes'])} had written",
            at_ns=fault["invoke_ns"],
            sure=why is None,
            why=why,
            partition=_partition_of_bit(fault, seen) if why is None else None,
            fault=fault["fault"],
            known_from_ns=fault["invoke_ns"],
            known_until_ns=fault["heal_ok_ns"],
        )


def _partition_of_bit(fault: Row, seen: Seen) -> int | None:
    """The proof names the segment's folder: <topic>-<partition>."""
    folder = re.search(rf"\b{re.escape(seen.topic)}-(\d+)/", fault["evidence"] or "")
    return int(folder[1]) if folder and seen.topic else None
