"""Rebalances of a consumer group, as its members saw them: pauses, and expelled members.

A *pause* is a stretch in which a partition had no owner, between the member that had it and the one
that got it next.

    member-0: 0 revoked at 1.0 s    member-1: 0 assigned at 1.4 s       =>  a pause of 0.4 s
    the same, assigned at 0.9 s                                         =>  no pause

An *expelled* member that has not learned of it keeps its partitions, in its older generation, while
another one has them in a newer. That is legal (analysis.checks.groups.owners), and counted.

    member-0: 0 in generation 3, revoked at 1.0 s    member-1: 0 assigned in generation 4, at 0.9 s
                                                                        =>  kept for 0.1 s

Cannot see: until when a killed member had its partitions: it counts as their owner until the next
one.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from analysis.checks.groups.group_life import Stretch, lives, ownership
from analysis.stored.stored_run import Run
from harness.model.runs.report_course import Pauses, Rebalances


def rebalances(run: Run) -> Rebalances:
    """How many generations gave partitions to anybody, and how many pauses there were and stretches
    of the expelled, each with its lengths."""
    owned = [stretch for events in lives(run).values() for stretch in ownership(events)]
    by_partition = defaultdict[int | None, list[Stretch]](list)
    for stretch in sorted(owned, key=lambda each: each.from_ns):
        by_partition[stretch.partition].append(stretch)
    mine = by_partition.values()
    return Rebalances(
        generations=len({stretch.generation for stretch in owned}),
        pauses=_lengths([ns for each in mine for ns in _pauses(each)]),
        expelled=_lengths([ns for each in mine for ns in _kept(each)]),
    )


def _pauses(owned: Sequence[Stretch]) -> Iterator[int]:
    """How long nobody had a partition, between its owners."""
    until_ns: int | None = None
    for stretch in owned:
        if until_ns is not None and stretch.from_ns > until_ns:
            yield stretch.from_ns - until_ns
        ends_ns = stretch.until_ns
        until_ns = ends_ns if until_ns is None or ends_ns is None else max(until_ns, ends_ns)


def _kept(owned: Sequence[Stretch]) -> Iterator[int]:
    """How long each had it on that another one had been given in a newer generation."""
    for number, older in enumerate(owned):
        for newer in owned[number + 1 :]:
            if older.until_ns is None or newer.from_ns >= older.until_ns:
                break
            if older.process != newer.process and older.generation < newer.generation:
                yield older.until_ns - newer.from_ns
                break


def _lengths(found: Sequence[int]) -> Pauses:
    return Pauses(
        count=len(found),
        p50_s=statistics.median(found) / 1e9 if found else None,
        max_s=max(found) / 1e9 if found else None,
    )
