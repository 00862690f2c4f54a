"""Stored runs answer one query, over views; what cannot be asked is one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.parquet as pq
import pytest

import analysis
from analysis.ask.asked import Asked
from analysis.ask.one_query import near
from analysis.ask.stored_tables import AskError
from analysis.ask.views import VIEWS
from analysis.frames import schema
from bench.ask import copy_run
from harness.checkout import DOCS, ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = DOCS / "sample" / "study-1"
GOLDEN = ROOT / "tests" / "golden"
REPORT = json.loads((SAMPLE / "report.json").read_text())
RUN_ID = REPORT["run_id"]


@pytest.fixture(scope="module")
def sample(spark: SparkSession) -> Iterator[Asked]:
    with analysis.open(SAMPLE) as asked:
        yield asked


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A checked run that a test may spoil, below a folder of its own."""
    return copy_run(SAMPLE, tmp_path / "runs" / "one", "copies/one")


def count(asked: Asked, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in asked.sql(query).collect()]


# --- the views


def test_views_count_what_the_tables_have(sample: Asked) -> None:
    stored = pq.read_table(SAMPLE / "history" / "operations").to_pandas()
    read = stored["f"].isin(["read", "final-read"])

    assert sample.operations.count() == len(stored)
    assert sample.sends.count() == (stored["f"] == "send").sum()
    assert sample.reads.count() == read.sum()
    assert sample.faults.count() == 10
    assert (
        sample.anomalies.where("anomaly = 'lost'").count() == (REPORT["anomalies"]["lost"]["count"])
    )
    assert sample.windows.count() == pq.read_table(SAMPLE / "analysis" / "windows.parquet").num_rows


def test_every_view_has_run_id_and_none_the_begin_of_the_load_in_a_row_of_its_own(
    sample: Asked,
) -> None:
    for name in VIEWS:
        columns = sample.view(name).columns

        assert "run_id" in columns, name
        assert len(columns) == len(set(columns)), name
        assert ("begin_ns" in columns) is (name == "runs")


def test_a_send_has_the_seconds_and_milliseconds_of_its_nanoseconds(sample: Asked) -> None:
    [run] = sample.runs.collect()
    [send] = sample.sends.where("value = 1504").collect()

    assert send["start_s"] == round((send["start_ns"] - run["begin_ns"]) / 1e9, 6)
    assert send["took_ms"] == round((send["end_ns"] - send["start_ns"]) / 1e6, 3)
    assert run["verdict"] == "valid"
    assert run["run_id"] == RUN_ID


def test_leaders_follow_one_another_without_a_gap(sample: Asked) -> None:
    rows = sample.leaders.orderBy("from_ns").collect()

    assert [row["leader"] for row in rows[:4]] == ["kafka1", "kafka2", None, "kafka1"]
    assert [row["to_ns"] for row in rows[:-1]] == [row["from_ns"] for row in rows[1:]]
    assert rows[-1]["to_ns"] is None


def test_a_transaction_ended_as_was_told_last(spark: SparkSession) -> None:
    rows = [
        ("r", "p", 10, "transaction", "begun", 0, 0),
        ("r", "p", 20, "transaction", "commit-asked", 0, 0),
        ("r", "p", 30, "transaction", "committed", 0, 0),
        ("r", "p", 40, "transaction", "begun", 1, 0),
        ("r", "p", 50, "start", None, None, 0),
    ]
    kinds = "run_id string, process string, time_ns long, event string, name string, "
    told = spark.createDataFrame(rows, kinds + "transaction int, begin_ns long")
    made = VIEWS["transactions"].made(told.withColumn("instance", told["transaction"]))

    found = made.select("transaction", "outcome", "begun_ns", "ended_ns").orderBy("transaction")
    assert [tuple(row) for row in found.collect()] == [
        (0, "committed", 10, 30),
        (1, "begun", 40, 40),
    ]


def test_pandas_has_the_same(sample: Asked) -> None:
    found = sample.pandas("select type, count(*) as n from sends group by type")

    assert isinstance(found, pd.DataFrame)
    assert found.to_dict("records") == [{"type": "ok", "n": 10_000}]


