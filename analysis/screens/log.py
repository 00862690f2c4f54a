"""The log as the final read has it: one array per fact about a place.

    partition 0 from 5 to 8, partition 1 from 0 to 2    =>  5 elements: 0/5, 0/6, 0/7, 1/0, 1/1

`value` is the value of the final read; EMPTY without a record, GARBLED for a payload that is no
value. An ack, a delivery or a processing of another value at the place does not count. Places that
no final read reached have the number -1 (NOBODY).

56 bytes per record: in memory, and from `MOST_BYTES` on in a file without a name, of which the
pages in use take memory until `rest`."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.stored.batches import NONE, Mask
from analysis.stored.columns import Numbers

EMPTY, GARBLED = NONE, NONE + 1
NEVER = np.iinfo(np.int64).max  # of a time: later than any
NOBODY = -1
MOST_BYTES = 1 << 29
Small = npt.NDArray[np.int32]


class CannotScreen(Exception):
    """A history without such a log: all of it is suspected."""


class Log:
    """The facts about each place."""

    def __init__(
        self, spans: Sequence[tuple[int, int]], operations: int, scratch: Path | None = None
    ) -> None:
        """`spans` by partition: the first offset, and the one after the last. CannotScreen where
        offsets are far sparser than operations."""
        firsts = [first for first, _ in spans]
        sizes = [max(0, stop - first) for first, stop in spans]
        if sum(sizes) > 16 * operations + (1 << 20) or any(first < 0 for first in firsts):
            raise CannotScreen("offsets far sparser than operations")
        self._first = np.array(firsts, dtype=np.int64)
        self._size = np.array(sizes, dtype=np.int64)
        self.bounds = np.concatenate(([0], np.cumsum(self._size))).astype(np.int64)
        self._scratch = scratch
        self._offsets: dict[int, Numbers] = {}
        size = int(self.bounds[-1])
        self._big = size * 56 > MOST_BYTES
        self.value = self._room(size, EMPTY)
        self.intended_ns = self._room(size, NONE)
        self.sent_ns = self._room(size, NONE)
        self.acked_ns = self._room(size, NONE)
        self.delivered_ns = self._room(size, NEVER)
        self.done_ns = self._room(size, NEVER)
        self.client: Small = self._room(size, NOBODY, np.int32)
        self.transaction: Small = self._room(size, NOBODY, np.int32)

    def _room(self, size: int, fill: int, kind: type = np.int64) -> Any:
        if not self._big:
            return np.full(size, fill, dtype=kind)
        with tempfile.TemporaryFile(dir=self._scratch) as file:
            room = np.memmap(file, dtype=kind, shape=(size,), mode="w+")
        for begin in range(0, size, 1 << 22):
            room[begin : begin + (1 << 22)] = fill
            _rest(room)
        return room

    def rest(self) -> None:
        """Give the memory of pages in files back to the system."""
        if self._big:
            for each in (
                *(self.value, self.intended_ns, self.sent_ns, self.acked_ns),
                *(self.delivered_ns, self.done_ns, self.client, self.transaction),
            ):
                _rest(each)

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return len(self._size)

    def at(self, partition: Numbers, offset: Numbers) -> Numbers:
        """The number of each place; NOBODY outside."""
        exists = (partition >= 0) & (partition < len(self._size))
        known = np.where(exists, partition, 0)
        if not len(self._size):
            return np.full(len(partition), NOBODY)
        since = offset - self._first[known]
        inside = exists & (offset >= 0) & (since >= 0) & (since < self._size[known])
        return np.where(inside, self.bounds[known] + since, NOBODY)

    def has(self, place: Numbers, value: Numbers) -> Mask:
        """Whether the final read has these values at these places."""
        if not len(self.value):
            return np.zeros(len(place), dtype=bool)
        found: Mask = (place != NOBODY) & (value != NONE)
        found &= self.value[place] == value
        return found

    def values_at(self, place: Numbers) -> Numbers:
        """The value of the final read at each place."""
        if not len(self.value):
            return np.full(len(place), EMPTY)
        return np.where(place == NOBODY, EMPTY, self.value[place])

    def span(self, partition: int) -> slice:
        """A partition's places."""
        return slice(int(self.bounds[partition]), int(self.bounds[partition + 1]))

    def offset(self, partition: int, place: Numbers) -> Numbers:
        """The offsets of a partition's places."""
        offsets: Numbers = place - self.bounds[partition] + self._first[partition]
        return offsets

    def offsets(self, partition: int) -> Numbers:
        """The offsets at which a partition's log, which is whole, has a record."""
        if partition not in self._offsets:
            span = self.span(partition)
            places = np.flatnonzero(self.value[span] != EMPTY) + span.start
            self._offsets[partition] = self.offset(partition, places)
        return self._offsets[partition]

    def forget(self) -> None:
        """Keep only what fates need."""
        self.client = self.transaction = np.zeros(0, dtype=np.int32)
        self._offsets.clear()

    def clear(self) -> None:
        """Keep nothing."""
        nothing = np.zeros(0, dtype=np.int64)
        self.value = self.intended_ns = self.sent_ns = self.acked_ns = nothing
        self.delivered_ns = self.done_ns = nothing

    def first(self, partition: int) -> int:
        """Its first offset."""
        return int(self._first[partition])


def _rest(room: npt.NDArray[Any]) -> None:
    if isinstance(room.base, mmap.mmap):  # shared: what was written stays, in the file
        room.base.madvise(mmap.MADV_DONTNEED)


def least_at(times: Numbers, place: Numbers, moment: Numbers) -> None:
    """Lower the times at these places to earlier moments. A place may come several times."""
    if np.any(np.diff(moment) < 0):
        np.minimum.at(times, place, moment)
    else:  # written in reverse, the first of a place is written last
        times[place[::-1]] = np.minimum(times[place], moment)[::-1]
