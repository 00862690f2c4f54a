"""The time that workers had to themselves: without the faults that hit them.

A worker and those that took over from it are one *line*: producer-0, producer-0-2, producer-0-3. A
fault takes from a line the time from its injection until it was healed; a planned death that from
the death until a successor was assigned something.

    0 to 10 s, consumer-0 paused from 9.0 to 9.5 s                    =>  9.5 s
    1.6 to 10 s, consumer-0 killed at 0.5 s and healed at 1.5 s       =>  8.4 s, its successor's
    0 to 10 s, two lines, one of them paused from 1 to 9 s            =>  10 s: the other was free
    silent from 1.6 s on, brokers cut off from 1 to 3 and 3.1 to 9 s  =>  silenced from 1.6 to 9 s

Pure functions of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from analysis.causes.run_facts.faults import Happened
from analysis.measures.work_done import FOREVER_NS
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault

Stretch = tuple[int, int]  # from, to
AT_ONCE_NS = 10**9
_FIRST = re.compile(r".*?-\d+")


def line_of(process: str) -> str:
    """The first worker of the line: producer-0 of producer-0-2."""
    found = _FIRST.match(process)
    return found[0] if found else process


def taken(run: Run, line: str, by: Callable[[Fault], bool] = lambda _: True) -> list[Stretch]:
    """When faults (all, or those that `by` tells) held a line's workers, or one had died."""
    hit = [
        (int(fault["invoke_ns"]), int(fault["heal_ok_ns"] or FOREVER_NS))
        for fault in run.faults
        if line in map(line_of, fault["nodes"]) and by(fault)
    ]
    return [*hit, *_deaths(run, line)]


def _deaths(run: Run, line: str) -> Iterator[Stretch]:
    mine = [event for event in run.events if line_of(event["process"]) == line]
    for death in (event for event in mine if event["event"] == "dies"):
        later = (
            int(event["time_ns"])
            for event in mine
            if event["event"] == "assigned" and event["time_ns"] > death["time_ns"]
        )
        yield int(death["time_ns"]), min(later, default=FOREVER_NS)


def silenced(run: Run, from_ns: int) -> Stretch:
    """How long faults at the cluster's nodes can have kept from reading who was silent from then
    on: as long as one came within a second of the last one's healing. That is an outage, which the
    windows measure."""
    happened, until_ns = Happened.of(run.faults, run.plan, run.nodes), from_ns
    for fault in sorted(run.faults, key=lambda fault: int(fault["invoke_ns"])):
        at_once = fault["invoke_ns"] <= until_ns + AT_ONCE_NS
        if at_once and happened.hits_the_cluster(fault):
            until_ns = max(until_ns, int(fault["heal_ok_ns"] or FOREVER_NS))
    return from_ns, until_ns


def free_ns(from_ns: int, to_ns: int, *lines: Sequence[Stretch]) -> int:
    """How much of a stretch at least one of the lines, each by what was taken of it, was free."""
    bounds = {ns for line in lines for stretch in line for ns in stretch if from_ns < ns < to_ns}
    cuts = [from_ns, *sorted(bounds), max(from_ns, to_ns)]
    return sum(b - a for a, b in pairwise(cuts) if not all(_within(a, b, line) for line in lines))


def _within(from_ns: int, to_ns: int, line: Sequence[Stretch]) -> bool:
    return any(begin <= from_ns and to_ns <= end for begin, end in line)
