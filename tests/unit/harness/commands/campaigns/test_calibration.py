"""A campaign begins with what is known: a loss that must show, and a run that must be clean."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.campaigns import calibration
from harness.commands.check_runs import check_runs
from harness.model.exit_codes import INVALID, VALID
from harness.model.runs.run_folder import RunFolder
from harness.scenario.prepare import Request

# What a report has at the least.
REPORT = {
    "schema": 1,
    "verdict": "valid",
    "sentence": "No data was lost.",
    "run": {"scenario": "s"},
    "longest_window_s": {"produce": 0.0, "consume": 0.0, "process": 0.0},
}
GOLDEN = Path("tests/golden/acks-1-leader-killed")


@pytest.mark.jvm
def test_a_history_with_losses_is_invalid_when_it_is_judged_as_acks_all(tmp_path: Path) -> None:
    run = RunFolder(path=tmp_path / "study-1-sure" / "1-1")
    shutil.copytree(GOLDEN, run.path)
    assert check_runs([run], master=None, console=Console()) == VALID
    before = (run.path / "run.json").read_bytes()

    with calibration._judged_as_acks_all(run) as other:
        assert check_runs([other], master=None, console=Console()) == INVALID
        assert other.path != run.path

    assert not other.path.exists()
    assert (run.path / "run.json").read_bytes() == before


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How each calibrating run ends, and what it finds (a list: one attempt after the other); the
    altered history is invalid."""
    ends: dict[str, Any] = {
        "study-1-sure": (0, {"lost": 3}),
        "baseline": (0, {"lost": 0}),
        "altered": (1, {}),
    }

    def carried_out(prepared: Any, *_: Any, **__: Any) -> tuple[int, RunFolder]:
        name = prepared.scenario.name
        ended = ends[name].pop(0) if isinstance(ends[name], list) else ends[name]
        folder = tmp_path / name / str(len(list(tmp_path.glob(f"{name}/*"))))
        folder.mkdir(parents=True)
        found = {
            name: {"count": count, "forbidden": False, "convicts": False}
            for name, count in ended[1].items()
        }
        (folder / "report.json").write_text(json.dumps(REPORT | {"anomalies": found}))
        return ended[0], RunFolder(path=folder)

    def altered(folder: RunFolder) -> Iterator[RunFolder]:
        yield folder

    monkeypatch.setattr(calibration, "carry_out_run", carried_out)
    monkeypatch.setattr(calibration, "check_runs", lambda *_, **__: ends["altered"][0])
    monkeypatch.setattr(calibration, "_judged_as_acks_all", contextmanager(altered))
    return ends


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, None),
        ({"study-1-sure": (0, {"lost": 0})}, "did not lose what it must"),
        ({"study-1-sure": (1, {"lost": 3})}, r"did not lose what it must \(exit code 1\)"),
        ({"altered": (0, {})}, "judged as acks=all, is not invalid"),
        ({"baseline": (0, {"duplicate": 2})}, "baseline has duplicate"),
        ({"baseline": (2, {})}, r"baseline is not valid \(exit code 2\)"),
    ],
)
def test_each_of_the_three_must_be_as_it_must(
    tmp_path: Path, runs: dict[str, Any], changed: dict[str, Any], why: str | None
) -> None:
    runs |= changed

    told = calibrated(tmp_path)

    assert bool(told.why) is bool(why)
    assert re.search(why or "^$", told.why or "")


def calibrated(results: Path, tries: int = 1) -> calibration.Calibration:
    request = Request(scenario="", seed=1)
    return calibration.calibrate(request, results, tries=tries, console=Console())


@pytest.mark.parametrize(("tries", "believed"), [(1, False), (2, True)])
def test_a_cluster_that_did_not_come_up_is_tried_again(
    tmp_path: Path, runs: dict[str, Any], tries: int, believed: bool
) -> None:
    runs["study-1-sure"] = [(255, {}), (0, {"lost": 3})]

    told = calibrated(tmp_path, tries)

    assert believed is (told.why is None)
    tried = ["study-1-sure/0", "study-1-sure/1", "baseline/0"]
    assert told.runs == (tried if believed else tried[:1])


def test_what_lost_a_record_is_not_tried_again(tmp_path: Path, runs: dict[str, Any]) -> None:
    runs["baseline"] = [(255, {"lost": 1}), (0, {})]

    assert "baseline has lost" in str(calibrated(tmp_path, tries=2).why)


def test_an_interrupted_one_says_so(tmp_path: Path, runs: dict[str, Any]) -> None:
    runs["study-1-sure"] = (130, {})

    with pytest.raises(calibration.Interrupted) as interrupted:
        calibrated(tmp_path)
    assert interrupted.value.code == 130
