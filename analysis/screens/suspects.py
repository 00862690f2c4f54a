"""What a screen has found so far: signs, and the values without which no row of theirs can be told.

suspects.see(Sign.MISSED, values)    these were acked, and are not where they were acked
suspects.claim(place, value)         somebody has this value at a place where the log has not
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.frames.operations import OFFSET_BITS
from analysis.frames.signs import Sign
from analysis.screens.log import GARBLED, Log
from analysis.screens.values import Values
from analysis.stored.batches import NONE
from analysis.stored.columns import Columns, Numbers


class Suspects:
    """Signs and values."""

    def __init__(self, operations: int) -> None:
        self.signs: set[Sign] = set()
        self.values = Values(operations)
        self.passed = Values(operations)  # those of them that a group passed over
        self._claims: list[tuple[Numbers, Numbers]] = []

    def see(self, sign: Sign, values: Numbers) -> None:
        """A sign, and whose it is; none where there are no values."""
        if len(values):
            self.signs.add(sign)
            self.values.add(values[values > GARBLED])

    def see_everything(self, values: Numbers) -> None:
        """What is not thought of: every sign."""
        if len(values):
            self.signs |= set(Sign)
            self.values.add(values)

    def claim(self, log: Log, partition: Numbers, offset: Numbers, value: Numbers) -> None:
        """Values that were acked or read at places where the log has something else, or nothing."""
        there = log.there(log.at(partition, offset))
        self.see(Sign.CONTESTED, there[there > GARBLED])
        self._claims.append(((partition << OFFSET_BITS) | offset, value))

    def compare_claims(self) -> None:
        """Whether two values are claimed to be at one place, where the log has neither."""
        if Sign.CONTESTED in self.signs or not self._claims:
            return
        place, value = (np.concatenate(each) for each in zip(*self._claims, strict=True))
        order = np.argsort(place, kind="stable")
        place, value = place[order], value[order]
        twice = (np.diff(place) == 0) & (np.diff(value) != 0)
        self.see(Sign.CONTESTED, value[1:][twice])


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(Columns):
    """Sends that claim no place, by value."""

    value: Numbers
    sent: Numbers
    home: Numbers
    intended_ns: Numbers
    sent_ns: Numbers
    ended_ns: Numbers
    client: Numbers
    transaction: Numbers
    landed: Numbers  # the first place in the log that nobody else claims; NOBODY


def known(numbers: Numbers) -> Numbers:
    """Those that are not null."""
    told: Numbers = numbers[numbers != NONE]
    return told
