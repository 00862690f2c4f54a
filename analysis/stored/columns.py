"""Columns of tables: in numpy, and their statistics in a file's footer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ADDED_TO_1 = ("instance", "transaction", "generation", "epoch")  # columns of operations
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Rows as columns: arrays of one length, each a field of what is made of this."""

    def of(self, which: npt.NDArray[Any] | slice) -> Self:
        """Some of the rows."""
        return type(self)(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


def whole_numbers(table: pa.Table, name: str) -> Numbers:
    """A column of whole numbers, -1 for null."""
    filled: Numbers = pc.fill_null(table[name].cast(pa.int64()), -1).to_numpy()
    return filled


def found_at(ordered: Numbers, values: Numbers) -> Numbers:
    """Where each value first stands among others in order; -1: nowhere."""
    if not len(ordered):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)


def statistics(footer: pq.FileMetaData, column: str) -> list[tuple[Any, Any]]:
    """Smallest and largest value of a column in each row group, from the file's footer; nothing of
    a column that it does not have."""
    if column not in footer.schema.names:
        return []
    at = footer.schema.names.index(column)
    found = []
    for group in range(footer.num_row_groups):
        known = footer.row_group(group).column(at).statistics
        if known is not None and known.has_min_max:
            found.append((known.min, known.max))
    return found


def nulls(footer: pq.FileMetaData, column: str) -> list[int]:
    """How often a column is missing in each row group, as far as the footer tells."""
    at = footer.schema.names.index(column)
    known = (footer.row_group(group).column(at) for group in range(footer.num_row_groups))
    return [int(each.statistics.null_count or 0) for each in known if each.statistics is not None]


def is_summed_up(footer: pq.FileMetaData) -> bool:
    """Whether the footer tells something of each column, in each row group that has rows."""
    return all(
        footer.row_group(group).column(column).statistics is not None
        for group in range(footer.num_row_groups)
        for column in range(footer.num_columns)
        if footer.row_group(group).num_rows
    )


def format_of(footer: pq.FileMetaData) -> int | None:
    """The history's format, as a table of operations has it: in 2 every row has its instance, and
    all columns are there; in 1 none of them has anything. None: neither."""
    there = [name for name in ADDED_TO_1 if name in footer.schema.names]
    missing = {name: sum(nulls(footer, name)) for name in there}
    if all(rows == footer.num_rows for rows in missing.values()):
        return 1
    whole = len(there) == len(ADDED_TO_1) and not missing["instance"]
    return 2 if whole else None
