"""`prune`: old runs go as a whole; what is young, failed or records stays."""

from __future__ import annotations

import errno
import io
import json
import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.host.prune import HIDDEN, remove_runs
from harness.model.runs.run_folder import RunFolder, StoreError
from tests.support.recorded_runs import run_record


def run(
    results: Path, name: str, *, days: float, code: int | None = 0, state: str = "complete"
) -> Path:
    folder = results / "study-1" / name
    (folder / "history").mkdir(parents=True)
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    record = run_record(run_id=f"study-1/{name}", started_utc=began, state=state)
    RunFolder(path=folder).write(record)
    if code is not None:
        (folder / "report.json").write_text(json.dumps({"exit_code": code}))
    return folder


def pruned(results: Path, *, days: float = 30, failed: bool = False, dry: bool = False) -> str:
    said = io.StringIO()
    console = Console(file=said, width=300)
    assert remove_runs(results, days, failed_too=not failed, dry=dry, console=console) == 0
    return said.getvalue()


def test_old_runs_go_and_young_ones_stay(tmp_path: Path) -> None:
    old, young = run(tmp_path, "1-1", days=31), run(tmp_path, "2-1", days=29)
    (tmp_path / "study-1" / "latest").symlink_to(old.name)
    ledger = tmp_path / "study-1" / "runs.jsonl"
    ledger.touch()

    said = pruned(tmp_path)

    assert not old.exists()
    assert young.exists()
    assert ledger.exists()
    assert (tmp_path / "study-1" / "latest").resolve() == young
    assert "1 runs removed" in said


@pytest.mark.parametrize("code", [1, 2, 255, None])
def test_what_is_not_valid_stays_where_that_is_asked_for(tmp_path: Path, code: int | None) -> None:
    old = run(tmp_path, "1-1", days=400, code=code)

    assert "not valid" in pruned(tmp_path, failed=True)
    assert old.exists()
    pruned(tmp_path)
    assert not old.exists()


def test_a_run_that_records_and_one_that_cannot_be_read_stay(tmp_path: Path) -> None:
    records = run(tmp_path, "1-1", days=99, state="running")
    broken = run(tmp_path, "2-1", days=99)
    (broken / "run.json").write_text("{")

    said = pruned(tmp_path)

    assert records.exists()
    assert broken.exists()
    assert "it still records" in said


def test_a_link_out_of_a_run_s_folder_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    old = run(tmp_path / "results", "1-1", days=99)
    (old / "history" / "link").symlink_to(precious)

    pruned(tmp_path / "results")

    assert precious.is_dir()
    assert old.exists()


def test_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    old = run(tmp_path, "1-1", days=99)

    assert "would go" in pruned(tmp_path, dry=True)
    assert old.exists()


def test_what_an_interrupted_one_left_goes(tmp_path: Path) -> None:
    run(tmp_path, "1-1", days=99).rename(tmp_path / "study-1" / f"{HIDDEN}1-1")

    pruned(tmp_path)

    assert list((tmp_path / "study-1").iterdir()) == []


def test_without_a_results_folder_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results folder"):
        pruned(tmp_path / "nowhere")


def test_a_dry_run_leaves_what_an_interrupted_one_left(tmp_path: Path) -> None:
    left = tmp_path / "study-1" / f"{HIDDEN}1-1"
    run(tmp_path, "1-1", days=99).rename(left)

    pruned(tmp_path, dry=True)

    assert left.is_dir()


def test_folders_of_results_below_are_pruned_and_mended_alike(tmp_path: Path) -> None:
    below = tmp_path / "nightly"
    old, young = run(below, "1-1", days=99), run(below, "2-1", days=1)
    run(below, "0-1", days=99).rename(below / "study-1" / f"{HIDDEN}0-1")
    (below / "latest").symlink_to("study-1/1-1")

    pruned(tmp_path)

    assert not old.exists()
    assert (below / "latest").resolve() == young
    assert sorted(each.name for each in (below / "study-1").iterdir()) == ["2-1"]


