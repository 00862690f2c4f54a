"""The operations and values that Spark wrote of two tables (docs/tables.md), batch by batch.

    <folder>/operations/process=<process>/part-….parquet    the operations of a process
    <folder>/values/part-….parquet                          the values and their texts

Each of Spark's files has its rows in order of their ids.

Executors of a cluster may write to another disk, and Spark would still report success. So the rows
that are read here are counted, and must be as many as Spark wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history.record_format import HistoryError
from harness.history.tables import ROW_GROUP

PROCESS: Final = "process"  # Spark names the folders by this column


def operations(folder: Path, rows: Mapping[str, int]) -> dict[str, Iterator[pa.Table]]:
    """The operations of each process. `rows`: how many it must have."""
    return {process: _operations(folder, process, many) for process, many in rows.items()}


def values(folder: Path, rows: int) -> Iterator[pa.Table]:
    """The values, which must be so many."""
    files = sorted((folder / "values").glob("*.parquet"))
    return _require_all(_batches(files), "values", rows)


def _operations(folder: Path, process: str, rows: int) -> Iterator[pa.Table]:
    files = list((folder / "operations" / f"{PROCESS}={process}").glob("*.parquet"))
    files.sort(key=lambda file: int(next(_batches([file]))["id"][0].as_py()))
    expected = 0
    for batch in _require_all(_batches(files), process, rows):
        if not np.array_equal(batch["id"], np.arange(expected, expected + len(batch))):
            raise HistoryError(f"{process}: Spark told its rows in another order than asked for")
        expected += len(batch)
        yield batch


def _require_all(batches: Iterable[pa.Table], name: str, rows: int) -> Iterator[pa.Table]:
    """The batches. Raises HistoryError in the end if they have not so many rows."""
    found = 0
    for batch in batches:
        found += len(batch)
        yield batch
    if found != rows:
        raise HistoryError(
            f"{name}: Spark wrote {rows:,} rows, and {found:,} are found: its executors write to "
            "another disk; give a --results folder that they see, or use --write-job, which needs "
            "none"
        )


def _batches(files: Iterable[Path]) -> Iterator[pa.Table]:
    for file in files:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=ROW_GROUP):
                if len(batch):
                    yield pa.Table.from_batches([batch])
