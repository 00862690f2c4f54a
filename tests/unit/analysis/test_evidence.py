"""Whole runs in git are judged as the ledgers have it; `make evidence` does all of them."""

from __future__ import annotations

import functools
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from analysis.studies import study
from harness.model.campaigns.ledger import read
from scripts import evidence

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FIVE = evidence.kept()[:5]
MOST_BYTES = 10_000_000


def test_five_of_them_are_judged_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    assert len(FIVE) == 5

    assert evidence.differences(FIVE, tmp_path, started=spark) == {}


def test_another_number_is_told(spark: SparkSession, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(FIVE[0], changed)
    report = json.loads((changed / "report.json").read_text())
    report["counts"]["acked"] += 1
    (changed / "report.json").write_text(json.dumps(report))

    told = evidence.differences([changed], tmp_path / "pages", started=spark)

    assert told == {"changed": ["report.json says something else"]}


def test_each_is_the_first_run_of_its_cell_or_one_that_the_page_tells_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = functools.cache(read)  # the ledger is large
    monkeypatch.setattr(evidence, "read", once)
    told = once(evidence.STUDY).standing
    rows = [*study.led_alone(told), *study.unanswered(told)]
    by_itself = {row["run"].replace("/", "-"): row["run"] for row in rows}
    kept = {
        folder.name: json.loads((folder / "run.json").read_text())["run_id"]
        for folder in evidence.kept()
    }

    firsts = {name: evidence.first_run(evidence.STUDY, name) for name in kept.keys() - by_itself}
    assert kept == firsts | by_itself
    assert len(firsts) == 20


def test_they_are_small_enough_for_git() -> None:
    files = [
        file for file in evidence.KEPT.rglob("*") if file.is_file() and file.name != evidence.PAGE
    ]

    assert all((evidence.KEPT / name / evidence.PAGE).is_file() for name in evidence.WITH_PAGES)
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