@pytest.mark.parametrize("days", [1e6, 1e12, 1e300, math.inf])
def test_more_days_than_there_ever_were_keep_all(tmp_path: Path, days: float) -> None:
    old = run(tmp_path, "1-1", days=99)

    assert "0 runs removed" in pruned(tmp_path, days=days)
    assert old.exists()


def test_days_that_are_no_number_are_refused(tmp_path: Path) -> None:
    old = run(tmp_path, "1-1", days=99)

    with pytest.raises(StoreError, match="--keep-days: nan is no number of days"):
        pruned(tmp_path, days=math.nan)
    assert old.exists()


def test_links_and_files_of_a_hidden_name_stay_and_stop_nothing(tmp_path: Path) -> None:
    results, precious = tmp_path / "results", tmp_path / "precious"
    old, other = run(results, "1-1", days=99), run(results, "2-1", days=99)
    precious.mkdir()
    (results / "study-1" / f"{HIDDEN}1-1").write_text("a note")
    (results / "study-1" / f"{HIDDEN}2-1").symlink_to(precious)
    (results / f"{HIDDEN}nowhere").symlink_to("nowhere")

    said = pruned(results)

    assert "2 runs removed" in said
    assert not old.exists()
    assert not other.exists()
    assert precious.is_dir()
    assert sorted(each.name for each in (results / "study-1").iterdir()) == [
        f"{HIDDEN}1-1",
        f"{HIDDEN}2-1",
    ]


@pytest.mark.parametrize("where", ["study-1/young/history", "mine/a/b", "study-1/.mine"])
def test_a_folder_of_a_hidden_name_where_no_runs_lie_stays(tmp_path: Path, where: str) -> None:
    run(tmp_path, "young", days=1)
    mine = tmp_path / where / f"{HIDDEN}1-1"
    mine.mkdir(parents=True)

    pruned(tmp_path)

    assert mine.is_dir()


@pytest.mark.parametrize("name", ["runs.jsonl", "nights/2026-11-24.jsonl", "data"])
@pytest.mark.parametrize("hidden", [False, True])
def test_a_run_in_whose_folder_a_ledger_is_kept_stays(
    tmp_path: Path, name: str, *, hidden: bool
) -> None:
    old = run(tmp_path, "1-1", days=99)
    (old / name).parent.mkdir(exist_ok=True)
    (old / name).write_text('broken\n{"event": "started", "cell": "c", "seed": 1}\n')
    if hidden:
        old = old.rename(old.with_name(f"{HIDDEN}1-1"))

    said = pruned(tmp_path)

    assert f"{Path(name).name} in it is a campaign's ledger" in said
    assert "0 runs removed" in said
    assert (old / name).is_file()


def test_a_run_s_own_lines_are_no_ledger(tmp_path: Path) -> None:
    old = run(tmp_path, "1-1", days=99)
    (old / "undo.jsonl").write_text('{"fault": 0, "done": true}\n{"note": "\\"cell\\""}\n')
    (old / "history" / "nemesis.jsonl").write_text('{"cell": "c", "seed": 1}\n')

    pruned(tmp_path)

    assert not old.exists()


def test_what_cannot_be_removed_is_named_and_costs_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can remove anything, so the system's refusal is told by hand."""
    stuck, other = run(tmp_path, "1-1", days=31), run(tmp_path, "2-1", days=31)
    remove = shutil.rmtree

    def refused(folder: Path) -> None:
        if folder.name == f"{HIDDEN}{stuck.name}":
            raise PermissionError(errno.EACCES, "Permission denied", "events.parquet")
        remove(folder)

    monkeypatch.setattr(shutil, "rmtree", refused)

    for _ in range(2):
        said = pruned(tmp_path)
        assert f"{HIDDEN}{stuck.name}: it cannot be removed (events.parquet: Permission" in said
    assert not other.exists()
    assert "0 runs removed" in said
