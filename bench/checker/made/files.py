"""A made-up history on disk, as sealing leaves one (docs/history.md), written as it is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import tables
from harness.history.seal_record import SEALED
from harness.history.stored_tables import digest

_OPERATIONS = tables.schema(tables.OPERATION_COLUMNS)
_FEW = ("run_id", "process", "f", "type", "partition", "error", "broker", "instance")
_DICTIONARIES = [*_FEW, "transaction", "generation", "epoch"]
_ALWAYS = frozenset({"id", "partition", "intended_ns", "start_ns"})  # of these, -1 is a number


class Sealed:
    """The folder `history` of a run; sealed when the block ends without an exception."""

    def __init__(self, run: Path, run_id: str) -> None:
        self._folder, self._run_id = run / "history", run_id
        (self._folder / "operations").mkdir(parents=True)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: dict[str, list[pa.Table]] = {}
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        for name in self._writers:
            self._flush(name, least=0)
            self._writers[name].close()
        if kind is None:
            self._seal()

    @property
    def operations(self) -> int:
        """How many rows all workers have."""
        return sum(rows for name, rows in self._rows.items() if name.startswith("operations/"))

    def recorded(self, process: str) -> int:
        """How many rows a worker has."""
        return self._rows.get(f"operations/{process}.parquet", 0)

    def record(self, process: str, columns: Mapping[str, Any]) -> None:
        """More operations of a worker."""
        count = len(columns["start_ns"])
        name = f"operations/{process}.parquet"
        first = self._rows.get(name, 0)
        all_ = {**columns, "id": first + np.arange(count), "process": process}
        arrays = [_array(field, all_.get(field.name), count) for field in _OPERATIONS]
        arrays[0] = pa.array([self._run_id], pa.string()).take(pa.array(np.zeros(count, np.int64)))
        self._add(name, pa.table(arrays, schema=_OPERATIONS), tables.ROW_GROUP)

    def tell(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """More rows of a small table."""
        columns = tables.SMALL_TABLES[name]
        full = [{"run_id": self._run_id, **{c: row.get(c) for c, _ in columns[1:]}} for row in rows]
        made = pa.Table.from_pylist(full, schema=tables.schema(columns))
        self._add(f"{name}.parquet", made, tables.ROW_GROUP)

    def _add(self, name: str, table: pa.Table, least: int) -> None:
        self._waiting.setdefault(name, []).append(table)
        self._rows[name] = self._rows.get(name, 0) + table.num_rows
        if name not in self._writers:
            self._writers[name] = pq.ParquetWriter(
                self._folder / name, table.schema, compression="zstd", use_dictionary=_DICTIONARIES
            )
        self._flush(name, least=least)

    def _flush(self, name: str, *, least: int) -> None:
        waiting = self._waiting[name]
        if waiting and sum(table.num_rows for table in waiting) >= least:
            whole = pa.concat_tables(waiting)
            self._writers[name].write_table(whole, row_group_size=tables.ROW_GROUP)
            waiting.clear()

    def _seal(self) -> None:
        for name in tables.SMALL_TABLES:
            if f"{name}.parquet" not in self._rows:
                empty = tables.schema(tables.SMALL_TABLES[name]).empty_table()
                pq.write_table(empty, self._folder / f"{name}.parquet", compression="zstd")
                self._rows[f"{name}.parquet"] = 0
        processes = [Path(name).stem for name in self._rows if name.startswith("operations/")]
        told = {
            "version": 2,
            "run_id": self._run_id,
            "processes": sorted(processes),
            "operations": self.operations,
            "findings": 0,
            "tables": {
                name: {"rows": rows, "sha256": digest(self._folder / name), "kept": False}
                for name, rows in sorted(self._rows.items())
            },
        }
        (self._folder / SEALED).write_text(json.dumps(told, indent=1) + "\n")


def _array(field: pa.Field, given: Any, count: int) -> pa.Array:
    """One column: an array, or what all rows have; -1 is missing, but in `_ALWAYS`."""
    if given is None:
        return pa.nulls(count, field.type)
    if isinstance(given, str | int):
        if given == -1:
            return pa.nulls(count, field.type)
        return pa.array([given], field.type).take(pa.array(np.zeros(count, np.int64)))
    if given.dtype.kind in "UO":
        return _texts(given, field.type)
    wide = given.astype(field.type.to_pandas_dtype())
    return pa.array(wide, field.type, mask=None if field.name in _ALWAYS else wide < 0)


def _texts(given: Any, kind: pa.DataType) -> pa.Array:
    """Few distinct texts."""
    known: Sequence[Any] = (None, *sorted({*map(str, np.unique(given[given != None]))}))  # noqa: E711
    numbers = np.zeros(len(given), np.int64)
    for number, text in enumerate(known[1:], start=1):
        numbers[given == text] = number
    return pa.array(known, kind).take(pa.array(numbers))
