"""Run folders exist from the start, are found by several names, and are never half-written."""

from __future__ import annotations

import json

import pytest

from harness.model import run_folder
from harness.model.run_folder import RunFolder, StoreError
from tests.support.run_records import run_record


def test_a_new_run_has_its_folders_and_is_the_latest(tmp_path):
    run = run_folder.create(tmp_path, "study-1", 42)
    run.write(run_record())

    assert run.history.is_dir()
    assert run.logs.is_dir()
    assert run.run_id == f"study-1/{run.path.name}"
    assert run.path.name.endswith("-42")
    for name in (str(run.path), run.run_id, "study-1", "latest"):
        assert run_folder.find_run(name, tmp_path).path == run.path


def test_two_runs_in_one_second_do_not_share_a_folder(tmp_path):
    paths = {run_folder.create(tmp_path, "study-1", 42).path for _ in range(3)}

    assert len(paths) == 3


def test_a_folder_that_is_not_ours_is_refused_by_name(tmp_path):
    (tmp_path / "holiday").mkdir()

    with pytest.raises(StoreError, match="holiday: no run there"):
        run_folder.find_run("holiday", tmp_path)
    with pytest.raises(StoreError, match=r"no run\.json"):
        RunFolder(path=tmp_path / "holiday").read()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}'])
def test_a_run_json_that_is_none_is_refused_by_name(tmp_path, text):
    (tmp_path / "run.json").write_text(text)

    with pytest.raises(StoreError, match=r"run\.json"):
        RunFolder(path=tmp_path).read()


def test_an_update_changes_what_it_names_and_keeps_the_rest(tmp_path):
    run = run_folder.create(tmp_path, "s", 1)
    run.write(run_record(state="running", seed=7))

    run.update(state="complete")

    assert run.read() == run_record(state="complete", seed=7)
    assert [p.name for p in run.path.iterdir() if p.name.startswith(".")] == []


def test_a_results_place_that_cannot_be_written_is_named_with_the_remedy(tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match=r"--results"):
        run_folder.create(tmp_path / "file", "study-1", 1)


def test_a_file_is_replaced_whole(tmp_path):
    target = tmp_path / "report.json"
    target.write_text(json.dumps({"old": True}))

    run_folder.write_atomically(target, json.dumps({"new": True}))

    assert json.loads(target.read_text()) == {"new": True}
