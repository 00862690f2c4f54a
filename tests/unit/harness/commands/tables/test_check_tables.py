"""kafka-harness check --sends --reads: what is refused leaves nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.command_lines.run_and_judge import check
from harness.commands.tables import check_tables as command
from harness.commands.tables.check_tables import Asked, check_tables
from harness.foreign.folder import Wanted
from harness.history.record_format import HistoryError
from tests.support.two_tables.told import Story, sent, was_read

STORY = Story(sends=[sent("a", 0)], reads=[was_read("a", 0)])


def asked(folder: Path, name: str = "t", *, complete: bool = False, reads: str = "") -> Asked:
    """A check of those two tables."""
    files = STORY.files(folder)
    wanted = Wanted(name=name, results=folder / "results", command="check")
    return Asked(sends=files[0], reads=reads or files[1], complete=complete, wanted=wanted)


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
