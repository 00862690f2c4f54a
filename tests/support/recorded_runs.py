"""Recorded runs in files: run.json and a history as the harness and its workers write them, and
what is read of it, before it is sealed and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from harness.history.record_format import NOTHING, OK, SEND, Operation, read_operations
from harness.history.recorder import Lines, Recorder
from harness.history.sealing import seal
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario, WorkloadPart

RUN_ID = "study-1/20261120T140307Z-42"
KILL = {"fault": 0, "step": 4, "verb": "kill", "target": "leader", "nodes": ["kafka2"]}


def run_record(**changes: Any) -> RunRecord:
    """What run.json says of a run of nothing in particular, with these keys changed."""
    scenario = Scenario(name="told", title="A test", workload=WorkloadPart(kind="write-read"))
    return RunRecord(scenario=scenario, seed=1, backend="local").changed(**changes)


def new_run(folder: Path, run_id: str = RUN_ID) -> Path:
    """A run's folder with a history in which nothing happened yet."""
    (folder / "history").mkdir(parents=True)
    (folder / "history/views.jsonl").touch()
    RunFolder(path=folder).write(run_record(run_id=run_id))
    return folder


def record_sends(
    run: Path,
    process: str = "p",
    *,
    sends: int = 0,
    ended: bool = True,
    capacity: int = 4,
    then: Callable[[Recorder], object] = lambda _: None,
) -> Path:
    """A worker's history with `sends` acked sends; its first segment."""
    recorder = Recorder(run / "history", process, capacity=capacity)
    for n in range(sends):
        recorder.complete(recorder.invoke(SEND, 0, n, 10, 11), OK, n, 12, NOTHING, 0)
    then(recorder)
    if ended:
        recorder.event("end", reason="done", sends=sends)
    recorder.close()
    return run / "history" / f"{process}.0000.seg"


def recorded_operations(history: Path, process: str = "p") -> list[Operation | str]:
    """Everything that a process's segments hold."""
    return [
        operation
        for path in sorted(history.glob(f"{process}.*.seg"))
        for operation in read_operations(path.read_bytes())
    ]


def sealed_operations(run: Path, process: str = "p") -> list[dict[str, Any]]:
    """The rows of a process's table."""
    table = pq.read_table(run / f"history/operations/{process}.parquet")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def sealed_rows(run: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a small table, without the run's id."""
    found: list[dict[str, Any]] = pq.read_table(run / f"history/{table}.parquet").to_pylist()
    assert all(row.pop("run_id") == RUN_ID for row in found)
    return found


def sealing_finds(run: Path) -> list[tuple[str, str, int]]:
    """The findings: process, kind, count."""
    seal(run)
    return [(row["process"], row["kind"], row["count"]) for row in sealed_rows(run, "findings")]


def write_side_file(run: Path, name: str, *events: dict[str, Any]) -> None:
    """A side file as the harness writes it; times count up from 1 unless given."""
    file = Lines(run / "history" / f"{name}.jsonl")
    for n, event in enumerate(events, 1):
        file.write(**{"time_ns": n, **event})
    file.close()


def spoil(path: Path, at: int, data: bytes) -> None:
    """Write over part of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
