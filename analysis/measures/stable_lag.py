"""How far the last stable offset was behind the high watermark, and for how long it stood still.

The records between the two belong to undecided transactions, or follow such records: readers of
committed records must wait for them (KIP-98). Consumers that follow the log record both ends of a
partition when they differ, every 200 ms (`undecided`, docs/history.md).

    consumer-0: stable 5, high 9 at 1.0 s    stable 7, high 12 at 1.2 s
    =>  behind by 5 records at most; it stood at 5 for 0.2 s
    stable 5, high 9 at 1.0 s    stable 5, high 12 at 4.0 s    stable 12, high 12 at 6.0 s
    =>  it stood at 5 for 5 s

Cannot see: changes between two looks; while a reader could not reach the broker, its offset counts
as standing still.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.model.runs.report_course import StableLag


def stable_lag(run: Run) -> StableLag:
    """`max`, the most records that the last stable offset was behind, and when (`at_s`); and
    `stood_s`, the longest that it stood below the high watermark, with its `partition`, the
    `offset` and when that began (`since_s`). All null where it was never seen behind."""
    by_partition = defaultdict[tuple[str, int], list[Event]](list)
    for event in sorted(run.events, key=lambda event: event["time_ns"]):
        if event["event"] == "undecided":
            by_partition[event["process"], event["partition"]].append(event)
    behind = [event for mine in by_partition.values() for event in mine]
    stood = [each for mine in by_partition.values() for each in _stood(mine, run.load_end_ns)]
    worst = max(behind, key=_records, default=None)
    longest = max(stood, key=lambda each: each[0], default=None)
    return StableLag(
        max=None if worst is None else _records(worst),
        at_s=None if worst is None else run.seconds(worst["time_ns"]),
        stood_s=None if longest is None else longest[0] / 1e9,
        partition=None if longest is None else longest[1]["partition"],
        offset=None if longest is None else longest[1]["committed_end"],
        since_s=None if longest is None else run.seconds(longest[1]["time_ns"]),
    )


def _records(event: Event) -> int:
    return (event["uncommitted_end"] or 0) - (event["committed_end"] or 0)


def _stood(looks: Sequence[Event], end_ns: int) -> Iterator[tuple[int, Event]]:
    """For how long each offset was the last stable one of what a reader told of a partition, below
    the high watermark; and the first event that has it."""
    first: Event | None = None
    for event in looks:
        if first is not None and event["committed_end"] != first["committed_end"]:
            yield int(event["time_ns"]) - int(first["time_ns"]), first
            first = None
        if first is None and _records(event) > 0:
            first = event
    if first is not None:
        yield max(0, end_ns - int(first["time_ns"])), first
