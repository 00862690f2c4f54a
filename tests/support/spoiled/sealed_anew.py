"""A recorded history whose tables somebody changes, and seals anew: all digests are right."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history.record_format import OK, POLL, PROCESS, READ, SEND, value_of
from harness.history.recorder import Lines, Recorder
from harness.history.sealing import seal
from harness.history.stored_tables import digest
from harness.history.tables import OPERATION_COLUMNS, SMALL_TABLES, schema
from tests.support.recorded_runs import new_run

Row = dict[str, Any]
OUTPUT = value_of(4000, 0)
MEMBER, READER, SENDER = "transformer-0", "consumer-0", "producer-0"


def recorded_run(folder: Path, *, killed: bool = False) -> Path:
    """A producer and a consumer that ended, and a transformer that ended or (killed) did not, in
    the middle of its second transaction: sealed."""
    history = new_run(folder, "told/run") / "history"
    Lines(history / "views.jsonl").write("view", partition=0, leader="kafka1", isr=["kafka1"])
    _send(Recorder(history, SENDER))
    _read(Recorder(history, READER))
    _transform(Recorder(history, MEMBER), killed=killed)
    seal(folder)
    return folder


def _send(recorder: Recorder) -> None:
    recorder.event("start", pid=1)
    recorder.event("client", instance=0)
    for number in range(4):
        operation = recorder.invoke(SEND, 0, number, number + 1, number + 1)
        recorder.complete(operation, OK, number, number + 2, -1, 0)
    recorder.end(reason="done", sends=4)
    recorder.close()


def _read(recorder: Recorder) -> None:
    recorder.event("start", pid=1)
    for number in range(3):
        recorder.record(READ, 0, number, number + 3, number, number + 4, 1)
    recorder.event("unparsable", partition=0, offset=3, text="foreign")
    recorder.record(READ, 0, -1, 9, 3, 9, 1)
    recorder.end(reason="done", reads=4)
    recorder.close()


def _transform(recorder: Recorder, *, killed: bool) -> None:
    recorder.event("start", pid=1)
    recorder.event("client", instance=0)
    recorder.generation = 3
    recorder.event("member", name="m", generation=3)
    recorder.event("assigned", text="0", generation=3)
    for number in (0, 1):
        now_ns = time.monotonic_ns()
        recorder.record(POLL, 0, number, now_ns, number, now_ns, -1)
        recorder.transaction = number
        recorder.event("transaction", name="begun", transaction=number, instance=0)
        done = recorder.invoke(PROCESS, 0, number, now_ns, now_ns)
        send = recorder.invoke(SEND, 0, OUTPUT + number, now_ns, now_ns)
        if killed and number == 1:
            return
        for name in ("commit-asked", "committed"):
            recorder.event("transaction", name=name, transaction=number, instance=0)
        recorder.complete(send, OK, 4 + number, time.monotonic_ns(), -1, 0)
        recorder.complete(done, OK, number, time.monotonic_ns(), -1, 0)
        recorder.transaction = -1
    recorder.end(reason="done", sends=2, reads=2)
    recorder.close()


def edited(run: Path, table: str, change: Callable[[list[Row]], Sequence[Row]]) -> Path:
    """The run with other rows in a table, and its digests made anew."""
    file = run / "history" / f"{table}.parquet"
    columns = SMALL_TABLES.get(table, OPERATION_COLUMNS)
    rows = change(pq.read_table(file).to_pylist())
    pq.write_table(pa.Table.from_pylist(list(rows), schema(columns)), file)
    return sealed_anew(run)


def sealed_anew(run: Path) -> Path:
    """Give sealed.json the digests and counts of what is there."""
    history = run / "history"
    rows = {file: pq.read_metadata(file).num_rows for file in sorted(history.rglob("*.parquet"))}
    mark = json.loads((history / "sealed.json").read_text())
    mark["tables"] = {
        str(file.relative_to(history)): {"rows": count, "sha256": digest(file)}
        for file, count in rows.items()
    }
    mark["operations"] = sum(n for file, n in rows.items() if file.parent.name == "operations")
    mark["findings"] = rows[history / "findings.parquet"]
    (history / "sealed.json").write_text(json.dumps(mark))
    return run
