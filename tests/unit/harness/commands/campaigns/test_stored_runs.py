"""A campaign takes for its own what began after it said so, and nobody else's run."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.campaigns import make_runs, night
from harness.commands.campaigns.calibration import Calibration
from harness.commands.campaigns.make_runs import CampaignOptions
from harness.commands.campaigns.recordings import Recordings
from harness.commands.carry_out import prepare_run
from harness.model.exit_codes import VALID
from harness.model.runs.ledger import ENDED, STARTED, Ledger, read
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Request
from tests.support.commands import called

CELL = """
title = "t"
data = "tonight.jsonl"
seed = 7
[[cells]]
scenario = "study-1"
repeats = 1
"""
RESUMED = CampaignOptions(resume=True, calibrate=False)
NOW = datetime.now(UTC)
SAID = Console(file=io.StringIO())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were carried out, and those that were only checked."""
    did: list[str] = []

    def carry_out(prepared: Any, results: Path, **_: Any) -> tuple[int, RunFolder]:
        did.append("carried out")
        return VALID, stored(results, f"made-{len(did)}", NOW)

    def check(folders: list[RunFolder], **_: Any) -> int:
        did.append(f"checked {folders[0].path.name}")
        return VALID

    monkeypatch.setattr(make_runs, "carry_out_run", carry_out)
    monkeypatch.setattr(make_runs, "check_runs", check)
    return did


def stored(results: Path, name: str, began: datetime) -> RunFolder:
    """A run of the cell that began then and has ended in order."""
    folder = RunFolder(path=results / "study-1" / name)
    folder.path.mkdir(parents=True)
    record = prepare_run(Request(scenario="study-1", seed=7)).record
    told = {"run_id": folder.run_id, "started_utc": began.isoformat(), "state": "complete"}
    folder.write(record.changed(**told))
    return folder


def line(event: str, at: datetime) -> Any:
    names = {"cell": "study-1", "backend": "local", "seed": 7}
    return {"event": event, **names, "started_utc": at.isoformat()}


def start(tmp_path: Path, began: datetime) -> None:
    """The ledger says that the cell's run begins then, and no end of it."""
    with Ledger.open(tmp_path / "tonight.jsonl") as ledger:
        ledger.add(line(STARTED, began))


def end(tmp_path: Path, at: datetime, **more: Any) -> None:
    """And that it has ended."""
    with Ledger.open(tmp_path / "tonight.jsonl") as ledger:
        ledger.add(line(ENDED, at) | more)


def campaign(tmp_path: Path, options: CampaignOptions = RESUMED) -> None:
    file = tmp_path / "c.toml"
    file.write_text(CELL)
    make_runs.make_runs(file, tmp_path / "results", options, console=SAID)


def test_a_run_of_last_night_is_not_tonight_s(tmp_path: Path, made: list[str]) -> None:
    """Every night has a ledger of its own, the same seeds, and the same results."""
    stored(tmp_path / "results", "20261124T010000Z-7", NOW - timedelta(days=1))

    campaign(tmp_path)

    assert made == ["carried out"]


def test_a_run_whose_campaign_was_stopped_before_its_line_is_checked(
    tmp_path: Path, made: list[str]
) -> None:
    start(tmp_path, NOW - timedelta(minutes=2))
    stored(tmp_path / "results", "20261125T010000Z-7", NOW - timedelta(minutes=1))

    campaign(tmp_path)

    assert made == ["checked 20261125T010000Z-7"]


def test_an_attempt_that_was_made_again_since_is_over(tmp_path: Path, made: list[str]) -> None:
    """What was stored since, and has no line here, is of another campaign."""
    start(tmp_path, NOW - timedelta(days=3))
    start(tmp_path, NOW - timedelta(days=2))
    end(tmp_path, NOW - timedelta(days=2), run="study-1/gone", began=False)
    stored(tmp_path / "results", "20261124T010000Z-7", NOW - timedelta(days=1))

    campaign(tmp_path)

    assert made == ["carried out"]


