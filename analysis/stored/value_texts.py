"""The texts of an imported run's values: history/values.parquet (docs/lines.md).

    values.parquet has 7 with "order 7"    texts_of(run, [7, 8])    =>  {7: "order 7"}

No verdict rests on a text. A run whose table is missing or differs from the sealed one has none,
and neither have our own runs, whose values are their texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from analysis.stored.run_files import HISTORY
from harness.history.record_format import HistoryError
from harness.history.seal_record import read_seal
from harness.history.stored_tables import TableError, digest, row_groups
from harness.history.tables import VALUE_COLUMNS

VALUES_TABLE: Final = "values.parquet"


def texts_of(folder: Path, values: Iterable[int]) -> dict[int, str]:
    """Of these values of the run in a folder, by value; nothing of it is held but a row group."""
    wanted = pa.array(sorted({*values}), pa.int64())
    found: dict[int, str] = {}
    if not len(wanted):
        return found
    try:
        if not _is_sealed(folder):
            return found
        for group in row_groups(folder / HISTORY / VALUES_TABLE, VALUE_COLUMNS):
            rows = group.filter(pc.is_in(group["value"], wanted))
            found |= dict(zip(rows["value"].to_pylist(), rows["text"].to_pylist(), strict=True))
    except (TableError, HistoryError):
        return {}
    return found


def _is_sealed(folder: Path) -> bool:
    """Whether the table is the one that was sealed."""
    seal = read_seal(folder / HISTORY)
    sealed = seal.tables.get(VALUES_TABLE) if seal else None
    return sealed is not None and digest(folder / HISTORY / VALUES_TABLE) == sealed.sha256
