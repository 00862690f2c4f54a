"""Runs recorded several at a time: each begins when there is room, and none outlives the block."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from harness.commands.campaigns import recordings
from harness.commands.campaigns.recordings import Recordings, require_room
from harness.host import machine
from harness.model.exit_codes import FAILED
from harness.model.runs.ledger_line import Line
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Request
from harness.waiting import wait_until

REQUEST = Request(scenario="baseline", seed=1)


def seeded(seed: int) -> Line:
    return {"seed": seed}


def does(monkeypatch: pytest.MonkeyPatch, *argv: str) -> None:
    monkeypatch.setattr(recordings, "_command", lambda *_: list(argv))


def test_a_recording_comes_to_its_names_and_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    does(monkeypatch, "sh", "-c", "exit 2")

    with Recordings(2, tmp_path) as begun:
        ended = [begun.begin(REQUEST, partial(seeded, n)) for n in range(3)]

        assert [({"seed": n}, 2) for n in range(3)] == [each.result() for each in ended]
    assert list(tmp_path.iterdir()) == []


def test_what_a_failed_one_said_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    does(monkeypatch, "sh", "-c", "echo kafka1 did not start; exit 255")

    with Recordings(1, tmp_path) as begun:
        assert begun.begin(REQUEST, partial(seeded, 1)).result() == ({"seed": 1}, FAILED)

    assert "kafka1 did not start" in capsys.readouterr().err


def test_none_goes_on_after_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does(monkeypatch, "sleep", "600")
    began: list[str] = []

    def begins(name: str) -> Line:
        began.append(name)
        return {}

    with Recordings(1, tmp_path) as begun:
        running = begun.begin(REQUEST, partial(begins, "one"))
        waiting = begun.begin(REQUEST, partial(begins, "two"))
        wait_until(lambda: bool(begun._live), timeout_s=60, what="it to start")

    assert running.result(timeout=0)[1] == FAILED  # it was told to end
    assert waiting.cancelled()
    assert began == ["one"]


def test_a_host_without_room_says_for_how_many_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "describe", lambda: {"cpus": 8, "memory_bytes": 7 * 2**30})

    require_room(2)
    with pytest.raises(ScenarioError, match="--parallel 3: this host has room for 2"):
        require_room(3)
