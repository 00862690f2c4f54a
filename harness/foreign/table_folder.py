"""From two tables, which Spark has made operations (docs/tables.md), to the folder of a sealed run.

    <told>/operations/file=<process>/part-….parquet    =>  history/operations/<process>.parquet
    <told>/values/part-….parquet                       =>  history/values.parquet

Spark's files have the rows in order of their ids. They are copied a batch at a time, into files as
sealing writes them: nothing is held, however many there are.

Executors of a cluster may write to a disk that is not ours, and Spark would say that all is well:
so each process must have the rows that were told of it, and there must be as many values as Spark
says that it wrote.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.foreign.folder import Extent, Wanted, put_small, seal, sealed
from harness.history.placing import Places, Write
from harness.history.record_format import HistoryError
from harness.history.stored_tables import Columns
from harness.history.tables import OPERATION_COLUMNS, ROW_GROUP, VALUE_COLUMNS, schema
from harness.model.runs.run_folder import RunFolder

TOLD: Final = ".told"
FILE: Final = "file"  # the column of Spark's folders: the process once more


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTables:
    """What two tables tell beside their rows."""

    extent: Extent
    processes: Mapping[str, int]  # how many rows each has
    untold: tuple[str, ...]  # without what `Wanted.about` does not tell
    ends: Sequence[dict[str, Any]]  # the fields of an event `ends` for each partition
    final_reader: str | None


def make_of_tables(
    told: ToldTables, wanted: Wanted, write: Callable[[Path, str], int]
) -> RunFolder:
    """The sealed folder. `write` lets Spark write `operations` and `values` below a path, as those
    of a run id, and returns how many values there are. Raises HistoryError, StoreError and
    DiskError."""

    def fill(run: RunFolder) -> None:
        below = run.path / TOLD
        values = write(below, run.run_id)
        _fill(run, told, below, values)
        shutil.rmtree(below)

    return sealed(told.extent, wanted, (*told.untold, *wanted.about.untold()), fill)


def _fill(run: RunFolder, told: ToldTables, below: Path, values: int) -> None:
    places = Places(folder=run.history, run_id=run.run_id)
    (run.history / "operations").mkdir()
    operations = 0
    names = sorted(told.processes)
    for name in names:
        files = _parts(below / "operations" / f"{FILE}={name}")
        path = f"operations/{name}.parquet"
        found = places.put(path, name, OPERATION_COLUMNS, _operations(files, name))
        _require_all(name, found, told.processes[name])
        operations += found
    put_small(places, _events(told))
    texts = _copied(_batches(_parts(below / "values")), VALUE_COLUMNS)
    _require_all("values", places.put("values.parquet", "values", VALUE_COLUMNS, texts), values)
    seal(places, names, operations)


def _require_all(what: str, found: int, told: int) -> None:
    if found != told:
        raise HistoryError(
            f"{what}: Spark wrote {told:,} rows, and {found:,} are found: its executors write to "
            "another disk; give a --results folder that they see, or use --write-job, which needs "
            "none"
        )


def _events(told: ToldTables) -> Iterator[dict[str, Any]]:
    for number, fields in enumerate(told.ends):
        time_ns = told.extent.end_ns + number
        yield {"process": told.final_reader, "time_ns": time_ns, "event": "ends", **fields}


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _operations(files: Sequence[Path], process: str) -> Write:
    """Those of a process: each file has a run of its ids."""
    firsts = {file: next(_batches([file]))["id"][0].as_py() for file in files}
    in_order = sorted(files, key=lambda file: int(firsts[file]))
    return _copied(_counted(_batches(in_order), process), OPERATION_COLUMNS)


def _counted(batches: Iterable[pa.RecordBatch], process: str) -> Iterator[pa.RecordBatch]:
    """The batches, if their ids count from 0 on."""
    expected = 0
    for batch in batches:
        if not np.array_equal(batch["id"], np.arange(expected, expected + len(batch))):
            raise HistoryError(f"{process}: Spark told its rows in another order than asked for")
        expected += len(batch)
        yield batch


def _batches(files: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=ROW_GROUP):
                if len(batch):
                    yield batch


def _copied(batches: Iterable[pa.RecordBatch], columns: Columns) -> Write:
    wanted = schema(columns)

    def write(path: Path) -> int:
        rows = 0
        with pq.ParquetWriter(path, wanted, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch.select(wanted.names).cast(wanted), ROW_GROUP)
                rows += len(batch)
        return rows

    return write
