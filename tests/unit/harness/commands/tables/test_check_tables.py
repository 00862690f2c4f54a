"""kafka-harness check --sends --reads: what is refused leaves nothing."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from analysis.remote import shared_place
from analysis.stored.run_files import CheckError
from analysis.tables.numbered import Numbered
from harness.commands.check import check
from harness.commands.tables import check_tables as command
from harness.commands.tables.check_tables import Asked, check_tables
from harness.foreign.imported_run import ImportRequest
from harness.history.record_format import HistoryError
from harness.host.machine import HostError
from harness.model.runs.run_folder import StoreError
from tests.support.two_tables import TwoTables, sent, was_read

STORY = TwoTables(sends=[sent("a", 0)], reads=[was_read("a", 0)])


def asked(folder: Path, name: str = "t", *, reads: str = "", master: str | None = None) -> Asked:
    """A check of those two tables."""
    files = STORY.files(folder)
    request = ImportRequest(name=name, results=folder / "results", command="check")
    return Asked(
        sends=files[0], reads=reads or files[1], complete=False, request=request, master=master
    )


def refusal(of: Asked) -> str:
    with pytest.raises(HistoryError) as refused:
        check_tables(of, Console(file=io.StringIO()))
    return str(refused.value)


def test_a_name_that_is_no_folder_s_is_refused_before_spark_starts(tmp_path):
    assert refusal(asked(tmp_path, "../t")).startswith("--name ../t: give a word")


def test_tables_that_cannot_be_checked_leave_nothing(spark, tmp_path):
    del spark

    assert "no.csv: there is no such file" in refusal(asked(tmp_path, reads="no.csv"))
    assert not (tmp_path / "results").exists()


def test_what_fails_while_it_is_written_leaves_no_run(spark, tmp_path, monkeypatch):
    del spark

    def fails(*_: object) -> None:
        raise HistoryError("no room")

    monkeypatch.setattr(command, "_write", fails)

    assert "no room" in refusal(asked(tmp_path))
    assert [] == [file for file in (tmp_path / "results").rglob("*") if file.is_file()]


@pytest.mark.parametrize(
    "part", ["operations/process=producer", "operations/process=reader", "values"]
)
def test_rows_that_executors_wrote_to_another_disk_are_missed(spark, tmp_path, monkeypatch, part):
    """Spark says that it has written them, and they are not here."""
    del spark
    write = command._write

    def elsewhere(history: Numbered, scratch: Path) -> int:
        values = write(history, scratch)
        shutil.rmtree(scratch / part)
        return values

    monkeypatch.setattr(command, "_write", elsewhere)
    refused = refusal(asked(tmp_path))

    assert f"{part.rpartition('=')[2]}: Spark wrote 1 rows, and 0 are found: its exec" in refused
    assert not (tmp_path / "results").exists()


def test_executors_that_do_not_see_the_results_are_told_before_anything_is_read(
    spark, tmp_path, monkeypatch
):
    """Of folders that are not there yet the one in which they will be is tried."""
    tried: list[Path] = []

    def unseen(_: SparkSession, folders: Sequence[Path]) -> None:
        tried.extend(folders)
        raise CheckError("not seen")

    monkeypatch.setattr(shared_place, "is_local", lambda _: False)
    monkeypatch.setattr(shared_place, "require_shared", unseen)
    with pytest.raises(StoreError, match="do not see this folder: give a --results folder that t"):
        check_tables(asked(tmp_path, reads="no.csv"), Console(file=io.StringIO()))

    assert [tmp_path] == tried
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("master", "kind", "words"),
    [
        ("bogus", StoreError, "--master bogus: no URL of a Spark cluster: give spark://HOST:PORT"),
        ("spark://127.0.0.1:1", HostError, "--master spark://127.0.0.1:1: nothing answers there"),
    ],
)
def test_a_master_is_looked_at_before_spark_starts(tmp_path, master, kind, words):
    with pytest.raises(kind, match=words):
        check_tables(asked(tmp_path, master=master), Console(file=io.StringIO()))

    assert not (tmp_path / "results").exists()


def test_a_store_that_does_not_answer_is_no_wrong_argument(spark, tmp_path):
    spark.sparkContext._jsc.hadoopConfiguration().set("ipc.client.connect.max.retries", "0")

    with pytest.raises(HostError, match=r"^hdfs://127.0.0.1:1/t: cannot be reached"):
        check_tables(asked(tmp_path, reads="hdfs://127.0.0.1:1/t"), Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give runs, or --sends and --reads, or --write-job"),
        ({"runs": ["x"], "sends": "s"}, "give runs, or --sends and --reads, or --write-job"),
        ({"sends": "s"}, "give both, --sends and --reads"),
        ({"runs": ["x"], "complete": True}, "go with --sends and --reads"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options, words):
    with pytest.raises(Exception, match=words):
        check(**options)
