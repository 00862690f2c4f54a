"""Reads stored tables with suspicion: a file is a table of ours, or there is a reason why not.

Anybody may have cut, replaced or damaged a stored file, so whatever a reader of Parquet raises
becomes a `TableError`: the end of a sentence that names the file. Links are not followed: a run's
folder holds its own files. A file that claims to be larger than what we record is not unpacked: 100
KB of Parquet can be gigabytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.history.record_format import SEGMENT_CAPACITY
from harness.history.tables import ADDED, ROW_GROUP, schema

_MAGIC = b"PAR1"
_TOO_MANY = "more than any table of ours"
MOST_BYTES = 2 * 2**30  # of a file that is read whole
MOST_SMALL_ROWS = 2_000_000  # of a table that is held as Python's own objects, about 1 KiB a row
MOST_GROUP_ROWS = ROW_GROUP + SEGMENT_CAPACITY
MOST_GROUP_BYTES = 2**30  # a row of a group has about 100
Columns = tuple[tuple[str, str], ...]


class TableError(Exception):
    """Why a file is no table of ours: the end of a sentence that begins with its name."""


def check_file(file: Path) -> None:
    """Refuse anything but a regular file of the folder: opening it might never return."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        raise TableError("missing") from None
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror})") from None
    if stat.S_ISLNK(mode):
        raise TableError("it is a link, and not the file itself")
    if not stat.S_ISREG(mode):
        raise TableError(f"it is a {'folder' if stat.S_ISDIR(mode) else 'device'}, and no file")


def digest(file: Path) -> str:
    """SHA-256 of a table's bytes. Raises TableError."""
    check_file(file)
    with _table_errors(), file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def read_bytes(file: Path, *, first: int | None = None) -> bytes:
    """A small file's bytes, or the first so many of any file. Raises TableError."""
    check_file(file)
    with _table_errors(), file.open("rb") as opened:
        if first is not None:
            return opened.read(first)
        size = os.fstat(opened.fileno()).st_size
        if size > MOST_BYTES:
            raise TableError(f"it has {size:,} bytes, and none of ours has {MOST_BYTES:,}")
        return opened.read()


def rows_in(data: bytes, columns: Columns) -> list[dict[str, Any]]:
    """All rows of a small table. Raises TableError."""
    with _table_errors():
        if not data.startswith(_MAGIC):
            raise TableError("cannot be read as Parquet (it begins otherwise)")
        parquet = pq.ParquetFile(io.BytesIO(data), read_dictionary=_texts(columns))
        _check_columns(parquet.schema_arrow, columns)
        _check_sizes(parquet.metadata, MOST_SMALL_ROWS)
        if parquet.metadata.num_rows > MOST_SMALL_ROWS:
            raise TableError(f"it has {parquet.metadata.num_rows:,} rows, {_TOO_MANY}")
        names = [name for name, _ in columns if name in parquet.schema_arrow.names]
        table = parquet.read(names)
        if (size := sum(map(_text_bytes, table.columns))) > MOST_GROUP_BYTES:
            raise TableError(f"its texts unpack to {size:,} bytes, {_TOO_MANY}")
        rows: list[dict[str, Any]] = table.to_pylist()
        return [dict.fromkeys((name for name, _ in columns)) | row for row in rows]


def footer(file: Path, columns: Columns) -> pq.FileMetaData:
    """A table's footer, checked against its columns. Raises TableError."""
    check_file(file)
    with _table_errors(), pq.ParquetFile(file) as parquet:
        _check_columns(parquet.schema_arrow, columns)
        return parquet.metadata


def row_groups(file: Path, columns: Columns) -> Iterator[pa.Table]:
    """Every row of a table, a row group at a time; texts as dictionaries, columns that an older
    table lacks as null. Raises TableError."""
    check_file(file)
    with _table_errors():
        parquet = pq.ParquetFile(file, read_dictionary=_texts(columns))
        with parquet:
            _check_columns(parquet.schema_arrow, columns)
            _check_sizes(parquet.metadata, MOST_GROUP_ROWS)
            names = [name for name, _ in columns if name in parquet.schema_arrow.names]
            for group in range(parquet.num_row_groups):
                table = parquet.read_row_group(group, names).unify_dictionaries()
                table.validate(full=True)  # texts, too: whoever compares them decodes them
                yield _complete(table, columns)


