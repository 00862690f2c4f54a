"""The columns of the two tables, under the names that `kafka-harness sql` has for sends and reads.

    sends   value, type, partition, offset; if known: process, start_ns, end_ns, topic
    reads   value, partition, offset;       if known: f, process, end_ns, topic

A value is text, a whole number or bytes, and is compared as text, exactly: a number by its digits,
bytes by their hexadecimal digits. If one table has texts and the other numbers, each text must be
a number in its usual form (7, not 07), or equal values would differ.

In CSV only a value can be an empty text (`""`): in other columns an empty cell is null, quoted or
not. Other columns are ignored. docs/tables.md describes them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DecimalType,
    IntegralType,
    LongType,
    StringType,
    StructField,
)

from analysis.tables.table_files import Opened, TableError

WHOLE, WORD, VALUE = "a whole number", "a text", "a text, a whole number or bytes"
# Column -> its kind, and whether a table must have it.
SENDS: Final[Mapping[str, tuple[str, bool]]] = {
    "value": (VALUE, True),
    "type": (WORD, True),
    "partition": (WHOLE, True),
    "offset": (WHOLE, True),
    "process": (WORD, False),
    "start_ns": (WHOLE, False),
    "end_ns": (WHOLE, False),
    "topic": (WORD, False),
}
READS: Final[Mapping[str, tuple[str, bool]]] = {
    "value": (VALUE, True),
    "partition": (WHOLE, True),
    "offset": (WHOLE, True),
    "f": (WORD, False),
    "process": (WORD, False),
    "end_ns": (WHOLE, False),
    "topic": (WORD, False),
}
_A_NUMBER: Final = r"^(0|-?[1-9][0-9]*)\z"
_TEXT, _NUMBER, _BYTES = "texts", "numbers", "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A table with exactly the wanted columns, of our types; a missing one is null."""

    name: str
    rows: DataFrame
    has: frozenset[str]
    texts: bool  # every cell was text: CSV
    values: str  # texts | numbers | bytes
    # Columns in which a cell may be no whole number; `shown_<name>` has the cells as written.
    cells: tuple[str, ...]


def typed(opened: Opened, wanted: Mapping[str, tuple[str, bool]]) -> Typed:
    """The table with the wanted columns. Raises TableError."""
    fields = _fields(opened, wanted)
    columns, cells = [], []
    for name, (kind, _) in wanted.items():
        if name not in fields:
            nothing = F.lit(None).cast(LongType() if kind == WHOLE else StringType())
            columns.append(nothing.alias(name))
            continue
        kind_of_cells, column = fields[name].dataType, F.col(f"`{fields[name].name}`")
        if opened.texts and name != "value":  # a writer that quotes all has no other null
            column = F.nullif(column, F.lit(""))
        columns.append(_as(opened, name, kind, kind_of_cells, column).alias(name))
        if kind == WHOLE and not isinstance(kind_of_cells, IntegralType):
            columns.append(column.cast(StringType()).alias(f"shown_{name}"))
            cells.append(name)
    value = fields["value"].dataType
    values = _TEXT if isinstance(value, StringType) else _NUMBER
    return Typed(
        name=opened.name,
        rows=opened.rows.select(*columns),
        has=frozenset(wanted.keys() & fields.keys()),
        texts=opened.texts,
        values=_BYTES if isinstance(value, BinaryType) else values,
        cells=tuple(cells),
    )


def _fields(opened: Opened, wanted: Mapping[str, tuple[str, bool]]) -> dict[str, StructField]:
    """The table's columns, by their names in small letters. Raises TableError."""
    fields = opened.rows.schema.fields
    names = [field.name.lower() for field in fields]
    missing = [name for name, (_, needed) in wanted.items() if needed and name not in names]
    if missing:
        others = ", ".join(field.name for field in fields[:20]) or "none"
        raise TableError(
            f"{opened.name}: it has no column {', '.join(missing)}; it has {others}: rename or add "
            "what is missing (`kafka-harness docs tables`)"
        )
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise TableError(f"{opened.name}: it has the column {twice[0]} twice: rename one of them")
    return dict(zip(names, fields, strict=True))


def is_not_whole(name: str) -> Column:
    """Whether a cell is neither null nor a whole number."""
    return F.col(f"shown_{name}").isNotNull() & F.col(name).isNull()


def require_comparable(tables: Sequence[Typed]) -> None:
    """Raises TableError for two tables whose values cannot be compared."""
    sends, reads = tables
    if _BYTES in (sends.values, reads.values) and sends.values != reads.values:
        raise TableError(
            f"{reads.name}: its value holds {reads.values}, and that of {sends.name} "
            f"{sends.values}: make both the same"
        )


def is_not_a_number() -> Column:
    """Whether a value is no number in the form of a column of numbers."""
    return ~F.col("value").rlike(_A_NUMBER)


def texts_beside_numbers(tables: Sequence[Typed]) -> Typed | None:
    """The table of texts, if the other one has numbers."""
    by_kind = {table.values: table for table in tables}
    return by_kind[_TEXT] if by_kind.keys() == {_TEXT, _NUMBER} else None


def _as(opened: Opened, name: str, kind: str, has: DataType, column: Column) -> Column:
    """A column as text or number. Raises TableError for any other type."""
    is_text = isinstance(has, StringType)
    whole = isinstance(has, IntegralType) or (isinstance(has, DecimalType) and has.scale == 0)
    if kind == WHOLE and whole:
        return column.try_cast(LongType())
    if kind == WHOLE and is_text and opened.texts:
        return F.trim(column).try_cast(LongType())
    if kind != WHOLE and is_text:
        return column.cast(StringType())
    if kind == VALUE and whole:
        return column.cast(StringType())
    if kind == VALUE and isinstance(has, BinaryType):
        return F.hex(column)
    remedy = f"cast({name} as {'bigint' if kind == WHOLE else 'string'})"
    raise TableError(
        f"{opened.name}: its column {name} is of type {has.simpleString()}, expected is {kind}: "
        f"{remedy} where that is what it means"
    )
