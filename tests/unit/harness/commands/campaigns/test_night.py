"""A night is a ledger beside those of the nights before, and is held against them."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.campaigns import night
from harness.commands.campaigns.make_runs import CampaignOptions

OPTIONS = CampaignOptions(resume=False)


def line(night_: str, seed: int, lost: int) -> str:
    told = {"cell": "c", "seed": seed, "started_utc": f"{night_} {seed}", "verdict": "valid"}
    found = {"anomalies": {"lost": lost}, "produce_gaps_s": [], "consume_gaps_s": []}
    return json.dumps({**told, **found}) + "\n"


@pytest.fixture
def tonight(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What tonight's runs come to: how many lose records, and the exit code."""
    comes_to: dict[str, Any] = {"lost": [0] * 10, "code": 0, "lines": None}

    def make_runs(_: Path, __: Path, options: CampaignOptions, **___: Any) -> int:
        assert options.resume  # a night that was interrupted goes on
        assert options.ledger is not None
        lines = [line("now", seed, lost) for seed, lost in enumerate(comes_to["lost"])]
        told = comes_to["lines"]
        options.ledger.write_text("".join(lines if told is None else told))
        code: int = comes_to["code"]
        return code

    monkeypatch.setattr(night, "make_runs", make_runs)
    return comes_to


def before(nights: Path, *names: str) -> None:
    for name in names:
        (nights / f"{name}.jsonl").write_text("".join(line(name, seed, 0) for seed in range(10)))


def made(nights: Path) -> tuple[int, str, str]:
    said = io.StringIO()
    console = Console(file=said, width=200)
    code = night.make_night(Path("c.toml"), nights, Path("results"), OPTIONS, console=console)
    summary = nights / f"{datetime.now(UTC):%Y-%m-%d}.md"
    return code, said.getvalue(), summary.read_text() if summary.exists() else ""


def test_the_first_night_has_nothing_before_it(tmp_path: Path, tonight: dict[str, Any]) -> None:
    tonight["lost"] = [1] * 10

    code, said, summary = made(tmp_path)

    assert code == 0
    assert "nothing before to compare with" in said
    assert "against 0 nights before" in summary


def test_a_night_that_loses_more_than_those_before_ends_with_1(
    tmp_path: Path, tonight: dict[str, Any]
) -> None:
    before(tmp_path, "2026-01-01", "2026-01-02")
    tonight["lost"] = [3] * 10

    code, said, summary = made(tmp_path)

    assert code == 1
    assert "worse    c: lost: 0 of 20 before, 10 of 10 now" in said
    assert "- c: lost: 0 of 20 before, 10 of 10 now" in summary
    assert "| c | 20 → 10 | 0 of 20 → 10 of 10 |" in summary


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (2, 2), (255, 255)])
def test_a_night_like_those_before_ends_as_its_runs_did(
    tmp_path: Path, tonight: dict[str, Any], code: int, ends: int
) -> None:
    before(tmp_path, "2026-01-01")
    tonight["code"] = code

    assert made(tmp_path)[0] == ends


def test_an_interrupted_night_compares_nothing(tmp_path: Path, tonight: dict[str, Any]) -> None:
    tonight["code"] = 130

    assert made(tmp_path) == (130, "", "")


def test_a_later_night_and_other_files_are_not_before(
    tmp_path: Path, tonight: dict[str, Any]
) -> None:
    before(tmp_path, "2999-01-01", "another")

    assert "against 0 nights before" in made(tmp_path)[2]


def ended(seed: int, **told: Any) -> str:
    return json.dumps({**json.loads(line("now", seed, 0)), **told}) + "\n"


def test_a_night_without_a_cluster_ends_with_255_and_says_so(
    tmp_path: Path, tonight: dict[str, Any]
) -> None:
    before(tmp_path, "2026-01-01")
    tonight |= {"code": 255, "lines": [ended(1, began=False, exit=255)]}

    code, _, summary = made(tmp_path)

    assert code == 255
    assert "No run came to its end" in summary
    assert "- c on local, seed 1: the cluster did not come up" in summary


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"verdict": "unknown", "exit": 2, "reasons": ["the final read broke off"]}, 2),
        ({"verdict": "invalid", "exit": 1, "reasons": ["a demand is not met"]}, 1),
        ({"verdict": "unknown", "exit": 0, "reasons": ["the calibration failed"]}, 2),
    ],
)
def test_a_night_that_goes_on_ends_as_its_worst_run_did(
    tmp_path: Path, tonight: dict[str, Any], told: dict[str, Any], code: int
) -> None:
    """Its runs were made by an earlier start of the same night: now there is nothing to do."""
    tonight |= {"code": 0, "lines": [ended(1), ended(2, **told)]}

    ends, _, summary = made(tmp_path)

    assert ends == code
    assert f"- c on local, seed 2: {told['verdict']}: {told['reasons'][0]}" in summary
    assert f"Tonight's runs: 1 valid, 1 {told['verdict']}." in summary
    assert "| c | 2 | 0 of " in summary


def test_a_calibration_that_failed_is_on_the_page(tmp_path: Path, tonight: dict[str, Any]) -> None:
    names = {"cell": "calibrated", "backend": "local", "seed": 1, "started_utc": "now"}
    failed = json.dumps({"event": "calibrated", **names, "met": False, "why": "no loss"}) + "\n"
    tonight["lines"] = [failed, ended(1)]

    assert "- the calibration on local failed: no loss" in made(tmp_path)[2]


def test_a_run_that_died_under_a_failed_calibration_is_compared_as_one_without_a_report(
    tmp_path: Path, tonight: dict[str, Any]
) -> None:
    before(tmp_path, "2026-01-01")
    died = json.loads(line("now", 2, 0))
    for key in ("anomalies", "produce_gaps_s", "consume_gaps_s"):
        del died[key]
    died |= {"verdict": "unknown", "judged": None, "exit": 255, "reasons": ["no loss"]}
    tonight["lines"] = [ended(1), json.dumps(died) + "\n"]

    code, _, summary = made(tmp_path)

    assert code == 255
    assert "| c | 10 → 2 |" in summary


def test_a_damaged_ledger_of_another_night_does_not_cost_tonight_s_page(
    tmp_path: Path, tonight: dict[str, Any]
) -> None:
    (tmp_path / "2026-01-01.jsonl").write_text(ended(1, anomalies=None))

    code, said, summary = made(tmp_path)

    assert code == 255
    assert "2026-01-01.jsonl: line 1: anomalies" in said
    assert "**Not compared: " in summary
    assert "Tonight's runs: 10 valid." in summary
