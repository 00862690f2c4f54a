"""Exports a sealed history as JSON lines for people, in order of time.

    {"time":"2026-11-20T14:03:07.120345Z","time_ns":81234567,"process":"producer-0","type":"invoke",
     "f":"send","id":7,"partition":2,"value":1099511627783,"producer":1,"sequence":7}

An operation is two lines, `invoke` at its start and ok, fail or info at its end; one that never
ended has only the first, and a record read only the second. Between them: the workers' events, the
nemesis's lines, the cluster's views. `time` needs the pair of clocks in run.json, and is as good as
the wall clock was steady.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.history import side_files
from harness.history.record_format import SEQUENCE_BITS
from harness.history.seal_record import sealed_operations
from harness.history.sealing import seal
from harness.model.runs.run_folder import RunFolder, StoreError

Line = dict[str, Any]
BATCH = 10_000
_ENDED = ("offset", "error", "broker", "epoch")
_MORE = ("instance", "transaction", "generation")
_INSTANT = ("read", "final-read", "poll", "replica")


def export(run_dir: Path) -> Iterator[Line]:
    """Yield every line of a run's history, oldest first; seals it first. Raises HistoryError, also
    where a table has changed since it was sealed."""
    sealed = seal(run_dir)
    folder = run_dir / "history"
    streams = [_side_lines(path) for path in sorted(folder.glob("*.jsonl"))]
    for table in sealed_operations(folder, sealed).values():
        streams += [_invocations(table), _completions(table)]
    wall = _wall_clock(RunFolder(path=run_dir))
    for line in heapq.merge(*streams, key=lambda line: line["time_ns"]):
        yield wall(line)


def _side_lines(path: Path) -> Iterator[Line]:
    lines = sorted(side_files.read(path).lines, key=lambda line: line["time_ns"])
    for line in lines:
        fields = {key: value for key, value in line.items() if key not in ("line", "time_ns")}
        yield {"time_ns": line["time_ns"], "process": path.stem, **fields}


def _invocations(table: pa.Table) -> Iterator[Line]:
    begun = table.filter(pc.invert(pc.is_in(table["f"], pa.array(_INSTANT))))
    for row in _in_order(begun, "start_ns"):
        line = _operation(row, "invoke", row["start_ns"])
        if row["intended_ns"] != row["start_ns"]:
            line["intended_ns"] = row["intended_ns"]
        yield line


def _completions(table: pa.Table) -> Iterator[Line]:
    for row in _in_order(table, "end_ns"):
        line = _operation(row, row["type"], row["end_ns"])
        line |= {key: row[key] for key in _ENDED if row[key] is not None}
        if row["f"] in _INSTANT:
            line["start_ns"] = row["start_ns"]
        yield line


def _operation(row: Line, kind: str, time_ns: int) -> Line:
    line = {"time_ns": time_ns, "process": row["process"], "type": kind}
    line |= {key: row[key] for key in ("f", "id", "partition", "value")}
    line |= {key: row[key] for key in _MORE if row[key] is not None}
    if row["value"] is not None:
        line["producer"] = row["value"] >> SEQUENCE_BITS
        line["sequence"] = row["value"] & ((1 << SEQUENCE_BITS) - 1)
    return line


def _in_order(table: pa.Table, column: str) -> Iterator[Line]:
    """The rows that have a time, in its order, as dicts; converts a batch at a time."""
    ordered = table.filter(pc.is_valid(table[column])).sort_by(column)
    for batch in ordered.to_batches(max_chunksize=BATCH):
        yield from batch.to_pylist()


def _wall_clock(run: RunFolder) -> Callable[[Line], Line]:
    """A function that puts the wall clock's time in front of a line, where it is known."""
    try:
        clock = run.read().clock
    except StoreError:
        clock = None
    if clock is None:
        return lambda line: line
    zero_ns, zero = clock.monotonic_ns, datetime.fromisoformat(clock.utc)

    def stamped(line: Line) -> Line:
        moment = zero + timedelta(microseconds=(line["time_ns"] - zero_ns) / 1000)
        utc = moment.astimezone(UTC).isoformat(timespec="microseconds")
        return {"time": utc.replace("+00:00", "Z"), **line}

    return stamped
