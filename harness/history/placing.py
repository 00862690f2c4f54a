"""Puts a sealed table in its place, where another one may already be.

If a table of this run has more rows than its replacement, its source is gone: the table is *kept*,
and nobody knows whether it is whole. Any other file in that place that differs by a byte is moved
aside (`<name>.replaced`, never read). So sealing destroys no file that it could not make again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.history.seal_record import SealedTable
from harness.history.segments import Finding
from harness.history.stored_tables import (
    Columns,
    TableError,
    count_rows,
    digest,
    read_bytes,
    rows_in,
)

Write = Callable[[Path], int]  # makes a table at a path; how many rows it has


@dataclass(kw_only=True)
class Places:
    """The places of one history's tables, and their final contents."""

    folder: Path  # history/
    run_id: str
    tables: dict[str, SealedTable] = field(default_factory=dict)
    kept: list[Finding] = field(default_factory=list)

    def put(self, name: str, about: str, columns: Columns, write: Write | None) -> int:
        """Put the table of `about` (a process, or the table itself) in its place; returns its rows.
        `write` None: nothing is left to make the table from, so it stays as it is."""
        path = self.folder / name
        had = rows_there(path, columns, self.run_id)
        if write is None:
            return self._keep(name, about, had)
        partial = path.with_name(f".{path.name}")
        partial.unlink(missing_ok=True)  # never through a link
        rows = write(partial)
        if had is not None and had > rows:
            partial.unlink()
            return self._keep(name, about, had)
        made = digest(partial)
        if os.path.lexists(path) and not _is_same(path, made):
            path.rename(_aside(path))
        partial.replace(path)
        self.tables[name] = SealedTable(rows=rows, sha256=made)
        return rows

    def _keep(self, name: str, about: str, rows: int | None) -> int:
        text = (
            f"{name}: it was there before the history was sealed, and what it was made from is "
            "not: whether it is whole is not known"
        )
        self.kept.append(Finding(process=about, kind="kept", count=rows or 0, text=text))
        if rows is not None:
            sha256 = digest(self.folder / name)
            self.tables[name] = SealedTable(rows=rows, sha256=sha256, kept=True)
        return rows or 0


def rows_there(path: Path, columns: Columns, run_id: str) -> int | None:
    """The number of a table's rows, each of them read; None: no table, or none of this run."""
    try:
        return count_rows(path, columns, run_id)
    except TableError:
        return None


def _is_same(path: Path, made: str) -> bool:
    try:
        return digest(path) == made
    except TableError:
        return False


def _aside(path: Path) -> Path:
    """A path that does not exist yet."""
    number, free = 1, path.with_name(f"{path.name}.replaced")
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.replaced-{number}")
    return free


def rows_of_this_run(path: Path, run_id: str, columns: Columns) -> list[dict[str, object]]:
    """The rows of a small table that is whole and of this run; otherwise none."""
    try:
        rows = rows_in(read_bytes(path), columns)
    except TableError:
        return []
    return rows if all(row["run_id"] == run_id for row in rows) else []