def test_the_last_of_several_stored_runs_is_it(tmp_path: Path, made: list[str]) -> None:
    start(tmp_path, NOW - timedelta(minutes=9))
    stored(tmp_path / "results", "20261125T010000Z-7", NOW - timedelta(minutes=8))
    start(tmp_path, NOW - timedelta(minutes=7))
    stored(tmp_path / "results", "20261125T010200Z-7", NOW - timedelta(minutes=6))

    campaign(tmp_path)

    assert made == ["checked 20261125T010200Z-7"]


def test_a_record_without_a_zone_is_of_utc(tmp_path: Path, made: list[str]) -> None:
    start(tmp_path, NOW - timedelta(minutes=2))
    stored(tmp_path / "results", "20261125T010000Z-7", NOW.replace(tzinfo=None))

    campaign(tmp_path)

    assert made == ["checked 20261125T010000Z-7"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_recorded_meanwhile_is_the_run_that_its_line_began(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    """Not an older one in the same folder; one that was interrupted before its check is checked,
    and not recorded again."""
    stored(tmp_path / "results", "20261125T010000Z-7", NOW - timedelta(minutes=2))
    if interrupted:
        start(tmp_path, NOW - timedelta(minutes=3))

    def record(self: Recordings, _: Any, begun: Callable[[], Any]) -> Any:
        names = begun()
        stored(tmp_path / "results", "20261125T010200Z-7", datetime.now(UTC))
        return names, VALID

    monkeypatch.setattr(Recordings, "_record", record)
    monkeypatch.setattr(make_runs, "require_room", lambda _: None)

    campaign(tmp_path, CampaignOptions(resume=True, calibrate=False, parallel=2))

    recorded = "20261125T010000Z-7" if interrupted else "20261125T010200Z-7"
    assert made == [f"checked {recorded}"]


def test_the_second_of_two_runs_that_began_in_one_second_is_found(
    tmp_path: Path, made: list[str]
) -> None:
    start(tmp_path, NOW - timedelta(minutes=2))
    stored(tmp_path / "results", "20261125T010000Z-7-2", NOW - timedelta(minutes=1))

    campaign(tmp_path)

    assert made == ["checked 20261125T010000Z-7-2"]


def test_a_calibration_is_nobody_s_run(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path, NOW - timedelta(minutes=2))

    def calibrate(*_: Any, **__: Any) -> Calibration:
        run = stored(tmp_path / "results", "20261125T010000Z-7", NOW - timedelta(minutes=1))
        return Calibration(runs=[run.run_id])

    monkeypatch.setattr(make_runs, "calibrate", calibrate)

    campaign(tmp_path, CampaignOptions(resume=True))

    assert made == ["carried out"]
    [calibration] = read(tmp_path / "tonight.jsonl").calibrations
    assert calibration["runs"] == ["study-1/20261125T010000Z-7"]


@pytest.mark.parametrize("name", ["", 'name = "slower"\nformerly = ["study-1"]\n'])
def test_a_complete_cell_that_changed_is_refused(
    tmp_path: Path, made: list[str], name: str
) -> None:
    """Its page would put new settings over old numbers."""
    campaign(tmp_path)
    file = tmp_path / "c.toml"
    file.write_text(f'{CELL}{name}set = {{"workload.rounds" = 9700}}\n')

    with pytest.raises(ScenarioError, match=r"study-1: its runs that count .*--supersede study-1"):
        make_runs.make_runs(file, tmp_path / "results", RESUMED, console=SAID)
    assert made == ["carried out"]


def test_tonight_s_runs_count_no_more_in_tonight_s_ledger(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the remedy works that a refusal under --nights tells."""
    campaign(tmp_path)
    tonight = tmp_path / "tonight.jsonl"
    (tmp_path / "c.toml").write_text(CELL.replace("tonight", "another"))
    monkeypatch.setattr(night, "ledger_of", lambda _: tonight)
    asked = ["campaign", str(tmp_path / "c.toml"), "--nights", str(tmp_path)]

    assert called(*asked, "--supersede=study-1", "--why=w").code == VALID
    assert ["w"] == list(read(tonight).reasons.values())
    assert not (tmp_path / "another.jsonl").exists()