def _complete(table: pa.Table, columns: Columns) -> pa.Table:
    """The table with every column, in order; a missing one is null."""
    wanted = schema(columns)
    names = set(table.column_names)
    return pa.table(
        {
            name: table[name] if name in names else pa.nulls(len(table), wanted.field(name).type)
            for name in wanted.names
        }
    )


def all_rows(file: Path, columns: Columns) -> pa.Table:
    """Every row of a table, in its columns' own types. Raises TableError."""
    wanted = schema(columns)
    groups = [group.cast(wanted) for group in row_groups(file, columns)]
    return pa.concat_tables([wanted.empty_table(), *groups])


def count_rows(file: Path, columns: Columns, run_id: str) -> int:
    """The number of a table's rows, each of them decoded and of this run. Raises TableError."""
    rows = 0
    for group in row_groups(file, columns):
        if not all_are(group["run_id"], run_id):
            raise TableError(f"it holds rows of another run than {run_id}")
        rows += group.num_rows
    return rows


def whole(  # noqa: PLR0913  what a seal says of a table
    file: Path,
    columns: Columns,
    run_id: str,
    *,
    process: str | None = None,
    rows: int | None = None,
    sha256: str | None = None,
) -> pa.Table:
    """A table unchanged since sealing (rows, sha256; None: not known), with rows of this run and
    process only (None: of any process). Raises TableError."""
    if sha256 is not None and digest(file) != sha256:
        raise TableError("it is not the file that was sealed (its SHA-256 differs)")
    table = all_rows(file, columns)
    if not all_are(table["run_id"], run_id):
        raise TableError(f"it holds rows of another run than {run_id}")
    if process is not None and not all_are(table["process"], process):
        raise TableError(f"it holds rows of another process than {process}")
    if rows is not None and table.num_rows != rows:
        raise TableError(f"it has {table.num_rows:,} rows, but {rows:,} were sealed")
    return table


def all_are(column: pa.ChunkedArray, text: str) -> bool:
    """Whether every value of a column is this text; null is not."""
    return not column.null_count and pc.unique(column).to_pylist() in ([], [text])


def _check_columns(actual: pa.Schema, columns: Columns) -> None:
    kinds = {field.name: _kind(field.type) for field in actual}
    for name, kind in columns:
        if kinds.get(name) != kind and not (name in ADDED and name not in kinds):
            has = f"is {kinds[name]}" if name in kinds else "is missing"
            raise TableError(f"column {name} {has}, expected {kind}: not of this version")


def _check_sizes(metadata: pq.FileMetaData, most_rows: int) -> None:
    """Refuse, before unpacking, what unpacks to more than anybody recorded."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_rows > most_rows:
            raise TableError(f"it has {group.num_rows:,} rows in one row group, {_TOO_MANY}")
        if group.total_byte_size > MOST_GROUP_BYTES:
            raise TableError(f"a row group unpacks to {group.total_byte_size:,} bytes, {_TOO_MANY}")


def _texts(columns: Columns) -> list[str]:
    return [name for name, kind in columns if kind == "string"]


def _text_bytes(column: pa.ChunkedArray) -> int:
    """The size of a column's texts if each is unpacked."""
    kept = [chunk for chunk in column.chunks if pa.types.is_dictionary(chunk.type)]
    lengths = (pc.take(pc.binary_length(chunk.dictionary), chunk.indices) for chunk in kept)
    return sum(pc.sum(length, min_count=0).as_py() for length in lengths)


def _kind(data_type: pa.DataType) -> str:
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    return str(data_type).replace("element: ", "").replace("item: ", "")


@contextmanager
def _table_errors() -> Iterator[None]:
    try:
        yield
    except TableError:
        raise
    except OSError as error:
        if error.strerror:
            raise TableError(f"cannot be read ({error.strerror})") from None
        raise TableError(_no_parquet(error)) from None
    except Exception as error:  # of damaged bytes a reader may raise anything
        raise TableError(_no_parquet(error)) from None


def _no_parquet(error: Exception) -> str:
    reason = str(error).split("\n", 1)[0] or type(error).__name__
    return f"cannot be read as Parquet ({reason})"
