"""Sends that claim no place of the log: their acks are elsewhere, or they have none."""

from __future__ import annotations

from dataclasses import dataclass, fields

from analysis.measures.by_driver.batches import Mask
from analysis.stored.columns import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Sends that claim no place, by value."""

    value: Numbers
    sent: Numbers
    home: Numbers
    offset: Numbers  # of the ack; NONE: none, or no ack
    intended_ns: Numbers
    sent_ns: Numbers
    ended_ns: Numbers
    client: Numbers
    transaction: Numbers
    landed: Numbers  # the first place in the log that nobody else claims; NOBODY

    def of(self, which: Mask) -> Aside:
        """Some of them."""
        return Aside(**{f.name: getattr(self, f.name)[which] for f in fields(self)})
