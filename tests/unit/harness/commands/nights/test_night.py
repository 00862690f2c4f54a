"""A night is a ledger beside those of the nights before, and is held against them."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.campaigns.make_runs import CampaignOptions
from harness.commands.nights import night

OPTIONS = CampaignOptions(resume=False)


def line(night_: str, seed: int, lost: int) -> str:
    told = {"cell": "c", "seed": seed, "started_utc": f"{night_} {seed}", "verdict": "valid"}
    found = {"anomalies": {"lost": lost}, "produce_gaps_s": [], "consume_gaps_s": []}
    return json.dumps({**told, **found}) + "\n"


@pytest.fixture
def tonight(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What tonight's runs come to: how many lose records, and the exit code."""
    comes_to: dict[str, Any] = {"lost": [0] * 10, "code": 0}

    def make_runs(_: Path, __: Path, options: CampaignOptions, **___: Any) -> int:
        assert options.resume  # a night that was interrupted goes on
        assert options.ledger is not None
        lines = [line("now", seed, lost) for seed, lost in enumerate(comes_to["lost"])]
        options.ledger.write_text("".join(lines))
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
