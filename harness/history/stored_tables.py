"""Stored tables, read with suspicion: a file is a table of ours, or there is a reason why not.

Anybody may have cut, replaced or damaged a stored file, so what a reader of Parquet raises is
caught here, whatever it is, and becomes a `TableError`: the end of a sentence that names the file.
Links are not followed: a run's folder holds its own files.
"""

from __future__ import annotations

import hashlib
import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.history.tables import ADDED, schema

_MAGIC = b"PAR1"
Columns = tuple[tuple[str, str], ...]


class TableError(Exception):
    """Why a file is no table of ours: the end of a sentence that begins with its name."""


def check_file(file: Path) -> None:
    """Refuse what is no file of the folder's own: opening it might never return."""
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
    with _reasons(), file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def read_bytes(file: Path) -> bytes:
    """A small file's bytes. Raises TableError."""
    check_file(file)
    with _reasons():
        return file.read_bytes()


def rows_in(data: bytes, columns: Columns) -> list[dict[str, Any]]:
    """All rows of a small table. Raises TableError."""
    with _reasons():
        if not data.startswith(_MAGIC):
            raise TableError("cannot be read as Parquet (it begins otherwise)")
        parquet = pq.ParquetFile(io.BytesIO(data))
        _check_columns(parquet.schema_arrow, columns)
        there = [name for name, _ in columns if name in parquet.schema_arrow.names]
        rows: list[dict[str, Any]] = parquet.read(there).to_pylist()
        return [dict.fromkeys((name for name, _ in columns)) | row for row in rows]


def footer(file: Path, columns: Columns) -> pq.FileMetaData:
    """A table's footer, checked against its columns. Raises TableError."""
    check_file(file)
    with _reasons(), pq.ParquetFile(file) as parquet:
        _check_columns(parquet.schema_arrow, columns)
        return parquet.metadata


def row_groups(file: Path, columns: Columns) -> Iterator[pa.Table]:
    """Every row of a table, a row group at a time; texts as dictionaries. Raises TableError."""
    check_file(file)
    names = [name for name, _ in columns]
    texts = [name for name, kind in columns if kind == "string"]
    with _reasons():
        parquet = pq.ParquetFile(file, read_dictionary=texts)
        with parquet:
            _check_columns(parquet.schema_arrow, columns)
            for group in range(parquet.num_row_groups):
                table = parquet.read_row_group(group, names).unify_dictionaries()
                table.validate()
                yield table


def count_rows(file: Path, columns: Columns, run_id: str) -> int:
    """How many rows a table has, each of them decoded and of this run. Raises TableError."""
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
    """A table that is as it was sealed (rows, sha256; None: not known), each of its rows of this
    run and process (None: of any). Raises TableError."""
    if sha256 is not None and digest(file) != sha256:
        raise TableError("it is not the file that was sealed (its SHA-256 differs)")
    wanted = schema(columns)
    groups = [group.cast(wanted) for group in row_groups(file, columns)]
    table = pa.concat_tables([wanted.empty_table(), *groups])
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


def _check_columns(found: pa.Schema, columns: Columns) -> None:
    kinds = {field.name: _kind(field.type) for field in found}
    for name, kind in columns:
        if kinds.get(name) != kind and not (name in ADDED and name not in kinds):
            has = f"is {kinds[name]}" if name in kinds else "is missing"
            raise TableError(f"column {name} {has}, expected {kind}: not of this version")


def _kind(found: pa.DataType) -> str:
    if pa.types.is_dictionary(found):
        found = found.value_type
    return str(found).replace("element: ", "").replace("item: ", "")


@contextmanager
def _reasons() -> Iterator[None]:
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
