"""Runs that a Spark cluster is asked about: what is wrong with it is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import analysis
from analysis.ask.stored_tables import AskError
from analysis.remote.trouble import Unreachable
from bench.ask import copy_run
from harness.checkout import DOCS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = DOCS / "sample" / "study-1"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A checked run that a test may spoil."""
    return copy_run(SAMPLE, tmp_path / "one", "copies/one")


def test_a_folder_that_executors_do_not_see_is_told_with_a_remedy(
    spark: SparkSession, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark says of a file that is here that it does not exist."""
    with analysis.open(copied) as asked:
        asked.sends.createOrReplaceTempView("sends")
        (copied / "history" / "operations" / "write-read-0.parquet").unlink()
        monkeypatch.setattr("analysis.ask.asked.is_local", lambda _: False)
        with pytest.raises(AskError) as refused:
            asked.pandas("select count(*) from sends")

    assert str(refused.value) == (
        f"{copied}: the executors of {spark.sparkContext.master} do not see this folder: put it "
        "where they see it under the same path, or ask without --master"
    )


@pytest.mark.parametrize(
    ("master", "kind", "words"),
    [
        ("bogus", AskError, "--master bogus: no URL of a Spark cluster"),
        ("spark://127.0.0.1:1", Unreachable, "nothing answers there"),
    ],
)
def test_a_master_is_looked_at_before_spark_starts(
    master: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        analysis.open(SAMPLE, master=master)
