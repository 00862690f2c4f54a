"""What the runs of a matrix's cells came to, a row for each: for docs/configurations.md, and for
the table that `kafka-harness run --matrix` ends with.

A cell has the positions of its runs (analysis.measures.position), each with their number: no
majority speaks for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analysis.measures.position import POSITIONS, position_of
from analysis.studies.shares import calm, checked, counts, gaps, median_pressure, share, spread
from harness.model.runs.ledger import Line, write_outages

HEADS = {
    "runs": "runs",
    "lossy": "runs with loss",
    "lost": "records lost",
    "duplicating": "runs with duplicates",
    "duplicates": "duplicates",
    "gap": "no ack for, s",
    "position": "CAP",
    "pressure": "waited for a CPU",
}

MORE_HEADS = {
    "gap": "no ack for, s",
    "led": "of it a new leader led, s",
    "unread": "nothing read for, s",
    "vanished": "read, then gone",
}


def position(line: Line) -> str:
    """Where a run stands: one of POSITIONS; unknown, too, after a calibration that failed."""
    return position_of({} if "judged" in line else line.get("cap") or {})


def positions(lines: Sequence[Line]) -> Mapping[str, int]:
    """How many runs stand where, in the order of POSITIONS, without those where none does."""
    counts = Counter(map(position, lines))
    return {name: counts[name] for name in POSITIONS if counts[name]}


def row(lines: Sequence[Line]) -> dict[str, str]:
    """A cell's row, by HEADS: shares with their intervals, and minimum / median / maximum. A run
    without a verdict stands nowhere that is known, and tells of anomalies only what it saw."""
    seen = checked(lines)
    lost, twice = counts(seen, "lost"), counts(seen, "duplicate")
    return {
        "runs": str(len(lines)),
        "lossy": share(lost) if lost else "—",
        "lost": spread(lost),
        "duplicating": share(twice) if twice else "—",
        "duplicates": spread(twice),
        "gap": gaps(seen, digits=1),
        "position": ", ".join(f"{name} {n}" for name, n in positions(lines).items()) or "—",
        "pressure": median_pressure(seen),
    }


def more(lines: Sequence[Line]) -> dict[str, str]:
    """What else a cell's runs show, by MORE_HEADS, minimum / median / maximum: how much of the
    longest stretch without an ack a leader that was elected in it led already (newer lines have
    it), and what consumers saw."""
    seen = checked(lines)
    led_s = [led for line in calm(seen) if (led := _led_s(line)) is not None]
    some = "" if len(led_s) == len(seen) else f" (of {len(led_s)})"
    return {
        "gap": gaps(seen, digits=1),
        "led": f"{spread(led_s, 1)}{some}" if led_s else "—",
        "unread": gaps(seen, "consume", digits=1),
        "vanished": spread(counts(seen, "vanished")),
    }


def _led_s(line: Line) -> float | None:
    """Of its longest stretch; None: nobody was elected, or nobody told."""
    of = dict(write_outages(line))
    return of.get(max(of, default=0.0))
