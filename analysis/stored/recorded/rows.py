"""Rows of small tables that no sealing writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Span = tuple[int, int]  # from when to when, in ns
EVER_NS: Span = (-(2**63), 2**63 - 1)
ANOTHER_TIME = "of another time than run.json's phases"


def within(times_ns: Iterable[int], span_ns: Span) -> bool:
    """Whether all of these times are of a time."""
    return all(span_ns[0] <= time_ns <= span_ns[1] for time_ns in times_ns)


def lacks(rows: Iterable[Mapping[str, object]], required: Iterable[str], run_id: str) -> str | None:
    """What rows of a small table lack that sealing writes in each, as the end of a sentence."""
    needed = tuple(required)
    for number, row in enumerate(rows):
        if row["run_id"] != run_id:
            return f"row {number} is of run {row['run_id']}, but run.json says {run_id}"
        for name in needed:
            value = row[name]
            if value is None or (isinstance(value, list) and None in value):
                return f"row {number} has no {name}"
    return None


def strange(rows: Iterable[Mapping[str, object]], span_ns: Span) -> str | None:
    """Which row of a small table is of another time than its run, as the end of a sentence."""
    for number, row in enumerate(rows):
        times = (value for name, value in row.items() if name.endswith("_ns"))
        if not within((time for time in times if isinstance(time, int)), span_ns):
            return f"row {number} is {ANOTHER_TIME}"
    return None
