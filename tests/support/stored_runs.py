"""Runs as a check holds them, made of a story's parts without files and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.measures.work_done import Work
from analysis.stored.stored_run import KEPT, Run
from tests.support.histories import LOAD_MS, Part, ns_of
from tests.support.story_runs import plan_of, story_record, story_tables

NOTHING = {"refused": 0, "unexplained": 0, "met": [], "before": [], "partition": 0}
COUNTS = {
    "sends": 1,
    "acked": 1,
    "processed": 0,
    "indeterminate_landed": 0,
    "acked_below_log_start": 0,
    "final_read_records": 1,
}


EMPTY: dict[str, Any] = {
    **dict.fromkeys(("faults", "ends", "findings", "views", "blind", "watermarks", "deaths"), ()),
    **dict.fromkeys(("worker_errors", "operations", "load_start_ns", "load_end_ns"), 0),
    "processes": frozenset(),
}


def bare_run(record: dict[str, Any], **known: Any) -> Run:
    """A run of which nothing is known but this."""
    return Run(path=Path("told"), record=record, **{**EMPTY, **known})


def run_of(*parts: Part, events: Sequence[dict[str, Any]] = (), **record: Any) -> Run:
    """A run of these parts, whose processes are those of its workers and operations."""
    rows = story_tables(parts, "told/1")
    said = {"plan": plan_of(rows["faults"]), **record}
    workers = {worker["process"] for worker in record.get("workers", [])}
    told = [*rows["events"], *events]
    return bare_run(
        story_record("told/1", said).model_dump(mode="json"),
        faults=tuple(rows["faults"]),
        ends=tuple(row for row in rows["events"] if row["event"] == "ends"),
        findings=tuple(rows["findings"]),
        views=tuple(rows["views"]),
        blind=tuple(rows["blind"]),
        watermarks=tuple(rows["watermarks"]),
        processes=frozenset(workers | {row["process"] for row in rows["operations"]}),
        operations=len(rows["operations"]),
        load_start_ns=ns_of(0),
        load_end_ns=ns_of(LOAD_MS),
        events=tuple(row for row in told if row["event"] in KEPT),
    )


def did(  # noqa: PLR0917
    process: str,
    f: str = "send",
    count: int = 1,
    ended: str = "ok",
    from_ms: float = 0,
    to_ms: float = LOAD_MS,
    **more: Any,
) -> Any:
    """A row of `work_done`."""
    times = {"first_ns": ns_of(from_ms), "last_ns": ns_of(to_ms)}
    loaded: dict[str, Any] = {"loaded_from_ns": None, "loaded_until_ns": None}
    if f == "send":
        loaded = {"loaded_from_ns": ns_of(from_ms), "loaded_until_ns": ns_of(to_ms)}
    row = {"process": process, "f": f, "type": ended, "count": count, **times, **loaded}
    return {**row, **NOTHING, **more}


def work(*rows: Any) -> Work:
    """What the workers did."""
    return Work(rows=rows)


def event(name: str, process: str, ms: float = 0, text: str | None = None) -> dict[str, Any]:
    """A row of the events."""
    return {"event": name, "process": process, "time_ns": ns_of(ms), "text": text}
