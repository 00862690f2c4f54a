"""A run's folder with a history as workers and the harness record it, and its tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from harness.history.record_format import NOTHING, OK, SEND
from harness.history.recorder import Lines, Recorder
from harness.history.sealing import seal

RUN_ID = "study-1/20261120T140307Z-42"
KILL = {"fault": 0, "step": 4, "verb": "kill", "target": "leader", "nodes": ["kafka2"]}


def record(
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


def operations(run: Path, process: str = "p") -> list[dict[str, Any]]:
    """The rows of a process's table."""
    table = pq.read_table(run / f"history/operations/{process}.parquet")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a small table, without the run's id."""
    found: list[dict[str, Any]] = pq.read_table(run / f"history/{table}.parquet").to_pylist()
    assert all(row.pop("run_id") == RUN_ID for row in found)
    return found


def found(run: Path) -> list[tuple[str, str, int]]:
    """The findings: process, kind, count."""
    seal(run)
    return [(row["process"], row["kind"], row["count"]) for row in rows(run, "findings")]


def lines(run: Path, name: str, *events: dict[str, Any]) -> None:
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
