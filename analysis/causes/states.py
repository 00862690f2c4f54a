"""Who led a partition and who was in its ISR, from look to look, and when nobody could tell.

    view at 1 s: kafka1 leads, epoch 4, ISR 1 2 3    view at 5 s: kafka2 leads, epoch 5, ISR 2 3
    =>  two states; the change between them lies between the look before 5 s and 5 s

A *state* holds from its view until the next one. A change is seen late, so it counts from its view
on where that permits more, and from the look before (`since_ns`, where the history has it) where a
member must have been *outside* the ISR.

A *blind stretch* in which neither leader nor epoch changed hid nothing. Any other one, and a leader
epoch that rose by more than one between two looks (unless as many replicas left the ISR, each of
which raises it by one), may have *hidden* leaders and ISRs. Where no epoch is known, a blind
stretch hides.

An empty ISR is none that anybody told (a broker that knows no leader says so): it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]
SEEN_WITHIN_NS = 10**8  # what was so when blindness ended is written down within two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One view of one partition."""

    time_ns: int
    since_ns: int  # the last look that showed another state; time_ns where that is not known
    leader: str | None
    isr: frozenset[str]  # empty: not known
    epoch: int | None
    controller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A stretch that may have hidden leaders and ISRs; end_ns None: until the end."""

    start_ns: int
    end_ns: int | None
    why: str

    def covers(self, from_ns: int, to_ns: int | None) -> bool:
        """Whether any part of it lies there."""
        return (to_ns is None or self.start_ns <= to_ns) and (
            self.end_ns is None or self.end_ns >= from_ns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Another broker leads: `leader` instead of `before`."""

    at_ns: int
    before: str
    leader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """All that was seen of one partition."""

    number: int
    states: tuple[State, ...]
    blind: tuple[tuple[int, int | None], ...]

    def at(self, time_ns: int) -> State | None:
        """The state in force, by the last view before."""
        return next((s for s in reversed(self.states) if s.time_ns <= time_ns), None)

    def within(self, from_ns: int, to_ns: int | None) -> Iterator[State]:
        """The state in force at the start of a stretch, and those seen in it."""
        first = self.at(from_ns)
        if first is not None:
            yield first
        for state in self.states:
            if state.time_ns > from_ns and (to_ns is None or state.time_ns <= to_ns):
                yield state

    def after(self, time_ns: int) -> tuple[State, ...]:
        """The states seen later."""
        return tuple(state for state in self.states if state.time_ns > time_ns)

    def changes(self) -> Iterator[Change]:
        """Each time that another broker led; no leader is not another leader."""
        known: str | None = None
        for state in self.states:
            if state.leader is not None and known not in (None, state.leader):
                yield Change(at_ns=state.time_ns, before=str(known), leader=state.leader)
            known = state.leader or known

    def hidden(self) -> tuple[Hidden, ...]:
        """The stretches that may have hidden something, in order of time."""
        found = [*self._unseen_epochs(), *self._dark()]
        return tuple(sorted(found, key=lambda each: each.start_ns))

    def _unseen_epochs(self) -> Iterator[Hidden]:
        told = [state for state in self.states if state.epoch is not None]
        for last, state in pairwise(told):
            rose = int(state.epoch or 0) - int(last.epoch or 0)
            left = len(last.isr - state.isr) if state.isr else 0
            if rose > 1 and left < rose:
                yield Hidden(
                    start_ns=self._last_seen(last, state),
                    end_ns=state.time_ns,
                    why=f"the leader epoch of partition {self.number} rose from {last.epoch} to "
                    f"{state.epoch} between two looks",
                )

    def _last_seen(self, last: State, state: State) -> int:
        """When `last` was seen last, before `state` came: two looks earlier at most, or before
        nobody could tell."""
        told = state.since_ns < state.time_ns
        looked_ns = state.since_ns if told else state.time_ns - SEEN_WITHIN_NS
        dark = [start_ns for start_ns, _ in self.blind if last.time_ns < start_ns < state.time_ns]
        return max(last.time_ns, min([looked_ns, *dark]))

    def _dark(self) -> Iterator[Hidden]:
        if not self.states:
            why = f"no view of partition {self.number} was recorded"
            yield Hidden(start_ns=0, end_ns=None, why=why)
            return
        for start_ns, end_ns in self.blind:
            if not self._hid_nothing(start_ns, end_ns):
                why = f"nobody could tell for a while who led partition {self.number}"
                yield Hidden(start_ns=start_ns, end_ns=end_ns, why=why)

    def _hid_nothing(self, start_ns: int, end_ns: int | None) -> bool:
        before = self.at(start_ns)
        if before is None or end_ns is None or before.epoch is None:
            return False
        after = self.at(end_ns + SEEN_WITHIN_NS) or before
        return (before.leader, before.epoch) == (after.leader, after.epoch)


def partitions_of(views: Iterable[Row], blind: Iterable[Row], count: int) -> tuple[Partition, ...]:
    """What was seen of each of the topic's partitions; rows of the history's tables."""
    dark = tuple(sorted((row["start_ns"], row["end_ns"]) for row in blind))
    by_number: dict[int, list[State]] = {number: [] for number in range(count)}
    for row in sorted(views, key=lambda row: int(row["time_ns"])):
        if row["partition"] in by_number:
            by_number[row["partition"]].append(_state(row))
    return tuple(
        Partition(number=number, states=tuple(_distinct(states)), blind=dark)
        for number, states in by_number.items()
    )


def _state(row: Row) -> State:
    return State(
        time_ns=row["time_ns"],
        since_ns=row["time_ns"] if row.get("since_ns") is None else row["since_ns"],
        leader=row["leader"],
        isr=frozenset(row["isr"] or ()),
        epoch=row["leader_epoch"],
        controller=row["controller"],
    )


def _distinct(states: Sequence[State]) -> Iterator[State]:
    """Without what only said again what was known; a state of the same moment replaces another."""
    last: State | None = None
    for state in states:
        if last is None or state != last:
            yield state
        last = state
