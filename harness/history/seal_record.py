"""sealed.json: marks a history as sealed, and describes each of its tables at that time.

    {"version": 2, "run_id": …, "processes": […], "operations": 1792, "findings": 0,
     "tables": {"operations/producer-0.parquet": {"rows": 1000, "sha256": …, "kept": false}, …}}

Version 1 has no `tables`: such a history can be judged by its counts only. A table is *kept* when
sealing found it there and did not make it (harness.history.sealing).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.history.record_format import PROCESS_NAME, HistoryError
from harness.history.stored_tables import Columns, TableError, read_bytes, whole
from harness.history.tables import OPERATION_COLUMNS

SEALED: Final = "sealed.json"
Count = Annotated[int, Field(ge=0)]


class SealedTable(BaseModel):
    """One table at the time of sealing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rows: Count
    sha256: str  # of the file's bytes
    kept: bool = False


class Seal(BaseModel):
    """The contents of a sealed history."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal[1, 2] = 1
    run_id: str
    processes: tuple[Annotated[str, Field(pattern=f"^{PROCESS_NAME}$")], ...]
    operations: Count
    findings: Count
    tables: Mapping[str, SealedTable] = Field(default_factory=dict)  # by path below history/


def read_seal(history: Path) -> Seal | None:
    """The contents of sealed.json; None: the history is not sealed. Raises HistoryError."""
    file = history / SEALED
    if not file.exists() and not file.is_symlink():
        return None
    try:
        return Seal.model_validate_json(read_bytes(file))
    except TableError as error:
        reason = str(error)
    except ValidationError:
        reason = "it is not what sealing writes"
    raise HistoryError(
        f"{file}: damaged ({reason}): restore it, or move it out of the folder to have what is "
        "there judged without it"
    )


def sealed_operations(history: Path, sealed: Seal) -> dict[str, pa.Table]:
    """The operations of each process, unchanged since sealing. Raises HistoryError."""
    tables = {
        process: sealed_table(
            history, f"operations/{process}.parquet", sealed, OPERATION_COLUMNS, process
        )
        for process in sealed.processes
    }
    rows = sum(table.num_rows for table in tables.values())
    if rows != sealed.operations:
        raise HistoryError(
            f"{history / 'operations'}: its tables have {rows:,} rows, but {sealed.operations:,} "
            "were sealed: restore them"
        )
    return tables


def sealed_table(
    history: Path,
    name: str,
    sealed: Seal,
    columns: Columns,
    process: str | None = None,
) -> pa.Table:
    """A table unchanged since sealing, all rows of `process` if given. Raises HistoryError."""
    entry = sealed.tables.get(name)
    try:
        return whole(
            history / name,
            columns,
            sealed.run_id,
            process=process,
            rows=entry.rows if entry else None,
            sha256=entry.sha256 if entry else None,
        )
    except TableError as error:
        raise HistoryError(f"{history / name}: {error}: restore it") from None
