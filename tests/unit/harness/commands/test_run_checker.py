"""When Spark is started for a run that still goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.spark import ahead
from harness.commands.carry_out import _Checker
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import PhaseRecord
from tests.support.recorded_runs import run_record


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each start; Spark itself is not started."""
    told: list[str] = []
    monkeypatch.setattr(ahead.Ahead, "start", lambda _: told.append("started"))
    return told


def folder_of(path: Path, *ended: str) -> RunFolder:
    folder = RunFolder(path=path)
    phases = [PhaseRecord(name=n, start_ns=s, end_ns=s + 1) for s, n in enumerate(ended, 1)]
    folder.write(run_record(time_limit_s=60).changed(phases=phases))
    return folder


def test_it_starts_once_when_the_load_is_over(tmp_path: Path, starts: list[str]) -> None:
    with _Checker(folder_of(tmp_path, "set-up", "warm-up"), wanted=True) as checker:
        checker.look()
        assert starts == []

        folder_of(tmp_path, "set-up", "warm-up", "load")
        checker.look()
        folder_of(tmp_path, "set-up", "warm-up", "load", "heal")
        checker.look()
        assert starts == ["started"]


def test_it_does_not_start_for_a_run_that_is_not_to_be_checked(
    tmp_path: Path, starts: list[str]
) -> None:
    with _Checker(folder_of(tmp_path, "set-up", "warm-up", "load"), wanted=False) as checker:
        checker.look()

    assert starts == []
