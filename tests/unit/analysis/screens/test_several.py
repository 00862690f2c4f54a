"""What Spark is given of suspects, few or many, is all of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from analysis.frames import schema
from analysis.screens.reduced import SCHEMA
from analysis.screens.several import _told, _written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def sends(*values: int) -> pa.Table:
    rows = [{"run_id": "told/1", "f": "send", "type": "ok", "value": value} for value in values]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("is_few", [True, False])
def test_suspects_of_a_run_after_one_that_has_none_are_given(
    spark: SparkSession, tmp_path: Path, *, is_few: bool
) -> None:
    give = _told if is_few else partial(_written, tmp_path / "left")
    given = give(spark, schema.OPERATIONS, SCHEMA, [sends(), sends(1, 2), sends(), sends(3)])

    assert given.schema == schema.OPERATIONS
    assert [("send", 1), ("send", 2), ("send", 3)] == sorted(
        (row.f, row.value) for row in given.collect()
    )


@pytest.mark.parametrize("is_few", [True, False])
def test_where_there_are_none_none_are_given(
    spark: SparkSession, tmp_path: Path, *, is_few: bool
) -> None:
    give = _told if is_few else partial(_written, tmp_path / "left")

    assert give(spark, schema.OPERATIONS, SCHEMA, []).collect() == []
