"""Who led a partition and who was in its ISR at each look, and when that is not known.

    view at 1 s: kafka1 leads, epoch 4, ISR 1 2 3    view at 5 s: kafka2 leads, epoch 5, ISR 2 3
    =>  two states; the change between them lies between the look before 5 s and 5 s

A *state* holds from its view until the next one. A look sees a change late: the change counts from
its view on where that permits more, and from the look before (`since_ns`) where a member must have
been *outside* the ISR.

A *blind stretch* without a change of leader or epoch hid nothing. One in which the epoch rose by at
most one hid no leaders, but perhaps ISRs. Any other one may have *hidden* leaders and ISRs. So may
the time between two looks in which the leader epoch rose by more than one, unless the views explain
it: each replica that leaves the ISR raises it by one, and so does a new leader. Without known
epochs every blind stretch hides.

If the look before a change is not recorded, it came at most two looks before, or before the blind
stretch that ended with the change. The time before a partition's first view is hidden.

An empty ISR is an unknown one (a broker that knows no leader answers so). If the view has the
eligible leaders as well (KRaft, KIP-966), it is a state: no replica is in sync.

    kafka1 leads, ISR 1, ELR 2    =>  *eligible* are 1 and 2: both have all that is committed
    the same, no ELR in the view, min.insync.replicas 2, of a Kafka that has ELRs
                                  =>  others than kafka1 may be eligible, which is not known

`went_back`: before this state the committed metadata of the partition went back to an older one
(docs/history.md), so that its ISR may name who lacks records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from analysis.stored.table_rows import Blind, View

SEEN_WITHIN_NS = 10**8  # two looks: the first view after a blind stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One view of one partition."""

    time_ns: int
    since_ns: int  # the last look that may have shown another state
    leader: str | None
    isr: frozenset[str]  # empty: not known, unless the ELR is known
    epoch: int | None
    controller: str | None = None
    elr: frozenset[str] | None = None  # None: not known
    partition_epoch: int | None = None  # rises with each change of the partition (KRaft)
    went_back: bool = False
    elr_unknown: bool = False  # others than the ISR may be eligible

    @property
    def isr_known(self) -> bool:
        """Whether the ISR is known."""
        return bool(self.isr) or self.elr is not None

    @property
    def eligible(self) -> frozenset[str]:
        """Who has all that is committed, as far as known: the ISR and the ELR."""
        return self.isr | (self.elr or frozenset())

    @property
    def term(self) -> tuple[str | None, int | None]:
        """Who leads, and since when: a new epoch is a new term."""
        return self.leader, self.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A stretch that may have hidden leaders and ISRs; end_ns None: until the end."""

    start_ns: int
    end_ns: int | None
    why: str
    leaders: bool = True  # False: ISRs only
    led: frozenset[str] = frozenset()  # then: who led before it and after it

    def covers(self, from_ns: int, to_ns: int | None) -> bool:
        """Whether any part of it lies there."""
        return (to_ns is None or self.start_ns < to_ns) and self.ends_after(from_ns)

    def ends_after(self, time_ns: int) -> bool:
        """Whether it lasts beyond a moment."""
        return self.end_ns is None or self.end_ns > time_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Another broker leads: `leader` instead of `before`."""

    since_ns: int  # the last look that may not have shown it
    at_ns: int
    before: str
    leader: str


