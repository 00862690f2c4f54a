"""kafka-harness index: every run below a results folder is on its page, or named with a reason."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.look_at.index import write_index
from harness.model.runs.run_folder import DEPTH, StoreError, runs_below
from tests.support.pages import reports
from tests.support.pages.page_reader import reading


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return stored(tmp_path / "results", "study-1/20261121T021500Z-42").parents[1]


def stored(results: Path, place: str, report: str | None = "") -> Path:
    """A run's folder with a report (of its own: that text; None: without one)."""
    folder = results / place
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    if report is not None:
        (folder / "report.json").write_text(report or json.dumps(reports.valid().report))
    return folder


def indexed(results: Path) -> tuple[str, str]:
    """What the page says, and what the command printed."""
    console = Console(record=True, width=500, file=io.StringIO())
    page = write_index(results, console)
    return reading(page.read_text()).text, console.export_text()


def test_a_judged_run_is_on_the_page_with_links_from_there(results: Path) -> None:
    text, printed = indexed(results)
    addresses = reading((results / "index.html").read_text()).addresses

    assert "1 run: 1 valid" in text
    assert "1 judged" in printed
    assert "not shown" not in printed
    for address in ("report.json", "run.json"):
        assert f"study-1/20261121T021500Z-42/{address}" in addresses
        assert (results / "study-1/20261121T021500Z-42" / address).is_file()


def test_a_second_index_replaces_the_first_and_sees_new_runs(results: Path) -> None:
    indexed(results)
    stored(results, "study-1/20261122T021500Z-43")

    assert "2 runs: 2 valid" in indexed(results)[0]
    assert sorted(path.name for path in results.iterdir()) == ["index.html", "study-1"]


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (None, "not checked yet: `kafka-harness check"),
        ("{", "report.json cannot be read"),
        ('{"a": NaN}', "a is not a finite number"),
        ("[" * 9999, "nested too deeply"),
        ("{}", "is not what a report of this version has there"),
    ],
)
def test_a_damaged_run_is_one_line_and_the_others_are_shown(
    results: Path, report: str | None, reason: str
) -> None:
    stored(results, "damaged/20261121T021500Z-1", report)
    text, printed = indexed(results)

    assert reason in text
    assert "damaged/20261121T021500Z-1" in text
    assert "1 judged, 1 not shown" in printed


def test_a_report_that_is_a_link_or_a_pipe_is_not_opened(results: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps(reports.valid().report))
    linked, piped = (stored(results, f"{name}/x", None) for name in ("linked", "piped"))
    (linked / "report.json").symlink_to(tmp_path / "elsewhere.json")
    os.mkfifo(piped / "report.json")

    text, printed = indexed(results)

    assert text.count("report.json is a link or no file") == 2
    assert "1 judged, 2 not shown" in printed


def test_links_of_the_file_system_are_not_followed(results: Path, tmp_path: Path) -> None:
    stored(tmp_path / "outside", "study-2/x")
    (results / "latest").symlink_to("study-1/20261121T021500Z-42")
    (results / "study-1" / "latest").symlink_to("20261121T021500Z-42")
    (results / "away").symlink_to(tmp_path / "outside")

    assert len(list(runs_below(results))) == 1


def test_hidden_folders_and_those_far_below_hold_no_runs(results: Path) -> None:
    stored(results, ".trash/x")
    stored(results, "/".join("d" * (DEPTH + 1)))
    inside = stored(results, "/".join("e" * DEPTH))

    assert inside in set(runs_below(results))
    assert len(list(runs_below(results))) == 2


def test_what_a_run_holds_is_no_run_of_its_own(results: Path) -> None:
    stored(results, "study-1/20261121T021500Z-42/history")

    assert len(list(runs_below(results))) == 1


def test_without_a_results_folder_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results folder: make a run first"):
        indexed(tmp_path / "nowhere")


def test_a_name_of_any_kind_is_a_link_that_leads_to_its_folder(results: Path) -> None:
    stored(results, 'odd "name#1/<b>%41', None)
    indexed(results)
    page = (results / "index.html").read_text()

    assert "odd%20%22name%231/%3Cb%3E%2541/" in reading(page).addresses
    assert "<b>%41" not in page


def test_the_command_starts_neither_spark_nor_a_jvm(results: Path) -> None:
    """Not even imported: an index of a few runs takes a second."""
    code = (
        "import sys; from harness.cli import app; "
        f"app(['index', '--results', {str(results)!r}], standalone_mode=False); "
        "print([name for name in ('pyspark', 'plotly', 'py4j') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "[]"
    assert (results / "index.html").is_file()
