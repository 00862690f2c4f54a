"""From what was gathered to the folder of a run that is sealed, as `kafka-harness check` judges it.

    history/operations/<process>.parquet    its sends, in order of their begin, then what it read
    history/values.parquet                  value -> the text that was sent or read
    run.json                                what is known, and in `untold` what is not

A producer's sends are numbered in order of their begin, or of their lines where none is told. What
was read and nobody sent has a value that no producer has. Nothing is made before every line was
read; what fails later leaves none of it (harness.foreign.new_folder).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from harness.foreign.about import About
from harness.foreign.final_read import LastPass, Numbers, ends
from harness.foreign.gathered import MOST_SENDERS, UNKNOWN, Gathered, Reads
from harness.foreign.new_folder import new_folder
from harness.history.placing import Places, Write
from harness.history.record_format import OK, OPEN, SEQUENCE_BITS, TYPE_NAMES, HistoryError
from harness.history.seal_record import SEALED, Seal
from harness.history.tables import (
    OPERATION_COLUMNS,
    ROW_GROUP,
    SMALL_TABLES,
    VALUE_COLUMNS,
    schema,
)
from harness.model.client_settings import acks_of
from harness.model.printable import printable
from harness.model.runs.run_folder import RunFolder, store_errors, write_atomically
from harness.model.runs.run_record import RunRecord, problem_of
from harness.model.untold import BEGINS, NEVER_TOLD, VALUES

NO_ACK: Final = "_NO_ACK"  # how a send without acks ends, as our own workers record it
BACKEND: Final = "imported"
NOBODYS: Final = MOST_SENDERS  # the producer of what nobody sent
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_EPOCH_2000_NS: Final = 946_684_800 * 10**9
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be made of a history."""

    name: str
    results: Path
    command: str  # that makes it again
    about: About = About()  # noqa: RUF009  frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a history reaches."""

    start_ns: int
    end_ns: int
    topic: str | None
    partitions: int
    producers: int


def make(found: Gathered, wanted: Wanted, final: LastPass) -> RunFolder:
    """The sealed folder. Raises HistoryError, StoreError and DiskError."""
    untold = _untold(found, wanted.about)
    spans = found.span_ns.values()
    extent = Extent(
        start_ns=min(start for start, _ in spans),
        end_ns=max(end for _, end in spans),
        topic=found.topic,
        partitions=_partitions(found, wanted.about),
        producers=len(found.processes),
    )
    acks = None if "acks" in untold else wanted.about
    return sealed(extent, wanted, untold, lambda run: _write(run, found, final, acks=acks))


def refuse_name(name: str) -> None:
    """Raises HistoryError where it can be no folder's."""
    if not _NAME.fullmatch(name):
        raise HistoryError(f"--name {name}: give a word of letters, digits, ., - and _")


def sealed(
    extent: Extent, wanted: Wanted, untold: tuple[str, ...], write: Callable[[RunFolder], None]
) -> RunFolder:
    """The folder of such a run, once `write` has put its sealed history there; none where anything
    fails. Raises HistoryError, StoreError and DiskError."""
    record = _record(extent, wanted, untold)
    with new_folder(wanted.results, wanted.name) as run, store_errors(run.path):
        write(run)
        run.write(record(run.run_id))
    return run


def _untold(found: Gathered, about: About) -> tuple[str, ...]:
    begins = () if found.begins_told else (BEGINS,)
    values = (VALUES,) if any(each.ranges for each in found.reads.values()) else ()
    return (*begins, *values, *NEVER_TOLD, *about.untold())


# run.json


def _record(extent: Extent, wanted: Wanted, untold: tuple[str, ...]) -> Callable[[str], RunRecord]:
    """A function of the run's id; what cannot be is refused before there is a folder."""
    about, start_ns, end_ns = wanted.about, extent.start_ns, extent.end_ns
    told = {
        "schema": 2,
        "scenario": {
            "name": wanted.name,
            "title": about.title,
            "topic": {
                **({"name": extent.topic} if extent.topic else {}),
                "partitions": max(about.partitions or 1, extent.partitions),
                **_if_any("replication_factor", about.replication_factor),
                "config": about.topic,
            },
            "cluster": {"server": about.server},
            "workload": {
                "kind": "stream",
                "producers": max(1, extent.producers),
                "consumers": 0,
                "producer": about.config("producer"),
                "consumer": about.config("consumer"),
            },
        },
        "seed": 0,
        "backend": BACKEND,
        "state": "complete",
        "phases": [{"name": "load", "start_ns": max(1, start_ns), "end_ns": max(1, end_ns)}],
        "untold": list(untold),
        "defaults_of": "" if about.client is None else about.client.words,
        **_wall_clock(start_ns, end_ns),
    }

    def of(run_id: str) -> RunRecord:
        try:
            record = RunRecord.model_validate({**told, "run_id": run_id})
            return record.changed(command=printable(wanted.command))
        except ValueError as error:
            raise HistoryError(f"what is known of the history: {_first_line(error)}") from None

    of("")
    return of