@dataclass(frozen=True, kw_only=True)
class Partition:
    """All that was seen of one partition."""

    number: int
    states: tuple[State, ...]
    blind: tuple[tuple[int, int | None], ...]
    eligible_below: int = 0  # others may be eligible beside an ISR with fewer members

    def at(self, time_ns: int) -> State | None:
        """The state in force, by the last view before."""
        place = self._after(time_ns)
        return self.states[place - 1] if place else None

    def before(self, time_ns: int) -> State | None:
        """The last state with a known ISR before a moment."""
        return next((s for s in reversed(self.states) if s.time_ns < time_ns and s.isr_known), None)

    def _after(self, time_ns: int) -> int:
        """The place of the first state that was seen later."""
        return bisect_right(self.states, time_ns, key=lambda state: state.time_ns)

    def within(self, from_ns: int, to_ns: int | None) -> Iterator[State]:
        """The state in force at the start of a stretch, and those seen in it."""
        first = self.at(from_ns)
        if first is not None:
            yield first
        for state in self.after(from_ns):
            if to_ns is not None and state.time_ns > to_ns:
                return
            yield state

    def certain(self, from_ns: int, to_ns: int | None) -> Iterator[State]:
        """The same without a state that may have ended before the stretch began."""
        dark = [h for h in self.hidden if h.start_ns < from_ns and h.ends_after(from_ns)]
        for state in self.within(from_ns, to_ns):
            if not any(state.time_ns <= hidden.start_ns for hidden in dark):
                yield state

    def was_blind(self, from_ns: int, to_ns: int) -> bool:
        """Whether part of a stretch was blind."""
        return any(
            start_ns < to_ns and (end_ns is None or end_ns > from_ns)
            for start_ns, end_ns in self.blind
        )

    def after(self, time_ns: int) -> Iterator[State]:
        """The states seen later."""
        return islice(self.states, self._after(time_ns), None)

    def changes(self) -> Iterator[Change]:
        """Each time that another broker led; no leader is not another leader."""
        leader: str | None = None
        for state in self.states:
            if state.leader is not None and leader not in (None, state.leader):
                yield Change(
                    since_ns=state.since_ns,
                    at_ns=state.time_ns,
                    before=str(leader),
                    leader=state.leader,
                )
            leader = state.leader or leader

    @cached_property
    def hidden(self) -> tuple[Hidden, ...]:
        """The stretches that may have hidden something, in order of time."""
        hidden = [*self._unseen_epochs(), *self._dark()]
        return tuple(sorted(hidden, key=lambda stretch: stretch.start_ns))

    def hidden_in(self, from_ns: int, to_ns: int | None) -> list[Hidden]:
        """Those that lie, at least in part, between two moments."""
        return [stretch for stretch in self.hidden if stretch.covers(from_ns, to_ns)]

    def _unseen_epochs(self) -> Iterator[Hidden]:
        with_epoch = [state for state in self.states if state.epoch is not None]
        for last, state in pairwise(with_epoch):
            rose = int(state.epoch or 0) - int(last.epoch or 0)
            # The controller raises it to drop a replica, and once more to elect another leader.
            left = len(last.isr - state.isr) if state.isr_known else 0
            seen = left + (last.leader != state.leader) * bool(state.leader)
            if rose > max(1, seen):
                yield Hidden(
                    start_ns=max(last.time_ns, state.since_ns),
                    end_ns=state.time_ns,
                    why=f"the leader epoch of partition {self.number} rose from {last.epoch} to "
                    f"{state.epoch} between two looks",
                )

    def _dark(self) -> Iterator[Hidden]:
        first_ns = self.states[0].time_ns if self.states else None
        why = f"no view of partition {self.number} was recorded"
        yield Hidden(start_ns=0, end_ns=first_ns, why=why if first_ns is None else f"{why} yet")
        for start_ns, end_ns in self.blind if self.states else ():
            before = self.at(start_ns)
            after = None if end_ns is None else self.at(end_ns + SEEN_WITHIN_NS)
            if not _same(before, after):
                why = f"nobody could tell for a while who led partition {self.number}"
                led = frozenset(s.leader for s in (before, after) if s and s.leader)
                yield Hidden(
                    start_ns=start_ns,
                    end_ns=end_ns,
                    why=why,
                    leaders=not _next(before, after),
                    led=led,
                )


def _same(before: State | None, after: State | None) -> bool:
    """Whether neither leader nor epoch changed, nor the ISR more often than is seen."""
    if before is None or after is None or before.epoch is None:
        return False
    changes = 0
    if before.partition_epoch is not None and after.partition_epoch is not None:
        changes = after.partition_epoch - before.partition_epoch
    return (before.leader, before.epoch) == (after.leader, after.epoch) and changes in (0, 1)


def _next(before: State | None, after: State | None) -> bool:
    """Whether nobody led in between: each leader raises the epoch."""
    if before is None or after is None or before.epoch is None or after.epoch is None:
        return False
    return after.epoch - before.epoch <= 1


def partitions_of(
    views: Iterable[View], blind: Iterable[Blind], count: int, eligible_below: int = 0
) -> tuple[Partition, ...]:
    """The topic's partitions, by rows of the history's tables. Beside an ISR with fewer members
    than `eligible_below`, others may be eligible to lead."""
    stretches = ((row["start_ns"], row["end_ns"]) for row in blind)
    dark = tuple(sorted(stretches, key=lambda stretch: int(stretch[0])))
    by_number: dict[int, list[State]] = {number: [] for number in range(count)}
    for row in sorted(views, key=lambda row: int(row["time_ns"])):
        states = by_number.get(row["partition"])
        if states is not None:
            last = states[-1] if states else None
            states.append(_state(row, last, dark, eligible_below))
    return tuple(
        Partition(
            number=number,
            states=tuple(_distinct(states)),
            blind=dark,
            eligible_below=eligible_below,
        )
        for number, states in by_number.items()
    )


def _state(
    row: View, last: State | None, dark: Sequence[tuple[int, int | None]], eligible_below: int
) -> State:
    isr, elr, since_ns = frozenset(row["isr"] or ()), row.get("elr"), row.get("since_ns")
    return State(
        time_ns=row["time_ns"],
        since_ns=_since(row, last, dark) if since_ns is None else since_ns,
        leader=row["leader"],
        isr=isr,
        epoch=row["leader_epoch"],
        controller=row["controller"],
        elr=None if elr is None else frozenset(elr),
        partition_epoch=row.get("partition_epoch"),
        went_back=bool(row.get("went_back")),
        elr_unknown=elr is None and len(isr) < eligible_below,
    )


def _since(row: View, last: State | None, dark: Sequence[tuple[int, int | None]]) -> int:
    """The look before, if it is not recorded."""
    if last is None:
        return int(row["time_ns"])
    looked_ns = row["time_ns"] - SEEN_WITHIN_NS
    for start_ns, end_ns in dark:
        if start_ns < row["time_ns"] and (end_ns is None or end_ns >= looked_ns):
            looked_ns = min(looked_ns, start_ns)
    return max(last.time_ns, int(looked_ns))


def _distinct(states: Sequence[State]) -> Iterator[State]:
    """The states without repetitions."""
    last: State | None = None
    for state in states:
        if last is None or state != last:
            yield state
        last = state
