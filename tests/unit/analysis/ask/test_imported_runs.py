"""Questions to imported runs: texts beside numbers, and nothing that nobody told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import analysis
from analysis.ask.asked import Asked
from analysis.ask.stored_tables import AskError
from analysis.job.job import check
from harness.checkout import DOCS
from tests.support.foreign_lines import acked, assigned, began, ended, imported_pair, read
from tests.support.two_tables import TwoTables, at_the_end, run_of_tables, sent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = DOCS / "sample" / "study-1"
SENDS = [acked(10, "order 7", 0), acked(20, "order 8", 1), acked(30, "order 9", 1)]
BEGUN = [began(0, "order 7"), began(12, "order 8"), began(22, "order 9")]
READS = [assigned(100, 0), read(110, "order 7", 0), read(110, "order 9", 1), ended(120)]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without begins, one with them, and one without any time."""
    found = tmp_path_factory.mktemp("imported")
    begun = sorted([*BEGUN, *SENDS], key=lambda line: line["timestamp"])
    for name in ("unbegun", "begun"):
        (found / name).mkdir()
    runs = [
        imported_pair(found / "unbegun", SENDS, READS),
        imported_pair(found / "begun", begun, READS),
    ]
    timeless = TwoTables(sends=[sent("a", 0), sent("b", 1)], reads=[at_the_end("a", 0)])
    runs.append(run_of_tables(spark, found / "timeless", timeless))
    check([run.path for run in runs])
    return found


@pytest.fixture(scope="module")
def both(folder: Path) -> Iterator[Asked]:
    """All of them, and one of our own."""
    with analysis.open(*folder.glob("*/results"), SAMPLE) as asked:
        yield asked


def rows(asked: Asked, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in asked.sql(query).collect()]


def test_values_have_their_texts_and_those_of_our_own_runs_none(both: Asked) -> None:
    of_all = (
        "select scenario, text from {} v join runs r on r.run_id = v.run_id where {} order by 2"
    )

    for view, where in (("sends", "value = 1"), ("anomalies", "anomaly = 'lost' and value = 1")):
        found = rows(both, of_all.format(view, f"scenario = 'begun' and {where}"))
        assert found == [("begun", "order 8")], view
    read = rows(both, of_all.format("reads", "scenario = 'begun'"))
    assert read == [("begun", "order 7"), ("begun", "order 9")]
    own = "select count(*), count(text) from {} run_id like 'study-1/%'"
    assert rows(both, own.format("sends where")) == [(10_000, 0)]
    assert rows(both, own.format("anomalies where anomaly = 'lost' and")) == [(7, 0)]
    assert rows(both, "select count(*) from sends") == [(10_000 + 3 + 3 + 2,)]


def test_a_run_by_itself_says_the_same(folder: Path) -> None:
    with analysis.open(folder / "begun" / "results") as asked:
        found = rows(asked, "select value, text, start_s, took_ms from sends order by value")

    assert found == [
        (0, "order 7", 0.0, 10.0),
        (1, "order 8", 0.012, 8.0),
        (2, "order 9", 0.022, 8.0),
    ]


def test_what_nobody_told_is_null(both: Asked) -> None:
    query = (
        "select scenario, count(start_s), count(start_ns), count(intended_ns), count(took_ms), "
        "count({}), count(end_s) from {} v join runs r on r.run_id = v.run_id "
        "where scenario != 'study-1' group by 1 order by 1"
    )

    assert rows(both, query.format("due_ms", "sends")) == [
        ("begun", 3, 3, 3, 3, 3, 3),
        ("timeless", 0, 0, 0, 0, 0, 2),
        ("unbegun", 0, 0, 0, 0, 0, 3),
    ]
    took = query.replace("count(took_ms), ", "")
    assert rows(both, took.format("age_ms", "reads")) == [
        ("begun", 2, 2, 0, 0, 2),
        ("timeless", 0, 0, 0, 0, 0),
        ("unbegun", 2, 2, 0, 0, 2),
    ]
    evidence = "select r.scenario, count(sent_s), count(sent_ns) from anomalies a "
    evidence += "join runs r on r.run_id = a.run_id where anomaly = 'lost' group by 1 order by 1"
    found = {row[0]: row[1:] for row in rows(both, evidence)}
    assert (found["begun"], found["unbegun"], found["study-1"]) == ((1, 1), (0, 0), (7, 7))


def test_acks_that_nobody_told_are_null(both: Asked) -> None:
    found = dict(rows(both, "select scenario, acks from runs"))

    assert found == {"begun": None, "unbegun": None, "timeless": None, "study-1": "1"}


def test_texts_that_are_not_what_was_sealed_are_not_read(folder: Path, tmp_path: Path) -> None:
    found = next(folder.glob("begun/results/begun*/2*"))
    copied = Path(shutil.copytree(found, tmp_path / "copied"))
    file = copied / "history" / "values.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)

    with (
        analysis.open(copied) as asked,
        pytest.raises(AskError, match=r"values.parquet: it is not"),
    ):
        asked.sql("select text from sends")
