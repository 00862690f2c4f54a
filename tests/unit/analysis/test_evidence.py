"""Whole runs in git are judged as the ledgers have it; `make evidence` does all of them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

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


def test_each_is_the_first_run_of_its_cell() -> None:
    firsts = {
        folder.name: json.loads((folder / "run.json").read_text())["run_id"]
        for folder in evidence.kept()
    }

    assert firsts == {name: evidence.first_run(evidence.STUDY, name) for name in firsts}


def test_they_are_twenty_and_small_enough_for_git() -> None:
    files = [
        file for file in evidence.KEPT.rglob("*") if file.is_file() and file.name != evidence.PAGE
    ]

    assert len(evidence.kept()) == 20
    assert all((evidence.KEPT / name / evidence.PAGE).is_file() for name in evidence.WITH_PAGES)
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