def test_several_runs_are_one_table(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        copy_run(SAMPLE, tmp_path / f"{number}", f"copies/{number}")

    with analysis.open(tmp_path) as asked:
        found = count(asked, "select run_id, count(*) from sends group by 1 order by 1")
        first = count(asked, "select run_id, min(start_s) from sends group by 1 order by 1")

    assert found == [(f"copies/{number}", 10_000) for number in range(3)]
    assert len({seconds for _, seconds in first}) == 1


def test_a_run_that_was_named_twice_is_asked_once(spark: SparkSession, copied: Path) -> None:
    (copied.parent / "latest").symlink_to(copied.name)

    with analysis.open(copied, copied.parent / "latest", copied.parent) as asked:
        assert count(asked, "select count(*) from runs") == [(1,)]


def test_nothing_is_written_into_the_runs_folder(spark: SparkSession, copied: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in copied.rglob("*"))

    with analysis.open(copied) as asked:
        for name in VIEWS:
            asked.view(name).count()

    assert before == sorted((path, path.stat().st_mtime_ns) for path in copied.rglob("*"))


def test_views_of_others_are_neither_seen_nor_replaced(spark: SparkSession, sample: Asked) -> None:
    spark.range(7).createOrReplaceTempView("sends")
    spark.range(7).createOrReplaceTempView("mine")

    assert count(sample, "select count(*) from sends") == [(10_000,)]
    with pytest.raises(AskError, match="no view 'mine'"):
        sample.sql("select * from mine")
    assert spark.sql("select count(*) from sends").collect()[0][0] == 7
    assert spark.sql("select reflect('java.lang.Math', 'abs', 1)").collect()


# --- one query, and nothing else


@pytest.mark.parametrize(
    "query",
    [
        "drop view sends",
        "create table x as select 1",
        "create table x (a int) using csv location '/tmp/x'",
        "create temporary view x as select 1",
        "create function f as 'java.lang.Math'",
        "insert into x select 1",
        "with w as (select 1) insert into x select * from w",
        "from sends insert into a select 1 insert into b select 2",
        "insert overwrite directory '/tmp/x' using csv select 1",
        "insert overwrite local directory '/tmp/x' select * from sends",
        "select transform(value) using 'touch /tmp/x' from sends",
        "cache table sends",
        "set spark.sql.runSQLOnFiles = true",
        "add jar '/tmp/x.jar'",
        "execute immediate 'drop view sends'",
        "begin drop view sends; end",
        "declare x int",
        "explain select 1",
        "show tables",
        "delete from sends",
        "truncate table sends",
        "merge into sends using reads on true when matched then delete",
    ],
)
def test_what_is_no_query_is_refused(sample: Asked, query: str) -> None:
    with pytest.raises(AskError, match="only one query can be asked"):
        sample.sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "select 1; drop view sends",
        "select * from parquet.`/etc`",
        "select * from csv.`/etc/passwd`",
        "select (select max(value) from text.`/etc/passwd`)",
        "select * from stored_operations",
        "select reflect('java.lang.System', 'exit', 0)",
        "select java_method('java.lang.System', 'exit', 0)",
        "select try_reflect('java.lang.System', 'exit', 0)",
        "select system.builtin.reflect('java.lang.System', 'exit', 0)",
        "select count(*) from sends where value in (select reflect('java.lang.System', 'exit', 0))",
    ],
)
def test_what_would_leave_the_views_is_refused(sample: Asked, query: str) -> None:
    with pytest.raises(AskError):
        sample.sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select value from sends), b as (select * from a) select count(*) from b",
        "select count(*) from sends where value in (select value from anomalies)",
        "select (select max(end_s) from sends), explode(nodes) from faults",
        "select f.fault, n from faults f lateral view explode(nodes) t as n",
        "select * from (select type from sends) pivot (count(*) for type in ('ok', 'fail'))",
        "select sum(value) over w from sends window w as (partition by type) limit 3 offset 2",
        "select type from sends union select 'x' except select 'ok' intersect select 'x'",
        "select type, count(*) from sends group by rollup(type) having count(*) > 1 order by all",
        "select value from sends qualify row_number() over (order by value) = 1",
        "select * from range(3) r, lateral (select r.id + 1), values (1) as v(x)",
        "from sends |> where value > 3 |> aggregate count(*)",
        "table faults",
        "select '${env:HOME}', /* a comment; */ 'drop table x'",
        "SELECT COUNT(*) FROM Sends;",
    ],
)
def test_a_query_may_be_anything_that_reads(sample: Asked, query: str) -> None:
    assert sample.sql(query).collect()


def test_variables_are_not_replaced(sample: Asked) -> None:
    assert count(sample, "select '${env:HOME}'") == [("${env:HOME}",)]


# --- sentences


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("selec 1", "the query cannot be read: Syntax error at or near 'selec'"),
        ("select start_n from sends", "no column 'start_n' (near it: start_"),
        ("select s.tok_ms from sends s", "no column 'tok_ms' (near it: took_ms"),
        ("select * from sendz", "no view 'sendz' (near it: sends"),
        ("select type, count(*) from sends", "the query cannot be asked: "),
        ("select lenth(type) from sends", "no function 'lenth'"),
        ("select cast(type as int) from sends", "the query cannot be answered: The value 'ok'"),
    ],
)
def test_a_wrong_query_is_one_sentence(sample: Asked, query: str, said: str) -> None:
    with pytest.raises(AskError) as raised:
        sample.pandas(query)

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "SQLSTATE" not in str(raised.value)


