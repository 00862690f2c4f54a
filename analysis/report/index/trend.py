"""How a scenario, or one of its cells, went from night to night."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.report.index.entries import Entry

VERDICTS = ("valid", "unknown", "invalid")
NIGHTS = 14  # that a trend shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A scenario's runs of one day: in words, the share of each verdict, the share that lost
    records of those that tell (0 where none does), and the report of the newest."""

    words: str
    parts: tuple[tuple[str, float], ...]
    lost: float
    href: str


def trend(runs: Sequence[Entry]) -> list[Night]:
    """The last nights of a scenario, the oldest first; none where there are not two to compare."""
    by_day: dict[str, list[Entry]] = {}
    for run in sorted(runs, key=lambda run: run.newest):
        if run.day:
            by_day.setdefault(run.day, []).append(run)
    nights = [_night(day, of_day) for day, of_day in by_day.items()][-NIGHTS:]
    return nights if len(nights) > 1 else []


def _night(day: str, runs: Sequence[Entry]) -> Night:
    ends = Counter(run.verdict for run in runs)
    counts = [f"{ends[verdict]} {verdict}" for verdict in VERDICTS if ends[verdict]]
    losses = [run.lost for run in runs if run.lost is not None]
    of_them = f"{sum(losses)} of {len(losses)} lost records" if losses else "losses not known"
    gaps_s = [run.gap_s for run in runs if run.gap_s is not None]
    gap = f", write gap {statistics.median(gaps_s):.1f} s" if gaps_s else ""
    return Night(
        words=f"{day}: {', '.join(counts)}; {of_them}{gap}",
        parts=tuple((verdict, ends[verdict] / len(runs)) for verdict in VERDICTS if ends[verdict]),
        lost=sum(losses) / len(losses) if losses else 0.0,
        href=runs[-1].href("report.html"),
    )
