"""Recorded runs of real clusters, screened and with everything suspected: each word and row."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from analysis.checks.run_row import run_row
from analysis.job import job
from analysis.job.job import check
from analysis.screens.several import screens
from analysis.stored.stored_run import open_run
from harness.checkout import ROOT

GOLDEN = ROOT / "tests" / "golden"
NAMES = sorted(each.name for each in GOLDEN.iterdir() if each.is_dir())
MADE = ("report.json", "report.html", "junit.xml")
Folders = tuple[Path, Path]


@pytest.fixture(scope="module")
def both(golden_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The folders of the same runs, checked both ways."""
    plain = tmp_path_factory.mktemp("plain")
    for name in NAMES:
        shutil.copytree(GOLDEN / name, plain / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job, "screens", lambda *_: None)
        check([plain / name for name in NAMES])
    return golden_runs, plain


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_is_plain(name: str, tmp_path: Path) -> None:
    run = open_run(GOLDEN / name)

    assert screens([run], {run.run_id: run_row(run)}, tmp_path) is not None


@pytest.mark.parametrize("name", NAMES)
def test_reports_are_the_same_word_for_word(both: Folders, name: str) -> None:
    screened, plain = (folder / name for folder in both)

    assert json.loads((screened / MADE[0]).read_text()) == json.loads((plain / MADE[0]).read_text())
    for made in MADE:
        assert (screened / made).read_text() == (plain / made).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_the_same_row_for_row(both: Folders, name: str) -> None:
    screened, plain = (folder / name / "analysis" for folder in both)
    tables = sorted(each.name for each in plain.iterdir())

    assert tables == sorted(each.name for each in screened.iterdir())
    for table in tables:
        assert rows_of(screened / table) == rows_of(plain / table), table


def rows_of(table: Path) -> list[str]:
    """All rows of a table, in any order."""
    rows: list[dict[str, Any]] = ds.dataset(table, format="parquet").to_table().to_pylist()
    return sorted(map(repr, rows))
