"""Seconds since the load began as UTC, so that a page can be laid beside logs.

run.json notes one moment by two clocks, the history's and UTC; from it follows when the load began
(report.json: `run.load_began_utc`), and from that every other moment of the page. A host whose
wall clock was set during the run has other times in its logs from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from harness.model.runs.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """When the load began by UTC; None where nobody noted it."""

    began: datetime | None = None

    @classmethod
    def of(cls, report: Report) -> Clock:
        """The clock of a report; of one that does not say it, a clock that knows nothing."""
        return cls(began=_moment(report.run.load_began_utc))

    def utc(self, at_s: float | None) -> str:
        """`2026-11-21 02:15:04.310 UTC`; empty where it is not known."""
        at = self._at(at_s)
        return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC" if at else ""

    def time_of_day(self, at_s: float | None) -> str:
        """`02:15:04.310 UTC`; empty where it is not known."""
        return self.utc(at_s)[11:]

    def _at(self, at_s: float | None) -> datetime | None:
        if self.began is None or at_s is None:
            return None
        try:
            return self.began + timedelta(seconds=at_s)
        except OverflowError:  # beyond the year 9999
            return None


def load_began_utc(record: Mapping[str, Any], load_start_ns: int) -> str | None:
    """When the load began, in ISO 8601, by the two clocks of run.json; None if it has none, or no
    load began."""
    if not load_start_ns:
        return None
    clock = record.get("clock") or {}
    noted = _moment(clock.get("utc"))
    at = Clock(began=noted)._at((load_start_ns - clock.get("monotonic_ns", 0)) / 1e9)
    return None if at is None else at.isoformat(timespec="milliseconds")


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError):  # not known, or not written by ours
        return None
