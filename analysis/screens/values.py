"""A set of values, one array of flags per producer: fast for millions.

values = Values(operations=100)
values.add(numbers)
values.has(numbers)    a mask
"""

from __future__ import annotations

import numpy as np

from analysis.stored.batches import Mask
from analysis.stored.columns import Numbers
from harness.history.record_format import SEQUENCE_BITS

_WIDE = 1 << 16  # producers' numbers that are counted by their place in an array


class Values:
    """Values of a run with so many operations. A sequence number beyond them is kept apart, so that
    one strange number takes no memory."""

    def __init__(self, operations: int) -> None:
        self._most = 4 * operations + (1 << 16)
        self._flags: dict[int, Mask] = {}
        self._strange: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._strange) or any(each.any() for each in self._flags.values())

    def __len__(self) -> int:
        return len(self._strange) + sum(int(np.count_nonzero(f)) for f in self._flags.values())

    def add(self, values: Numbers) -> None:
        """Add values."""
        for producer, sequence in self._by_producer(values):
            known = sequence[sequence < self._most]
            if len(known) < len(sequence):
                strange = sequence[sequence >= self._most] | (producer << SEQUENCE_BITS)
                self._strange.update(strange.tolist())
            if len(known):
                self._room(producer, int(known.max()) + 1)[known] = True

    def has(self, values: Numbers) -> Mask:
        """A mask of the values that are in the set."""
        mask = np.zeros(len(values), dtype=bool)
        if not (self._flags or self._strange):
            return mask
        for producer, flags in self._flags.items():
            first = producer << SEQUENCE_BITS
            sent = (values >= first) & (values < first + len(flags))
            mask[sent] = flags[values[sent] - first]
        if self._strange:
            mask |= np.isin(values, list(self._strange))
        return mask

    def _room(self, producer: int, wide: int) -> Mask:
        flags = self._flags.get(producer, np.zeros(0, dtype=bool))
        if len(flags) < wide:
            more = min(self._most, max(wide, 2 * len(flags))) - len(flags)
            flags = np.concatenate((flags, np.zeros(more, dtype=bool)))
            self._flags[producer] = flags
        return flags

    def _by_producer(self, values: Numbers) -> list[tuple[int, Numbers]]:
        """Each producer's sequence numbers."""
        if not len(values):
            return []
        producer = values >> SEQUENCE_BITS
        sequence = values & ((1 << SEQUENCE_BITS) - 1)
        return [(each, sequence[producer == each]) for each in distinct(producer)]


def distinct(numbers: Numbers) -> list[int]:
    """The different numbers, in order."""
    least, most = int(numbers.min()), int(numbers.max())
    if least == most:
        return [least]
    if most - least < _WIDE:
        seen: list[int] = (np.flatnonzero(np.bincount(numbers - least)) + least).tolist()
        return seen
    return [int(each) for each in np.unique(numbers)]