def _first_line(error: ValueError) -> str:
    return problem_of(error) if isinstance(error, ValidationError) else str(error).split("\n")[0]


def _if_any(key: str, value: object) -> dict[str, Any]:
    return {} if value is None else {key: value}


def _wall_clock(start_ns: int, end_ns: int) -> dict[str, Any]:
    """When it was, where the times are those of a wall clock."""
    if start_ns < _EPOCH_2000_NS:
        return {}
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    begun, ended = (zero + timedelta(microseconds=ns // 1000) for ns in (start_ns, end_ns))
    return {
        "started_utc": begun.isoformat(),
        "ended_utc": ended.isoformat(),
        "clock": {"monotonic_ns": start_ns, "utc": begun.isoformat()},
    }


def _partitions(found: Gathered, about: About) -> int:
    columns = [found.sends.partition, *(each.partition for each in found.reads.values())]
    told = [max(column, default=0) for column in columns]
    given = [max(each.given, default=0) for each in found.reads.values()]
    return max(about.partitions or 1, *(number + 1 for number in (0, *told, *given)))


# history/


def _write(run: RunFolder, found: Gathered, final: LastPass, acks: About | None) -> None:
    places = Places(folder=run.history, run_id=run.run_id)
    (run.history / "operations").mkdir()
    values, columns = _values(found), _SendColumns(found, asks_none=_asks_none(acks))
    operations = 0
    names = sorted({*found.processes, *found.reads})
    for name in names:
        table = _operations(run.run_id, name, (found, columns, values), final.get(name))
        path = f"operations/{name}.parquet"
        operations += places.put(path, name, OPERATION_COLUMNS, _writer(table))
    put_small(places, _events(found, final))
    texts = pa.table(
        {
            "run_id": pa.repeat(pa.scalar(run.run_id), len(values)),
            "value": pa.array(values),
            "text": pa.array(found.texts, pa.string()),
        },
        schema=schema(VALUE_COLUMNS),
    )
    places.put("values.parquet", "values", VALUE_COLUMNS, _writer(texts))
    seal(places, names, operations)


def put_small(places: Places, events: Iterable[Row]) -> None:
    """The small tables, of which a history that is not ours has events alone."""
    rows = [{"run_id": places.run_id, **row} for row in events]
    for name, wanted in SMALL_TABLES.items():
        small = pa.Table.from_pylist(rows if name == "events" else [], schema(wanted))
        places.put(f"{name}.parquet", name, wanted, _writer(small))


def seal(places: Places, processes: Sequence[str], operations: int) -> None:
    """The mark that all of it is there."""
    made = Seal(
        version=2,
        run_id=places.run_id,
        processes=tuple(processes),
        operations=operations,
        findings=0,
        tables=places.tables,
    )
    write_atomically(places.folder / SEALED, made.model_dump_json(indent=1) + "\n")


def _writer(table: pa.Table) -> Write:
    def write(path: Path) -> int:
        pq.write_table(table, path, compression="zstd", row_group_size=ROW_GROUP)
        return int(table.num_rows)

    return write


def _asks_none(about: About | None) -> bool | None:
    """Whether sends ask for no acks; None: nobody told."""
    return None if about is None else acks_of(about.config("producer")) == "0"


def _values(found: Gathered) -> Numbers:
    """The value of each text, by its place."""
    values = np.empty(len(found.texts), dtype=np.int64)
    of = np.asarray(found.sends.process)
    start = np.asarray(found.sends.start_ns)
    for number in found.processes.values():
        mine = np.flatnonzero(of == number)
        in_order = mine[np.argsort(start[mine], kind="stable")]
        values[in_order] = (number << SEQUENCE_BITS) + np.arange(len(mine))
    unsent = len(found.texts) - found.sent
    values[found.sent :] = (NOBODYS << SEQUENCE_BITS) + np.arange(unsent)
    return values


class _SendColumns:
    """The sends' columns, with what follows from all of them together; as they are written."""

    def __init__(self, found: Gathered, *, asks_none: bool | None) -> None:
        told = found.sends
        self.process = np.asarray(told.process)
        self.partition = np.maximum(np.asarray(told.partition), 0)
        self.start_ns = np.asarray(told.start_ns)
        self.end_ns = np.asarray(told.end_ns)
        self.offset = np.asarray(told.offset)
        errors = np.asarray([*found.errors, NO_ACK, ""], dtype=object)
        error = np.asarray(told.error)
        # What was "acknowledged" without an offset may have asked for no ack: then nobody knows.
        unasked = np.asarray(told.type) == OK
        unasked &= self.offset == UNKNOWN if asks_none is None else bool(asks_none)
        self.offset = np.where(unasked, UNKNOWN, self.offset)
        names = np.asarray([TYPE_NAMES.get(code, "info") for code in range(max(TYPE_NAMES) + 1)])
        self.type = np.where(unasked, "info", names[np.asarray(told.type)])
        self.error = np.where(unasked, NO_ACK, errors[error])
        self.no_error = (error == UNKNOWN) & ~unasked
        self.open = np.asarray(told.type) == OPEN


def _operations(
    run_id: str, name: str, told: tuple[Gathered, _SendColumns, Numbers], final: Numbers | None
) -> pa.Table:
    """All that a process did; `final`: which of the records that it read are of the final read."""
    found, columns, values = told
    parts = []
    if name in found.processes:
        parts.append(_sends(columns, values, found.processes[name], found.span_ns[name][0]))
    if name in found.reads:
        parts.append(_reads(found.reads[name], values, final))
    table = pa.concat_tables(parts)
    length = len(table)
    known = {
        "run_id": pa.repeat(pa.scalar(run_id), length),
        "process": pa.repeat(pa.scalar(name), length),
        "id": pa.array(np.arange(length)),
        "instance": pa.array(np.zeros(length, dtype=np.int32)),
    }
    wanted = schema(OPERATION_COLUMNS)
    there = {**known, **{name: table[name] for name in table.column_names}}
    missing = {field.name: pa.nulls(length, field.type) for field in wanted}
    return pa.table({**missing, **there}).select(wanted.names).cast(wanted)


def _sends(columns: _SendColumns, values: Numbers, number: int, first_ns: int) -> pa.Table:
    mine = np.flatnonzero(columns.process == number)
    mine = mine[np.argsort(columns.start_ns[mine], kind="stable")]
    start, end = columns.start_ns[mine], columns.end_ns[mine]
    start = np.maximum(np.where(start == UNKNOWN, first_ns, start), 1)
    offset = columns.offset[mine]
    return pa.table(
        {
            "f": pa.repeat(pa.scalar("send"), len(mine)),
            "type": pa.array(columns.type[mine], pa.string()),
            "partition": pa.array(columns.partition[mine], pa.int32()),
            "value": pa.array(values[mine]),
            "offset": pa.array(offset, mask=offset == UNKNOWN),
            "error": pa.array(columns.error[mine], pa.string(), mask=columns.no_error[mine]),
            "intended_ns": pa.array(start),
            "start_ns": pa.array(start),
            "end_ns": pa.array(np.maximum(end, start), mask=columns.open[mine]),
        }
    )


def _reads(reads: Reads, values: Numbers, final: Numbers | None) -> pa.Table:
    place, time_ns = np.asarray(reads.value), np.asarray(reads.time_ns)
    value = values[np.maximum(place, 0)] if len(values) else np.zeros_like(place)
    length = len(place)
    is_final = pa.repeat(pa.scalar(False), length) if final is None else pa.array(final)
    return pa.table(
        {
            "f": pc.if_else(is_final, "final-read", "read"),
            "type": pa.repeat(pa.scalar("ok"), length),
            "partition": pa.array(np.asarray(reads.partition), pa.int32()),
            "value": pa.array(value, pa.int64(), mask=place == UNKNOWN),
            "offset": pa.array(np.asarray(reads.offset)),
            "error": pa.nulls(length, pa.string()),
            "intended_ns": pa.array(time_ns),
            "start_ns": pa.array(time_ns),
            "end_ns": pa.array(time_ns),
        }
    )


def _events(found: Gathered, final: LastPass) -> Iterator[Row]:
    partitions = _partitions(found, About())
    for name, reads in found.reads.items():
        for time_ns, partition, offset in reads.positions:
            yield {
                "process": name,
                "time_ns": time_ns,
                "event": "position",
                "partition": partition,
                "position": offset,
                "text": "assigned",
            }
        for place in reads.no_value:
            yield {
                "process": name,
                "time_ns": reads.time_ns[place],
                "event": "unparsable",
                "partition": reads.partition[place],
                "text": f"offset {reads.offset[place]}",
            }
    whose = next(iter(final), None)
    for number, fields in enumerate(ends(found, final, partitions)):
        yield {"process": whose, "event": "ends", **fields, "time_ns": fields["time_ns"] + number}
