"""Fates as columns: analysis.frames.operations.fates of some values, for measures by the driver.

columns = Fates(value=…, sent=…, …)    one row a value; what is null is NONE
columns.readable                       analysis.checks.loss.is_readable, of each
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from analysis.frames.operations import OFFSET_BITS
from analysis.measures.by_driver.batches import NONE, Mask
from analysis.stored.columns import Columns, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates(Columns):
    """What became of some values of one partition: their `home`."""

    value: Numbers
    sent: Numbers  # FAILED, UNKNOWN, UNASKED or ACKED of analysis.frames.operations; NONE: never
    home: Numbers
    intended_ns: Numbers
    sent_ns: Numbers
    ended_ns: Numbers
    acked_ns: Numbers
    acked_place: Numbers
    delivered_ns: Numbers
    done_ns: Numbers
    first_place: Numbers
    complete: Mask
    log_start: Numbers
    passed: Mask
    one_copy: Mask

    @property
    def absent(self) -> Mask:
        """Which the final read does not have."""
        return np.asarray(self.first_place == NONE)

    @property
    def readable(self) -> Mask:
        """Which can be there to be read, as far as the final read tells."""
        return ~(self.absent & (self.complete | (self.passed & self.one_copy)))


def joined(parts: Sequence[Fates]) -> Fates:
    """All of them."""
    return Fates(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Fates)}
    )


def offset_of(place: Numbers) -> Numbers:
    """The offset of each place; NONE of none."""
    return np.where(place == NONE, NONE, place & ((1 << OFFSET_BITS) - 1))
