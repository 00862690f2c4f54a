"""What Spark is given of suspects, few or many, is all of them; of some runs it is everything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from analysis.checks.run_row import run_row
from analysis.frames import schema
from analysis.remote import shared_place
from analysis.remote.shared_place import SharedPlace
from analysis.screens.reduced import SCHEMA
from analysis.screens.several import screens
from analysis.stored.stored_run import open_run
from tests.support.histories import Part, final_read, sent, story
from tests.support.story_runs import write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sends(*values: int) -> pa.Table:
    rows = [{"run_id": "told/1", "f": "send", "type": "ok", "value": value} for value in values]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.jvm
@pytest.mark.parametrize("few", [shared_place.FEW, 0])
def test_suspects_of_a_run_after_one_that_has_none_are_given(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(shared_place, "FEW", few)
    place, tables = SharedPlace(folder=tmp_path / "left"), [sends(), sends(1, 2), sends(), sends(3)]
    given = place.give(spark, schema.OPERATIONS, tables, rows=3)

    assert given.schema == schema.OPERATIONS
    assert [("send", 1), ("send", 2), ("send", 3)] == sorted(
        (row.f, row.value) for row in given.collect()
    )
    assert (tmp_path / "left").exists() == (few == 0)


@pytest.mark.jvm
def test_where_there_are_none_none_are_given(spark: SparkSession, tmp_path: Path) -> None:
    place = SharedPlace(folder=tmp_path / "left")

    assert place.give(spark, schema.OPERATIONS, [sends()], rows=0).collect() == []


def are_screened(folder: Path, *parts: Part, **record: object) -> bool:
    run = open_run(write_story(story(*parts, **record), folder / "run", "told/1"))
    return screens([run], {run.run_id: run_row(run)}, folder) is not None


def test_runs_of_transformers_are_not_screened(tmp_path: Path) -> None:
    """Outputs are linked to what others sent."""
    assert are_screened(tmp_path / "a", sent(1, at=0), final_read(1))
    assert not are_screened(tmp_path / "b", sent(1, at=0), final_read(1), transformers=1)
