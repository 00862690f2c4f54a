"""What the runs of a matrix's cells came to, a row for each: for docs/configurations.md, and for
the table that `kafka-harness run --matrix` ends with.

A run's *position* is by its letters of CAP (docs/anomalies.md, "Consistent or available"), which
are computed of what was recorded and not of the configuration: CP kept what it acknowledged and
stopped accepting writes until the fault was healed, AP went on and lost some, *both* went on and
lost nothing, *neither* stopped and lost some. A cell has the positions of its runs, each with their
number: no majority speaks for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analysis.studies.shares import checked, gaps, median_pressure, share, spread
from harness.model.runs.ledger import Line

POSITIONS = ("CP", "AP", "both", "neither", "unknown")
_BY_LETTERS: Mapping[tuple[bool | None, bool | None], str] = {
    (False, True): "CP",
    (True, False): "AP",
    (True, True): "both",
    (False, False): "neither",
}
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


def position(line: Line) -> str:
    """Where a run stands: one of POSITIONS."""
    cap = line.get("cap") or {}
    return _BY_LETTERS.get((cap.get("available"), cap.get("consistent")), "unknown")


def positions(lines: Sequence[Line]) -> Mapping[str, int]:
    """How many runs stand where, in the order of POSITIONS, without those where none does."""
    counts = Counter(map(position, lines))
    return {name: counts[name] for name in POSITIONS if counts[name]}


def row(lines: Sequence[Line]) -> dict[str, str]:
    """A cell's row, by HEADS: shares with their intervals, and minimum / median / maximum. Runs
    without a verdict have a position, unknown, and are counted nowhere else."""
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


def counts(lines: Sequence[Line], anomaly: str) -> list[int]:
    """How many of an anomaly each run saw."""
    return [line["anomalies"].get(anomaly, 0) for line in lines]
