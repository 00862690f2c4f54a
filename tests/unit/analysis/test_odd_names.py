"""Runs in folders with odd names, and with odd ids, are judged by their own files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.job import job
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from tests.support.histories import final_read, found, sent, story
from tests.support.story_runs import checked, write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = story(sent(1, at=0), sent(2, at=1), final_read(1, 2))
ONE_LOST = story(sent(1, at=0), sent(2, at=1), final_read(1))
PATTERNS = {"run[1]": "run1", "run?": "run2", "*": "run3", "{a,b}": "a", "back\\slash": "slash"}


def test_a_folder_s_name_is_no_pattern_of_others(spark: SparkSession, tmp_path: Path) -> None:
    """Each has a neighbour that its name, as a pattern, would mean: that one is whole."""
    runs, twins = [], []
    for number, (name, neighbour) in enumerate(PATTERNS.items()):
        runs.append(write_story(ONE_LOST, tmp_path / str(number) / name, f"told/{number}"))
        twins.append(write_story(WHOLE, tmp_path / str(number) / neighbour, f"told/twin-{number}"))
    reports = checked([*runs, *twins])

    lost = [found(report, "lost") for report in reports]
    assert dict(zip(PATTERNS, lost, strict=False)) == {name: [2] for name in PATTERNS}
    assert lost[len(runs) :] == [[]] * len(twins)
    counts = [(each["counts"]["sends"], each["counts"]["final_read_records"]) for each in reports]
    assert counts == [(2, 1)] * len(runs) + [(2, 2)] * len(twins)


def test_what_cannot_be_opened_any_more_is_one_sentence(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here somebody takes a file away between two looks."""

    def opened_and_gone(path: Path) -> Run:
        run = open_run(path)
        run.tables[0].unlink()
        return run

    monkeypatch.setattr(job, "open_run", opened_and_gone)

    with pytest.raises(CheckError, match="its history cannot be read"):
        checked([write_story(WHOLE, tmp_path / "run", "told/run")])


def test_the_evidence_of_a_run_is_found_whatever_its_id(
    spark: SparkSession, tmp_path: Path
) -> None:
    ids = [f"{50 * 'long'}/{50 * 'long'}", "told/\u00fcmlaut", "a=b/%2F"]
    runs = [write_story(ONE_LOST, tmp_path / str(n), run_id) for n, run_id in enumerate(ids)]
    reports = checked(runs)

    assert [found(report, "lost") for report in reports] == [[2]] * len(ids)


def test_a_run_without_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="run_id is empty"):
        checked([write_story(ONE_LOST, tmp_path / "run", "")])