def test_near_names_are_the_nearest() -> None:
    assert near("ackd_ns", ["acked_ns", "acked_s", "leader"]) == " (near it: acked_ns, acked_s)"
    assert near("zzz", ["acked_ns"]) == ""


# --- runs that cannot be asked


def test_a_run_that_is_not_checked_has_a_history_and_no_anomalies(spark: SparkSession) -> None:
    with analysis.open(GOLDEN / "leader-stopped") as asked:
        assert asked.sends.count() == 973
        assert asked.runs.collect()[0]["verdict"] is None
        with pytest.raises(AskError, match=r"not checked yet.*`kafka-harness check .*` first"):
            asked.sql("select * from anomalies")


def test_below_a_folder_it_is_left_out_and_said(spark: SparkSession, copied: Path) -> None:
    shutil.copytree(GOLDEN / "leader-stopped", copied.parent / "unchecked")

    with analysis.open(copied.parent) as asked:
        assert count(asked, "select count(*) from runs") == [(2,)]
        assert asked.left_out == []
        assert count(asked, "select count(distinct run_id) from windows") == [(1,)]
        assert ["not checked yet" in each for each in asked.left_out] == [True]


def test_a_run_that_is_not_sealed_says_what_to_do(spark: SparkSession, copied: Path) -> None:
    (copied / "history" / "sealed.json").unlink()

    with pytest.raises(AskError, match="not sealed yet: `kafka-harness check "):
        analysis.open(copied)


def test_a_table_that_was_changed_is_not_read(spark: SparkSession, copied: Path) -> None:
    file = copied / "history" / "faults.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)

    with analysis.open(copied) as asked:
        assert asked.sends.count() == 10_000
        with pytest.raises(AskError, match=r"faults.parquet: it is not the table that was sealed"):
            asked.sql("select * from faults")


@pytest.mark.parametrize("name", ["history/operations", "history/views.parquet", "analysis"])
def test_what_is_behind_a_link_is_not_read(
    spark: SparkSession, copied: Path, tmp_path: Path, name: str
) -> None:
    (copied / name).rename(tmp_path / "elsewhere")
    (copied / name).symlink_to(tmp_path / "elsewhere")

    with analysis.open(copied) as asked, pytest.raises(AskError, match="link"):
        asked.sql("select * from sends, leaders, anomalies")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.json", "[]"),
        ("run.json", "{"),
        (
            "run.json",
            '{"run_id": "copies/other", "scenario": 1, "seed": 1, "backend": 1, "state": 1}',
        ),
        ("history/sealed.json", "{}"),
    ],
)
def test_a_spoiled_record_is_one_sentence(
    spark: SparkSession, copied: Path, name: str, text: str
) -> None:
    (copied / name).write_text(text)

    with pytest.raises(AskError, match=str(copied)):
        analysis.open(copied)


@pytest.mark.parametrize("text", ["", "[]", '{"run_id": 7}', '{"run_id": "copies/one"}'])
def test_a_spoiled_report_is_one_sentence(spark: SparkSession, copied: Path, text: str) -> None:
    (copied / "report.json").write_text(text)

    with analysis.open(copied) as asked, pytest.raises(AskError, match="makes it anew"):
        asked.sql("select * from runs")


def test_a_record_with_other_words_is_one_sentence(spark: SparkSession, copied: Path) -> None:
    record = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(json.dumps({**record, "phases": [{"name": "load"}]}))

    with analysis.open(copied) as asked, pytest.raises(AskError, match="not the record of a run"):
        asked.sql("select * from sends")


def test_two_folders_of_one_run_are_not_added_up(spark: SparkSession, copied: Path) -> None:
    shutil.copytree(copied, copied.parent / "two")

    with pytest.raises(AskError, match="are the same run copies/one"):
        analysis.open(copied, copied.parent / "two")


def test_no_run_is_no_empty_answer(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AskError, match="no run there"):
        analysis.open(tmp_path)


def test_a_run_without_any_lost_record_has_no_rows(spark: SparkSession, copied: Path) -> None:
    report = json.loads((copied / "report.json").read_text())
    for found in report["anomalies"].values():
        found["count"] = 0
    (copied / "report.json").write_text(json.dumps(report))

    with analysis.open(copied) as asked:
        assert asked.anomalies.count() == 0
        assert asked.anomalies.columns == [*schema.EVIDENCE.names, "text"]
