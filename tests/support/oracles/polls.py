"""A second opinion on polls and holes: docs/anomalies.md, step by step, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

Row = dict[str, Any]
Log = Mapping[int, int | None]  # by offset: the greatest value that a final read has there


def polls(case: Any) -> Iterator[tuple[str, Any]]:
    """Every skip, step back, epoch that falls and hole: its name and what is told of it."""
    logs: dict[int, dict[int, int | None]] = defaultdict(dict)
    readers: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in case.rows:
        partition, offset = row["partition"], row["offset"]
        if row["f"] in ("read", "poll", "final-read"):
            readers[row["process"], row["instance"], partition].append(row)
        if row["f"] == "final-read":
            both = (logs[partition].get(offset), row["value"])
            logs[partition][offset] = max((v for v in both if v is not None), default=None)
    for (_, instance, partition), rows in readers.items():
        begun = _put(rows[0], case) if instance in (None, 0) else []
        for last, row in pairwise([*begun, *rows]):
            if not any(_moves(move, last, row) for move in case.moves):
                yield from _step(last, row, logs[partition], case)
    for partition, end in enumerate(case.ends):
        if end["complete"] and case.dense:
            yield from _holes(partition, logs[partition], end)


def _put(row: Row, case: Any) -> list[Row]:
    """What a reader would have read before its first record, had it not been put there."""
    here = ("process", "partition")
    told = [
        (move["time"], move["position"])
        for move in case.moves
        if all(move[name] == row[name] for name in here)
        if move["position"] is not None and move["time"] <= row["end"]
    ]
    if not told:
        return []
    time, position = max(told)
    return [{"offset": position - 1, "value": None, "epoch": None, "start": time + 0.5}]


def _moves(move: Row, last: Row, row: Row) -> bool:
    return (
        move["process"] == row["process"]
        and move["partition"] in (None, row["partition"])
        and last["start"] <= move["time"]
        and move["time"] - move["late"] <= row["end"]
    )


def _step(last: Row, row: Row, log: Log, case: Any) -> Iterator[tuple[str, Any]]:
    old, new, reader = last["offset"], row["offset"], row["process"]
    here = (row["partition"], new, old)
    if new <= old:
        told = (last["value"], log.get(old), last["epoch"], row["epoch"])
        cut = None not in told and told[0] != told[1] and told[2] < told[3]
        if row["instance"] is not None and not cut:
            went = "went_back" if new < old else "repeats"
            yield "poll-back", (*here, went, reader, row["value"])
        return
    if None not in (last["epoch"], row["epoch"]) and row["epoch"] < last["epoch"]:
        yield "epoch-back", (*here, None, reader, row["value"])
    if row["value"] is None or log.get(new) != row["value"]:
        return
    if row["instance"] is None and case.to_end:
        return
    now, passed = log.get(old), [offset for offset in log if old < offset < new]
    if None not in (last["value"], now) and now != last["value"]:
        yield "poll-skip", (row["partition"], old, new, "put_under", reader, now)
    elif passed:
        at = max(passed)
        yield "poll-skip", (row["partition"], at, new, "passed", reader, log[at])


def _holes(partition: int, log: Iterable[int], end: Row) -> Iterator[tuple[str, Any]]:
    there = sorted(log)
    at = end["position"]
    ends = [at] if at is not None and any(offset < at for offset in there) else []
    for offset in [*there, *ends]:
        owed = max([end["log_start"] or 0, *(below + 1 for below in there if below < offset)])
        if offset > owed:
            yield "hole", (partition, owed, offset, None, None, None)
