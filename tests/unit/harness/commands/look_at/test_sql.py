"""`kafka-harness sql`: formats, limits, and what is said where nothing can be asked."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from harness.checkout import DOCS, ROOT
from harness.commands.look_at.sql import Question, answer
from harness.model.runs.run_folder import StoreError
from tests.support.commands import COMMAND, called

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = DOCS / "sample" / "study-1"
TYPES = """
select 1 as n, null as nothing, true as yes, double('nan') as nan, array('a', null) as list,
named_struct('a', 1) as struct, 'a,"b' as text, date'2026-11-24' as day, 1.50 as decimal
"""


def asked(query: str, **more: Any) -> str:
    shown = io.StringIO()
    known = {"runs": [str(SAMPLE)], "results": Path("results"), **more}
    answer(Question(query=query, **known), Console(file=shown, width=200, highlight=False))
    return shown.getvalue()


def test_a_table_shows_the_first_rows_and_says_so(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = asked("select value from sends order by value", limit=3)

    assert [line.strip() for line in shown.splitlines()] == ["value", "0", "1", "2"]
    assert capsys.readouterr().err == "the first 3 rows; --limit 0 shows all\n"


def test_a_table_of_all_rows_says_nothing(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(asked("select value from sends where value < 100").splitlines()) == 101
    assert len(asked("select value from sends", limit=0).splitlines()) == 10_001
    assert capsys.readouterr().err == ""


def test_what_steers_a_terminal_is_shown_instead(spark: SparkSession) -> None:
    assert r"a\x1b[2J[bold]b" in asked("select concat('a', char(27), '[2J[bold]b') as x")


def test_csv_has_a_head_and_all_rows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(TYPES, form="csv")
    [head, row] = csv.reader(io.StringIO(capsys.readouterr().out))

    assert head == ["n", "nothing", "yes", "nan", "list", "struct", "text", "day", "decimal"]
    assert row == [
        *("1", "", "true", "nan", '["a", null]', '{"a": 1}'),
        *('a,"b', "2026-11-24", "1.50"),
    ]


def test_json_lines_are_objects(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    asked(TYPES, form="jsonl")

    assert json.loads(capsys.readouterr().out) == {
        "n": 1,
        "nothing": None,
        "yes": True,
        "nan": None,
        "list": ["a", None],
        "struct": {"a": 1},
        "text": 'a,"b',
        "day": "2026-11-24",
        "decimal": "1.50",
    }


def test_programs_get_all_rows_unless_they_say_how_many(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    asked("select value from sends", form="csv")
    assert len(capsys.readouterr().out.splitlines()) == 10_001
    asked("select value from sends", form="jsonl", limit=5)
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_json_lines_lose_no_column(spark: SparkSession) -> None:
    with pytest.raises(StoreError, match="two columns are named 'x'"):
        asked("select 1 as x, 2 as x", form="jsonl")


def test_what_fails_while_it_is_printed_is_one_sentence(spark: SparkSession) -> None:
    with pytest.raises(StoreError, match="the query cannot be answered: Division by zero"):
        asked("select 1 / (value - value) from sends", form="csv")


def test_a_run_is_found_by_its_scenario_and_all_below_results_without_one(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "study-1" / "one")
    (tmp_path / "study-1" / "latest").symlink_to("one")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")

    assert "10000" in asked("select count(*) from sends", runs=["study-1"], results=tmp_path)
    assert capsys.readouterr().err == ""
    assert "10000" in asked("select count(*) from sends", runs=[], results=tmp_path)
    assert capsys.readouterr().err.startswith("left out: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "select 1"), "nowhere: no run there: give the folder that holds a run.json"),
        (("select 1",), "results: no results folder"),
        (("--results", ".", "select 1"), ".: no run there that can be asked"),
        (("",), "no query: give one behind the runs"),
        ((str(SAMPLE),), "no query: give one behind the runs"),
        (("--results", str(SAMPLE.parent), "study-1"), "no query: give one behind the runs"),
        (("s3a://bucket/run", "select 1"), "s3a://bucket/run: only folders can be asked: copy"),
        (
            ("--master", "bogus", str(SAMPLE), "select 1"),
            "--master bogus: no URL of a Spark cluster: give spark://HOST:PORT",
        ),
        ((), "Missing argument '[RUN]... QUERY'"),
    ],
)
def test_where_nothing_can_be_asked_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """And no JVM is started for it."""
    monkeypatch.chdir(tmp_path)

    done = called("sql", *arguments)

    assert (254, "") == (done.code, done.out)
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_cluster_that_does_not_answer_is_not_the_question_s_fault() -> None:
    done = called("sql", "--master", "spark://127.0.0.1:1", SAMPLE, "select 1")

    assert (255, "") == (done.code, done.out)
    assert "--master spark://127.0.0.1:1: nothing answers there: is the Spark" in done.err
    assert done.err.count("\n") == 1


def test_a_folder_may_be_named_by_its_uri(spark: SparkSession) -> None:
    assert "10000" in asked("select count(*) from sends", runs=[f"file://{SAMPLE}"])


WITHOUT_SPARK = """
from pyspark.sql import SparkSession
from harness.cli import main
SparkSession.Builder.getOrCreate = None
main()
"""


@pytest.mark.jvm
def test_the_command_itself_answers_refuses_before_spark_starts_and_ends_quietly_for_head() -> None:
    command = [*COMMAND, "sql", str(SAMPLE)]
    without_spark = [sys.executable, "-c", WITHOUT_SPARK, "sql", str(SAMPLE)]
    refused = subprocess.run(
        [*without_spark, "selec 1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    with subprocess.Popen(
        [*command, "--format", "csv", "select * from operations"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as read:
        assert read.stdout is not None
        assert read.stderr is not None
        first = read.stdout.readline()
        read.stdout.close()
        said = read.stderr.read()

    assert (254, "") == (refused.returncode, refused.stdout)
    why = "Syntax error at or near 'selec' (line 1, pos 0)"
    assert refused.stderr == f"kafka-harness: the query cannot be read: {why}\n"
    assert first.startswith("run_id,process,id,f,type,")
    assert ("", 0) == (said, read.returncode)
