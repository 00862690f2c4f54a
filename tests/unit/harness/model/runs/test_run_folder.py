"""Run folders exist from the start, are found by several names, and are never half-written."""

from __future__ import annotations

import json
import os

import pytest

from harness.model.runs import run_folder
from harness.model.runs.run_folder import RunFolder, StoreError
from tests.support.recorded_runs import run_record


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


# A folder that may be anybody's


def test_a_link_that_leads_out_of_the_folder_is_refused_and_one_within_is_not(tmp_path):
    run = run_folder.create(tmp_path / "results", "study-1", 42)
    run.write(run_record())
    (tmp_path / "secret").write_text("x")
    link = run.history / "a.parquet"
    link.symlink_to(run.path / "run.json")
    assert run_folder.find_run(str(run.path), tmp_path).path == run.path

    for target in (tmp_path / "secret", "../../../../secret", "/dev/zero", tmp_path / "gone"):
        link.unlink()
        link.symlink_to(target)
        with pytest.raises(StoreError, match=r"a\.parquet: a link that leads out"):
            run_folder.find_run(str(run.path), tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    run = run_folder.create(tmp_path, "study-1", 42)
    run.write(run_record())
    os.mkfifo(run.path / "undo.jsonl")

    with pytest.raises(StoreError, match=r"undo\.jsonl: neither a file nor a folder"):
        run_folder.find_run(str(run.path), tmp_path)
    (run.path / "run.json").unlink()
    os.mkfifo(run.path / "run.json")
    with pytest.raises(StoreError, match=r"run\.json: cannot be read: not a regular file"):
        run.read()


def test_a_latest_that_leads_elsewhere_is_refused(tmp_path):
    other = run_folder.create(tmp_path / "mine", "study-1", 42)
    other.write(run_record())
    results = tmp_path / "shared"
    (results / "study-1").mkdir(parents=True)
    for link in (results / "study-1" / "latest", results / "latest"):
        link.symlink_to(other.path)

    for name in ("study-1", "latest", str(results / "latest")):
        with pytest.raises(StoreError, match="latest: leads out of its folder"):
            run_folder.find_run(name, results)


def test_a_folder_where_run_json_should_be_and_a_giant_are_one_sentence(tmp_path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(StoreError, match=r"run\.json: cannot be read"):
        RunFolder(path=tmp_path).read()

    (tmp_path / "run.json").rmdir()
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(StoreError, match=r"run\.json: longer than 64 MiB"):
        RunFolder(path=tmp_path).read()


def test_what_cannot_be_written_is_one_sentence_that_names_it(tmp_path):
    (tmp_path / "file").mkdir()

    with (
        pytest.raises(StoreError, match="file: cannot be read or written") as refused,
        run_folder.store_errors(tmp_path),
    ):
        (tmp_path / "file").write_text("x")
    assert "\n" not in str(refused.value)
