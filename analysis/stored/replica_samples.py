"""Looks at the replicas, from the rows of harness.run.watermark_sampler.

The table `watermarks` has one row per broker at each look at a partition; a `Look` has all of them:
the leader, the ISR, and each broker's high watermark and log end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analysis.stored.table_rows import Watermark


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at one partition; leader and ISR are None where ZooKeeper did not answer."""

    time_ns: int
    leader: str | None = None
    isr: frozenset[str] | None = None
    marks: Mapping[str, int | None] = field(default_factory=dict)
    ends: Mapping[str, int | None] = field(default_factory=dict)


def looks_of(rows: Iterable[Watermark]) -> dict[int, list[Look]]:
    """The rows of the table `watermarks` by partition and look, in order of time."""
    found: dict[tuple[int, int], list[Watermark]] = {}
    for row in rows:
        found.setdefault((row["partition"], row["time_ns"]), []).append(row)
    looks: dict[int, list[Look]] = {}
    for (partition, time_ns), each in sorted(found.items()):
        known = any(row["in_isr"] is not None for row in each)
        looks.setdefault(partition, []).append(
            Look(
                time_ns=time_ns,
                leader=next((row["broker"] for row in each if row["leads"]), None),
                isr=frozenset(row["broker"] for row in each if row["in_isr"]) if known else None,
                marks={row["broker"]: row["high_watermark"] for row in each},
                ends={row["broker"]: row["log_end"] for row in each},
            )
        )
    return looks
