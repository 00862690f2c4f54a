"""The folder of an imported run, whatever its history was read from.

    history/operations/<process>.parquet    its sends in order of their begin, then what it read
    history/values.parquet                  value -> the text that was sent or read
    history/events.parquet                  how far the final read got, and what readers met
    run.json                                what is known, and in `untold` what is not

Rows are written batch by batch. If anything fails, nothing is left (harness.foreign.new_folder).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from harness.foreign.about import About
from harness.foreign.new_folder import new_folder
from harness.history.placing import Places, Write
from harness.history.record_format import HistoryError
from harness.history.seal_record import SEALED, Seal
from harness.history.stored_tables import Columns
from harness.history.tables import (
    OPERATION_COLUMNS,
    ROW_GROUP,
    SMALL_TABLES,
    VALUE_COLUMNS,
    schema,
)
from harness.model.printable import printable
from harness.model.runs.run_folder import RunFolder, store_errors, write_atomically
from harness.model.runs.run_record import RunRecord, problem_of

BACKEND: Final = "imported"
SCRATCH: Final = ".scratch"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_EPOCH_2000_NS: Final = 946_684_800 * 10**9
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What the user asks to be made of a history."""

    name: str
    results: Path
    command: str  # that makes it again
    about: About = About()  # noqa: RUF009  frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFacts:
    """What run.json says of a history."""

    start_ns: int
    end_ns: int
    topic: str | None
    partitions: int
    producers: int
    untold: tuple[str, ...]  # what the history itself does not say
    dated: bool = True  # its times are those of a wall clock whose zone is known, or of none
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRows:
    """The rows of a history; a column that a batch lacks is null, or the same in all rows."""

    operations: Mapping[str, Iterable[pa.Table]]  # process -> its operations, in batches
    values: Iterable[pa.Table]
    events: Iterable[Row]


def refuse_name(name: str) -> None:
    """Raises HistoryError if no folder can have this name."""
    if not _NAME.fullmatch(name):
        raise HistoryError(f"--name {name}: give a word of letters, digits, ., - and _")


def write_run(
    facts: HistoryFacts, request: ImportRequest, rows_of: Callable[[Path], HistoryRows]
) -> RunFolder:
    """Write and seal the folder of a run. `rows_of` may keep files below the path that it is given,
    which is removed in the end. Raises HistoryError, StoreError and DiskError."""
    record_of = _record_of(facts, request)
    with new_folder(request.results, request.name) as run, store_errors(run.path):
        scratch = run.path / SCRATCH
        _write_history(run, rows_of(scratch))
        if scratch.exists():
            shutil.rmtree(scratch)
        run.write(record_of(run.run_id))
    return run


def end_events(
    reader: str | None, time_ns: int, ends: Iterable[Mapping[str, Any]]
) -> Iterator[Row]:
    """The events of a final read. `ends`: their fields, partition by partition."""
    for number, fields in enumerate(ends):
        yield {"process": reader, "time_ns": time_ns + number, "event": "ends", **fields}


# run.json


def _record_of(facts: HistoryFacts, request: ImportRequest) -> Callable[[str], RunRecord]:
    """A function that makes run.json of the run's id. Raises HistoryError if no id makes one."""
    about, start_ns, end_ns = request.about, facts.start_ns, facts.end_ns
    replicas = about.replication_factor
    fields = {
        "schema": 2,
        "scenario": {
            "name": request.name,
            "title": about.title,
            "topic": {
                **({"name": facts.topic} if facts.topic else {}),
                "partitions": max(about.partitions or 1, facts.partitions),
                **({} if replicas is None else {"replication_factor": replicas}),
                "config": about.topic,
            },
            "cluster": {"server": about.server},
            "workload": {
                "kind": "stream",
                "producers": max(1, facts.producers),
                "consumers": 0,
                "producer": about.config("producer"),
                "consumer": about.config("consumer"),
            },
        },
        "seed": 0,
        "backend": BACKEND,
        "state": "complete",
        "phases": [{"name": "load", "start_ns": max(1, start_ns), "end_ns": max(1, end_ns)}],
        "untold": [*facts.untold, *about.untold()],
        "defaults_of": "" if about.client is None else about.client.words,
        "notes": facts.notes,
        **(_wall_clock(start_ns, end_ns) if facts.dated else {}),
    }

    def record_of(run_id: str) -> RunRecord:
        try:
            record = RunRecord.model_validate({**fields, "run_id": run_id})
            return record.changed(command=printable(request.command))
        except ValueError as error:
            raise HistoryError(f"what is known of the history: {_first_line(error)}") from None

    record_of("")
    return record_of


def _first_line(error: ValueError) -> str:
    return problem_of(error) if isinstance(error, ValidationError) else str(error).split("\n")[0]


def _wall_clock(start_ns: int, end_ns: int) -> dict[str, Any]:
    """The fields that say when it was, if the times are those of a wall clock."""
    if start_ns < _EPOCH_2000_NS:
        return {}
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    begun, ended = (zero + timedelta(microseconds=ns // 1000) for ns in (start_ns, end_ns))
    return {
        "started_utc": begun.isoformat(),
        "ended_utc": ended.isoformat(),
        "clock": {"monotonic_ns": start_ns, "utc": begun.isoformat()},
    }


# history/


def _write_history(run: RunFolder, rows: HistoryRows) -> None:
    places = Places(folder=run.history, run_id=run.run_id)
    (run.history / "operations").mkdir()
    operations = 0
    for process, batches in sorted(rows.operations.items()):
        same = {"run_id": run.run_id, "process": process, "instance": 0}
        write = _writer(batches, OPERATION_COLUMNS, same)
        operations += places.put(f"operations/{process}.parquet", process, OPERATION_COLUMNS, write)
    _write_small_tables(places, rows.events)
    values = _writer(rows.values, VALUE_COLUMNS, {"run_id": run.run_id})
    places.put("values.parquet", "values", VALUE_COLUMNS, values)
    seal = Seal(
        version=2,
        run_id=run.run_id,
        processes=tuple(sorted(rows.operations)),
        operations=operations,
        findings=0,
        tables=places.tables,
    )
    write_atomically(run.history / SEALED, seal.model_dump_json(indent=1) + "\n")


def _write_small_tables(places: Places, events: Iterable[Row]) -> None:
    """Write the small tables, all empty but the events."""
    for name, columns in SMALL_TABLES.items():
        rows = [{**row, "run_id": places.run_id} for row in events] if name == "events" else []
        batch = pa.Table.from_pylist(rows, schema(columns))
        places.put(f"{name}.parquet", name, columns, _writer([batch], columns, {}))


def _writer(batches: Iterable[pa.Table], columns: Columns, same: Mapping[str, object]) -> Write:
    """A function that writes all batches to a path. `same`: what a column that a batch lacks has in
    all rows."""
    stored = schema(columns)

    def write(path: Path) -> int:
        rows = 0
        with pq.ParquetWriter(path, stored, compression="zstd") as writer:
            for batch in batches:
                arrays = [
                    batch[field.name].cast(field.type)
                    if field.name in batch.column_names
                    else pa.repeat(pa.scalar(same.get(field.name), field.type), len(batch))
                    for field in stored
                ]
                writer.write_table(pa.Table.from_arrays(arrays, schema=stored), ROW_GROUP)
                rows += len(batch)
        return rows

    return write
