"""While a campaign goes on it says how much is left, and what it found."""

from __future__ import annotations

import pytest

from harness.commands.campaigns.make_runs import Outlook
from harness.scenario.expected_length import expected_s
from harness.scenario.file import read_scenario

HARD = read_scenario("hard")


def test_what_is_left_is_told_by_the_pace_of_what_was_done() -> None:
    outlook = Outlook([HARD] * 3)
    one_s = expected_s(HARD)

    assert outlook.left_s(0.0) == pytest.approx(3 * one_s)
    outlook.after({"verdict": "valid", "anomalies": {}})
    assert outlook.left_s(2 * one_s) == pytest.approx(4 * one_s)


def test_each_run_has_its_number_and_what_was_found_so_far() -> None:
    outlook = Outlook([HARD] * 2)

    assert outlook.before("hard, local").startswith("run 1 of 2, about ")
    outlook.after({"verdict": "valid", "anomalies": {"lost": 3, "duplicate": 0}})
    assert outlook.before("hard, local").startswith("run 2 of 2, about ")
    assert outlook.after({"exit": 255}) == (
        "so far: 1 of 2 lost records, 0 have duplicates, 0 invalid, 0 unknown, 1 without a verdict"
    )
