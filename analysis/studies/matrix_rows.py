"""What the runs of a matrix's cells came to, a row each: for docs/configurations.md, and for the
last table of `kafka-harness run --matrix`.

A cell has all positions of its runs (analysis.measures.cap) with their numbers, not the majority's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analysis.measures.cap import POSITIONS, position_of
from analysis.studies.cells.shares import (
    affected,
    calm,
    checked,
    counts,
    median_pressure,
    middle,
    middle_gap,
    some_runs,
    unread,
)
from harness.model.campaigns.ledger import write_outages
from harness.model.campaigns.ledger_line import Line

HEADS = {
    "runs": "runs",
    "lossy": "loss: runs affected (95 % CI)",
    "lost": "lost",
    "duplicating": "duplicates: runs affected (95 % CI)",
    "duplicates": "twice",
    "undelivered": "not delivered",
    "expired": "deleted unread",
    "gap": "no ack for, s",
    "position": "CAP",
    "pressure": "waited for a CPU",
}

MORE_HEADS = {
    "gap": "no ack for, s",
    "led": "of it a new leader led, s",
    "unread": "nothing read for, s",
    "vanished": "read, then gone",
    "pressure": "waited for a CPU",
}


def position(line: Line) -> str:
    """A run's position, one of POSITIONS; unknown after a failed calibration."""
    return position_of({} if "judged" in line else line.get("cap") or {})


def positions(lines: Sequence[Line]) -> Mapping[str, int]:
    """How many runs have each position, in the order of POSITIONS, without zeros."""
    counts = Counter(map(position, lines))
    return {name: counts[name] for name in POSITIONS if counts[name]}


def row(lines: Sequence[Line]) -> dict[str, str]:
    """A cell's row, by HEADS: shares with their intervals, of other numbers the median and the
    extremes. A run without a verdict has no known position, and is in no share."""
    seen = checked(lines)
    lost, twice = counts(seen, "lost"), counts(seen, "duplicate")
    return {
        "runs": str(len(lines)),
        "lossy": affected(lines, "lost"),
        "lost": middle(lost),
        "duplicating": affected(lines, "duplicate"),
        "duplicates": middle(twice),
        "undelivered": middle([line["undelivered"] for line in seen if "undelivered" in line]),
        "expired": middle([line["expired_unread"] for line in seen if "expired_unread" in line]),
        "gap": middle_gap(seen, digits=1),
        "position": ", ".join(f"{name} {n}" for name, n in positions(lines).items()) or "—",
        "pressure": median_pressure(seen),
    }


def more(lines: Sequence[Line]) -> dict[str, str]:
    """A cell's second row, by MORE_HEADS, medians with extremes: how much of the longest stretch
    without an ack an elected leader led already (newer lines have it), what consumers saw, and how
    long the load waited for a CPU."""
    seen = checked(lines)
    led_s = [led for line in calm(seen) if (led := _led_s(line)) is not None]
    return {
        "gap": middle_gap(seen, digits=1),
        "led": middle(led_s, 1) + some_runs(len(led_s), len(seen)),
        "unread": unread(seen),
        "vanished": middle(counts(seen, "vanished")),
        "pressure": median_pressure(seen),
    }


def _led_s(line: Line) -> float | None:
    """How long an elected leader led in the longest stretch; None: none did, or not recorded."""
    of = dict(write_outages(line))
    return of.get(max(of, default=0.0))
