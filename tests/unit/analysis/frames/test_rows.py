"""The types of rows have the columns of the tables that they are rows of."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from pyspark.sql.types import ArrayType, DataType, StructType

from analysis.frames import schema
from analysis.frames.steps import STEPS
from analysis.screens.readers import StepRow
from analysis.stored import fact_rows, table_rows
from harness.history.tables import REQUIRED, SMALL_TABLES

KINDS = {"bigint": int, "int": int, "string": str, "boolean": bool, "double": float}
STORED = {"int64": int, "int32": int, "string": str, "bool": bool, "list<string>": list[str]}
TABLES = {
    "events": table_rows.Event,
    "faults": table_rows.Fault,
    "views": table_rows.View,
    "blind": table_rows.Blind,
    "watermarks": table_rows.Watermark,
    "findings": table_rows.Finding,
}
# Events that have one of these always have it; of the others it is null (table_rows.Event).
OF_SOME_EVENTS = {"partition", "name", "transaction", "complete"}


def without_null(hint: Any) -> Any:
    """`int` of `int | None`."""
    if get_origin(hint) is not UnionType:
        return hint
    (kind,) = (each for each in get_args(hint) if each is not NoneType)
    return kind


def has(kind: DataType) -> Any:
    """What a field of a schema has in Python; of a struct its fields."""
    if isinstance(kind, ArrayType):
        return [has(kind.elementType)]
    if isinstance(kind, StructType):
        return {field.name: has(field.dataType) for field in kind.fields}
    return KINDS[kind.simpleString()]


def says(hint: Any) -> Any:
    """The same of the type of a row or of one of its columns."""
    kind = without_null(hint)
    if is_typeddict(kind):
        return {name: says(each) for name, each in get_type_hints(kind).items()}
    if get_origin(kind) is list:
        return [says(get_args(kind)[0])]
    return kind


def test_the_facts_of_a_run_are_a_row_of_the_schema_with_all_that_is_inside() -> None:
    assert says(fact_rows.RunRow) == has(schema.RUNS)


def test_a_step_that_the_screen_found_is_a_row_of_the_steps_of_spark() -> None:
    assert says(StepRow) == {name: kind for name, kind in has(STEPS).items() if name != "run_id"}


@pytest.mark.parametrize("table", TABLES)
def test_the_rows_of_a_small_table_have_its_columns(table: str) -> None:
    hints = get_type_hints(TABLES[table])

    assert {name: without_null(hint) for name, hint in hints.items()} == {
        name: STORED[kind] for name, kind in SMALL_TABLES[table]
    }


@pytest.mark.parametrize("table", TABLES)
def test_what_sealing_always_writes_is_no_null_and_all_else_may_be_one(table: str) -> None:
    hints = get_type_hints(TABLES[table])
    never = {name for name, hint in hints.items() if get_origin(hint) is not UnionType}

    assert never == {*REQUIRED[table], *(OF_SOME_EVENTS if table == "events" else ())}


def test_every_small_table_that_is_judged_has_a_type() -> None:
    assert TABLES.keys() == SMALL_TABLES.keys() - {"kept"}  # which stories read as columns
