"""The columns of the two tables, by the names that `kafka-harness sql` has for sends and reads.

    sends   value, type, partition, offset; if known: process, start_ns, end_ns, topic
    reads   value, partition, offset;       if known: f, process, end_ns, topic

A value is text, a whole number or bytes; it is told apart as text, exactly: a number by its digits,
bytes by their hexadecimal digits. Where one table has texts and the other numbers, each text must
be a number as such a one is written (7, not 07), or equal values would differ.

In CSV only a value can be an empty text (`""`): elsewhere what is empty is null, quoted or not.

Other columns are not looked at. docs/tables.md describes them all.
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

from analysis.tables.opened import Opened, TableError

WHOLE, WORD, VALUE = "a whole number", "a text", "a text, a whole number or bytes"
# Column -> what it must be, and whether a table must have it.
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
    """A table with exactly its columns, of our types; those that it does not have are null."""

    name: str
    rows: DataFrame
    has: frozenset[str]
    texts: bool  # everything in it was text: CSV
    values: str  # texts | numbers | bytes
    # Columns of which some cell may be no whole number: `shown_<name>` is it as it was written.
    cells: tuple[str, ...]


def typed(opened: Opened, wanted: Mapping[str, tuple[str, bool]]) -> Typed:
    """A table's columns as they are checked. Raises TableError."""
    fields = _fields(opened, wanted)
    columns, cells = [], []
    for name, (kind, _) in wanted.items():
        if name not in fields:
            nothing = F.lit(None).cast(LongType() if kind == WHOLE else StringType())
            columns.append(nothing.alias(name))
            continue
        has, told = fields[name].dataType, F.col(f"`{fields[name].name}`")
        if opened.texts and name != "value":  # what quotes all has no other null
            told = F.nullif(told, F.lit(""))
        columns.append(_as(opened, name, kind, has, told).alias(name))
        if kind == WHOLE and not isinstance(has, IntegralType):
            columns.append(told.cast(StringType()).alias(f"shown_{name}"))
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
    """The columns that are there, by their names in small letters. Raises TableError."""
    fields = opened.rows.schema.fields
    names = [field.name.lower() for field in fields]
    missing = [name for name, (_, needed) in wanted.items() if needed and name not in names]
    if missing:
        there = ", ".join(field.name for field in fields[:20]) or "none"
        raise TableError(
            f"{opened.name}: it has no column {', '.join(missing)}; it has {there}: rename or add "
            "what is missing (`kafka-harness docs tables`)"
        )
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise TableError(f"{opened.name}: it has the column {twice[0]} twice: rename one of them")
    return dict(zip(names, fields, strict=True))


def is_no_number(name: str) -> Column:
    """Whether a cell is there and is no whole number."""
    return F.col(f"shown_{name}").isNotNull() & F.col(name).isNull()


def unlike(tables: Sequence[Typed]) -> None:
    """Refuse two tables whose values cannot be compared. Raises TableError."""
    sends, reads = tables
    if _BYTES in (sends.values, reads.values) and sends.values != reads.values:
        raise TableError(
            f"{reads.name}: its value holds {reads.values}, and that of {sends.name} "
            f"{sends.values}: make both the same"
        )


def no_number() -> Column:
    """Whether a value is no number as a column of numbers has it."""
    return ~F.col("value").rlike(_A_NUMBER)


def mixed(tables: Sequence[Typed]) -> Typed | None:
    """The table of texts where the other one has numbers."""
    by = {table.values: table for table in tables}
    return by[_TEXT] if by.keys() == {_TEXT, _NUMBER} else None


def _as(opened: Opened, name: str, kind: str, has: DataType, column: Column) -> Column:
    """A column as text or number. Raises TableError where it is of a type that means neither."""
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
