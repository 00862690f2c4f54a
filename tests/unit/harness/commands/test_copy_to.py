"""Runs are copied to a second place, whole, and a place that cannot be used is told before."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from harness.commands import copy_to
from harness.model.runs import run_folder
from harness.model.runs.run_folder import RunFolder, StoreError
from tests.support.recorded_runs import run_record


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = run_folder.create(tmp_path / "results", "study-1", 7)
    folder.write(run_record(seed=7))
    (folder.path / "history" / "a.jsonl").write_text("line\n")
    return folder


def test_a_run_s_folder_is_copied_whole_below_its_scenario(run: RunFolder, tmp_path: Path) -> None:
    place = copy_to.destination(f"file://{tmp_path}/share")

    code = copy_to.copy_run(run, place, Console(quiet=True))

    there = tmp_path / "share" / "study-1" / run.path.name
    assert 0 == code
    assert "line\n" == (there / "history" / "a.jsonl").read_text()
    assert (run.path / "run.json").read_text() == (there / "run.json").read_text()


def test_without_a_place_nothing_is_copied(run: RunFolder) -> None:
    assert 0 == copy_to.copy_run(run, None, Console(quiet=True))


def test_a_copy_that_fails_is_an_error_and_the_run_stays(run: RunFolder, tmp_path: Path) -> None:
    place = copy_to.destination(f"file://{tmp_path}/share")
    (tmp_path / "share" / "study-1").write_text("in the way")

    with Console(record=True, width=500) as console:
        code = copy_to.copy_run(run, place, console)

    assert 255 == code
    assert f"error: --copy-to: {run.path} could not be copied" in console.export_text()
    assert (run.path / "run.json").exists()


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("file://somewhere", "relative"),
        ("ftp://host/x", "Unrecognized"),
        ("s3://name:secret@b/x?endpoint_override=127.0.0.1:1&scheme=http", "connect"),
        ("file:///proc/no/such", "No such file"),
    ],
)
def test_a_place_that_cannot_be_used_is_refused_without_repeating_it(uri: str, reason: str) -> None:
    with pytest.raises(StoreError, match="--copy-to: the destination cannot be used") as caught:
        copy_to.destination(uri)

    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_names_no_scheme_is_a_folder(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    for name in ("foo", "./b 100%", str(tmp_path / "c")):
        assert 0 == copy_to.copy_run(run, copy_to.destination(name), Console(quiet=True))
        assert (tmp_path / name / "study-1" / run.path.name / "run.json").exists()


def test_a_path_is_printed_as_it_is(run: RunFolder, tmp_path: Path) -> None:
    place = copy_to.destination(str(tmp_path / "[bold]red[/bold]"))

    with Console(record=True, width=500) as console:
        copy_to.copy_run(run, place, console)

    assert f"copied   {tmp_path}/[bold]red[/bold]/study-1/" in console.export_text()
