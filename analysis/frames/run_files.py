"""A run's files, read with suspicion: whatever is not ours is refused, in one sentence.

run.json must be the record of a run (harness.model.run_record); a small table and an operations
file must have their columns, and operations be those of this run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import tables
from harness.model.run_folder import RunFolder, StoreError


class CheckError(Exception):
    """The runs cannot be checked as they are: one sentence with file, key and remedy."""


def read_record(folder: Path) -> dict[str, Any]:
    """run.json, whichever harness wrote it, as the newest would have."""
    try:
        run = RunFolder(path=folder)
        run.refuse_links()
        return run.read().model_dump(mode="json")
    except StoreError as error:
        raise CheckError(str(error)) from None


def small_table(file: Path, columns: tuple[tuple[str, str], ...]) -> tuple[dict[str, Any], ...]:
    """A small table of a sealed history, checked against its columns."""
    _check_columns(file, columns)
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return tuple(rows)


def footer_of(file: Path, run_id: str) -> pq.FileMetaData:
    """The footer of an operations file, checked against its columns and its run."""
    _check_columns(file, tables.OPERATION_COLUMNS)
    footer = pq.read_metadata(file)
    for low, high in statistics(footer, "run_id"):
        if low != run_id or high != run_id:
            raise CheckError(
                f"{file}: run_id is {low}, but run.json says {run_id}: put back the run's own files"
            )
    return footer


def _check_columns(file: Path, columns: tuple[tuple[str, str], ...]) -> None:
    try:
        found = pq.read_schema(file)
    except FileNotFoundError:
        raise CheckError(f"{file}: missing: seal the history again or restore the file") from None
    except (OSError, pa.ArrowException) as error:
        reason = str(error).split("\n", 1)[0]
        raise CheckError(f"{file}: cannot be read as Parquet ({reason}): restore it") from None
    kinds = {field.name: str(field.type).replace("element: ", "") for field in found}
    for name, kind in columns:
        if kinds.get(name, "").replace("item: ", "") != kind:
            has = f"is {kinds[name]}" if name in kinds else "is missing"
            raise CheckError(
                f"{file}: column {name} {has}, expected {kind}: not a history of this version"
            )


def statistics(footer: pq.FileMetaData, column: str) -> list[tuple[Any, Any]]:
    """Smallest and largest value of a column in each row group, from the file's footer."""
    at = footer.schema.names.index(column)
    found = []
    for group in range(footer.num_row_groups):
        known = footer.row_group(group).column(at).statistics
        if known is not None and known.has_min_max:
            found.append((known.min, known.max))
    return found
