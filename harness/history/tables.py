"""The sealed history's tables and their columns: sealing.py writes them, the checkers read them.

docs/history.md says what each column means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

OPERATION_COLUMNS: Final = (
    ("run_id", "string"),
    ("process", "string"),
    ("id", "int64"),
    ("f", "string"),
    ("type", "string"),
    ("partition", "int32"),
    ("value", "int64"),
    ("offset", "int64"),
    ("error", "string"),
    ("intended_ns", "int64"),
    ("start_ns", "int64"),
    ("end_ns", "int64"),
    ("broker", "int32"),
    ("instance", "int32"),
    ("transaction", "int32"),
    ("generation", "int32"),
    ("epoch", "int32"),
)
EVENT_COLUMNS: Final = (
    ("run_id", "string"),
    ("process", "string"),
    ("time_ns", "int64"),
    ("event", "string"),
    ("partition", "int32"),
    ("code", "int32"),
    ("name", "string"),
    ("text", "string"),
    ("log_start", "int64"),
    ("committed_end", "int64"),
    ("uncommitted_end", "int64"),
    ("position", "int64"),
    ("complete", "bool"),
    ("since_ns", "int64"),
    ("instance", "int32"),
    ("transaction", "int32"),
    ("generation", "int32"),
)
FAULT_COLUMNS: Final = (
    ("run_id", "string"),
    ("fault", "int32"),
    ("step", "int32"),
    ("verb", "string"),
    ("target", "string"),
    ("nodes", "list<string>"),
    ("invoke_ns", "int64"),
    ("ok_ns", "int64"),
    ("heal_invoke_ns", "int64"),
    ("heal_ok_ns", "int64"),
    ("evidence", "string"),
    ("heal_evidence", "string"),
    ("error", "string"),
    ("before", "string"),
    ("after", "string"),
)
VIEW_COLUMNS: Final = (
    ("run_id", "string"),
    ("time_ns", "int64"),
    ("partition", "int32"),
    ("leader", "string"),
    ("isr", "list<string>"),
    ("leader_epoch", "int32"),
    ("controller", "string"),
    ("since_ns", "int64"),
    ("elr", "list<string>"),
    ("partition_epoch", "int32"),
    ("went_back", "bool"),
)
BLIND_COLUMNS: Final = (("run_id", "string"), ("start_ns", "int64"), ("end_ns", "int64"))
WATERMARK_COLUMNS: Final = (
    ("run_id", "string"),
    ("time_ns", "int64"),
    ("end_ns", "int64"),
    ("partition", "int32"),
    ("broker", "string"),
    ("leads", "bool"),
    ("in_isr", "bool"),
    ("high_watermark", "int64"),
    ("log_end", "int64"),
)
KEPT_COLUMNS: Final = (
    ("run_id", "string"),
    ("time_ns", "int64"),
    ("event", "string"),
    ("moment", "string"),
    ("broker", "string"),
    ("topic", "string"),
    ("partition", "int32"),
    ("offset", "int64"),
    ("epoch", "int32"),
    ("value", "int64"),
    ("producer_id", "int64"),
    ("producer_epoch", "int32"),
    ("sequence", "int32"),
    ("transactional", "bool"),
    ("marker", "string"),
    ("log_start", "int64"),
    ("begin", "int64"),
    ("log_end", "int64"),
    ("watermark", "int64"),
    ("lowest", "int64"),
    ("cut_short", "bool"),
    ("leader", "int32"),
    ("logged_ms", "int64"),
    ("text", "string"),
)
FINDING_COLUMNS: Final = (
    ("run_id", "string"),
    ("process", "string"),
    ("kind", "string"),
    ("count", "int64"),
    ("text", "string"),
)
VALUE_COLUMNS: Final = (("run_id", "string"), ("value", "int64"), ("text", "string"))
ROW_GROUP: Final = 100_000  # operations: with so many a row group is written
# Each run has one of these besides the operations: name of the file -> its columns.
SMALL_TABLES: Final = {
    "events": EVENT_COLUMNS,
    "faults": FAULT_COLUMNS,
    "views": VIEW_COLUMNS,
    "blind": BLIND_COLUMNS,
    "watermarks": WATERMARK_COLUMNS,
    "kept": KEPT_COLUMNS,
    "findings": FINDING_COLUMNS,
}
# Columns that older histories lack; read as null.
ADDED: Final = frozenset(
    {
        *("since_ns", "instance", "transaction", "generation", "epoch"),
        *("elr", "partition_epoch", "went_back"),
    }
)
# Tables that older histories lack; read as empty.
ADDED_TABLES: Final = frozenset({"kept"})
# Columns that every row of a small table has; in others null is "not known".
REQUIRED: Final = {
    "events": ("run_id", "process", "time_ns", "event"),
    "faults": ("run_id", "fault", "step", "verb", "target", "nodes", "invoke_ns"),
    "views": ("run_id", "time_ns", "partition", "isr"),
    "blind": ("run_id", "start_ns"),
    "watermarks": ("run_id", "time_ns", "partition", "broker"),
    "kept": ("run_id", "time_ns", "event"),
    "findings": ("run_id", "process", "kind", "count"),
}
_ARROW: Final = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "list<string>": pa.list_(pa.string()),
}


def schema(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    """A table's columns for pyarrow."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in columns])


def partitions_named(text: str | None) -> list[int]:
    """The partitions in the text of an `assigned` or a `revoked`: "0, 2"."""
    return [int(number) for number in re.findall(r"(?<!\d)\d{1,9}(?!\d)", text or "")]
