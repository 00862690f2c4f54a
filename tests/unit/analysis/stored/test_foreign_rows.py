"""A file of operations with rows of another run among its own is never judged as one run's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.stored.run_files import CheckError
from tests.support.histories import final_read, sent, story
from tests.support.story_runs import checked, operation_rows, write_rows, write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN_ID = "told/run"
STORY = story(sent(1, at=0), final_read(1))


def said(run: Path) -> str:
    """What the check says: its refusal, or why the run is unknown."""
    try:
        (report,) = checked([run])
    except CheckError as error:
        return str(error)
    assert report["verdict"] == "unknown"
    return " ".join(report["reasons"])


@pytest.mark.parametrize("other", ["told/earlier", "told/ruo"])
def test_rows_of_two_runs_in_one_file_are_named(
    spark: SparkSession, tmp_path: Path, other: str
) -> None:
    """Whether the other run's name comes before the run's own or after it."""
    run = write_story(STORY, tmp_path / "run", RUN_ID)
    own, foreign = (
        [row for row in operation_rows(STORY, run_id) if row["process"] == "producer-0"]
        for run_id in (RUN_ID, other)
    )
    numbered = [{**row, "id": number} for number, row in enumerate([*own, *foreign])]
    write_rows(run / "history/operations/producer-0.parquet", numbered)

    assert "producer-0" in said(run)


def test_rows_of_its_own_run_are_no_reason(spark: SparkSession, tmp_path: Path) -> None:
    """The twin: the same file, written in the same way."""
    run = write_story(STORY, tmp_path / "run", RUN_ID)
    own = [row for row in operation_rows(STORY, RUN_ID) if row["process"] == "producer-0"]
    numbered = [{**row, "id": number} for number, row in enumerate(own)]
    write_rows(run / "history/operations/producer-0.parquet", numbered)

    (report,) = checked([run])
    assert not any("producer-0" in reason for reason in report["reasons"])
