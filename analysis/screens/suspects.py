"""What a screen has found so far: signs, and the values that their rows of evidence need.

suspects.see(Sign.MISSED, values)    these were acked, and are not where they were acked
suspects.claim(place, value)         an ack or a read names a place where the log lacks the value
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
        """Add a sign and its values; nothing without values."""
        if len(values):
            self.signs.add(sign)
            self.values.add(values[values > GARBLED])

    def see_everything(self, values: Numbers) -> None:
        """Add every sign, for what no sign describes."""
        if len(values):
            self.signs |= set(Sign)
            self.values.add(values)

    def claim(self, log: Log, partition: Numbers, offset: Numbers, value: Numbers) -> None:
        """Add values that were acked or read where the log has another value, or none."""
        in_log = log.values_at(log.at(partition, offset))
        self.see(Sign.CONTESTED, in_log[in_log > GARBLED])
        self._claims.append(((partition << OFFSET_BITS) | offset, value))

    def compare_claims(self) -> None:
        """See places where two values are claimed and the log has neither."""
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
    landed: Numbers  # the first place in the log that no ack claims; NOBODY


def known(numbers: Numbers) -> Numbers:
    """The numbers that are not null."""
    kept: Numbers = numbers[numbers != NONE]
    return kept
