"""One cycle of a made-up load that something is planted in (bench.checker.made.planting)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bench.checker.made.cycles import COMMITTED, MARKER, Cycle, Entries, Mask, Numbers

APART = 4  # entries between two plants


@dataclass(kw_only=True)
class Plot:
    """One cycle that something is planted in."""

    cycle: Cycle
    busy: Mask  # entries near a plant
    again: dict[int, tuple[int, ...]] = field(default_factory=dict)  # what the consumer gets after
    older: set[int] = field(default_factory=set)  # read by the consumer with an older epoch
    late_asks: set[tuple[int, int]] = field(default_factory=set)  # transactions: asked after reads
    corrupt: list[int] = field(default_factory=list)
    # What is planted in the group's change at the end of the outage.
    learns_late: int | None = None  # the member that goes on in the older generation, and commits
    answered_lower: int | None = None  # the partition whose commit the coordinator forgot
    nobodys: int | None = None  # the partition that nobody is given
    of_two: int | None = None  # the partition that the first member is given as well

    @property
    def entries(self) -> Entries:
        """Of the cycle's log."""
        return self.cycle.entries

    def calm(self, partition: int) -> Numbers:
        """The entries of a partition before the outage, but for the first and last few."""
        mine = self.entries.of(partition)
        mine = mine[~self.entries.late[mine]]
        return mine[APART:-APART] if len(mine) > 2 * APART else mine[:0]

    def records(self, partition: int, kind: int = COMMITTED) -> Iterator[int]:
        """Free entries that are records of such transactions."""
        for at in self.calm(partition).tolist():
            send = self.entries.send[at]
            if send != MARKER and not self.busy[at] and self.cycle.sends.kind[send] == kind:
                yield at

    def markers(self, partition: int) -> Iterator[int]:
        """Free entries that are markers."""
        for at in self.calm(partition).tolist():
            if self.entries.send[at] == MARKER and not self.busy[at]:
                yield at

    def take(self, *places: int) -> None:
        """Nothing else is planted near these."""
        for at in places:
            self.busy[max(0, at - APART) : at + APART + 1] = True

    def show(self, at: int, value: int | None) -> None:
        """A marker's or a hidden record's place has this value (None: a payload that is none)."""
        entries = self.entries
        entries.value[at] = -1 if value is None else value
        entries.readable[at] = value is not None
        entries.final[at] = entries.tail[at] = entries.polled[at] = True
        entries.processed[at] = 1
        self.take(at)

    def hide(self, at: int) -> None:
        """Nobody is given it."""
        entries = self.entries
        entries.final[at] = entries.tail[at] = entries.polled[at] = False
        entries.processed[at] = 0
        self.take(at)

    def transaction(self, at: int) -> Numbers:
        """All records of an entry's transaction, as entries; none if something is planted there."""
        entries = self.entries
        mine = (entries.producer == entries.producer[at]) & (entries.window == entries.window[at])
        found = np.flatnonzero(mine & (entries.send != MARKER))
        return found[:0] if self.busy[found].any() else found
