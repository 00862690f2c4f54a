"""run.json as a model: every schema reads, nothing is lost on the way, what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.checkout import ROOT
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.model.runs.run_record import SCHEMA, RecordError, RunRecord, parse, upgrade
from tests.support.recorded_runs import run_record

GOLDEN = sorted((ROOT / "tests" / "golden").iterdir())
OLD = (
    "acks-1-leader-killed",
    "idempotent-leader-paused",
    "leader-stopped",
    "retries-leader-paused",
)
golden = pytest.mark.parametrize(
    "folder", [folder for folder in GOLDEN if folder.name in OLD], ids=lambda folder: folder.name
)


def written(record: RunRecord) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.as_json())
    return found


def lost(before: Any, after: Any, at: str = "") -> list[str]:
    """What `before` says and `after` does not; what is new there does not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            key for name in before for key in lost(before[name], after.get(name), f"{at}.{name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [key for n, (one, two) in enumerate(pairs) for key in lost(one, two, f"{at}.{n}")]
    return [] if before == after else [at]


@golden
def test_a_run_of_schema_1_is_read_and_says_all_that_it_said(folder: Path) -> None:
    before = json.loads((folder / "run.json").read_text())
    assert before["schema"] == 1

    after = written(RunFolder(path=folder).read())

    assert [".schema"] == lost(before, after)
    assert [key for key in after if key in before] == list(before)


@golden
def test_steps_of_schema_1_are_read_though_they_do_not_say_what_they_can_do(folder: Path) -> None:
    record = RunFolder(path=folder).read()

    assert record.plan
    assert all(step.verb and step.target for step in record.plan)


def test_an_upgrade_leaves_what_it_was_given_as_it_was() -> None:
    old = {"schema": 1, "plan": [{"verb": "kill"}]}

    assert upgrade(old)["schema"] == SCHEMA
    assert old == {"schema": 1, "plan": [{"verb": "kill"}]}


def test_what_was_written_is_read_as_it_was() -> None:
    record = run_record(
        plan=[
            {
                "step": 0,
                "series": 0,
                "verb": "kill",
                "target": "leader",
                "unit": "seconds",
                "at": 1.0,
                "for_s": 0.0,
                "until": None,
                "options": {"inject": ["a", "b"]},
                "seed": 1,
                "effects": {"leadership": "where-it-hits", "ends_processes": True},
                "telling": {"done": "killed", "who": "the leader"},
            }
        ],
        cluster={"project": "p"},
        workers=[{"process": "producer-0", "role": "producer", "exit": -9}],
    )

    assert parse(record.as_json()) == record
    assert written(record)["schema"] == SCHEMA
    assert record.plan[0].effects is not None


def test_a_change_takes_models_and_what_json_makes_of_them() -> None:
    one = run_record(failure={"phase": "load", "error": "x"})

    assert run_record(failure=one.failure) == one


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": None}, "seed: Input should be a valid integer, got None: restore the file"),
        ({"state": "over"}, "state: Input should be 'running', 'complete' or 'incomplete'"),
        ({"clutser": {}}, "unknown key clutser"),
        ({"nodes": {"kafka1": {"address": "h:1", "id": 1}}}, "nodes.kafka1.role is missing"),
        ({"scenario": {"title": "x"}}, "scenario.workload is missing"),
        ({"schema": 99}, "not a run of this version (schema 1 or 2 expected)"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_file_and_key(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({**written(run_record()), **change}))

    with pytest.raises(StoreError) as refused:
        RunFolder(path=tmp_path).read()

    assert str(refused.value).startswith(f"{tmp_path / 'run.json'}: {words}")
    assert "\n" not in str(refused.value)


def test_a_key_that_is_missing_is_named() -> None:
    raw = written(run_record())
    del raw["backend"]

    with pytest.raises(RecordError, match="backend is missing: restore the file"):
        parse(json.dumps(raw))


def test_an_update_of_a_key_that_there_is_not_changes_nothing(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path)
    folder.write(run_record())

    with pytest.raises(StoreError, match="unknown key stat"):
        folder.update(stat="complete")

    assert folder.read() == run_record()
