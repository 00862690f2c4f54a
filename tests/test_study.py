"""docs/study.md is made from the runs' summaries, and its figures are what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis import study

ROOT = Path(__file__).parents[1]


def line(lost: int = 0, duplicate: int = 0, gaps: tuple[float, ...] = (), **more: Any) -> dict:
    anomalies = {"lost": lost, "duplicate": duplicate}
    return {
        "cell": "c", "seed": 1, "exit": 0, "verdict": "valid", "anomalies": anomalies,
        "produce_gaps_s": list(gaps), "acked": 100, "faults": 1, "kafka": "3.9.2", **more,
    }  # fmt: skip


CELL = {"scenario": "c", "repeats": 3, "claim": "it loses"}


def test_the_page_in_the_repository_is_the_one_that_its_data_give():
    text = (ROOT / "docs" / "study.md").read_text()

    assert text == study.page(ROOT / "docs" / "study.toml"), "run `make study`, do not edit it"


def test_a_page_edited_by_hand_is_told():
    page = study.render({"cells": [CELL]}, [line(lost=2)])

    assert page != study.render({"cells": [CELL]}, [line(lost=3)])


def test_losses_duplicates_and_gaps_are_minimum_median_and_maximum_over_runs():
    row = study.row(CELL, [line(1, 0, (0.5, 2.0)), line(4, 1, (1.0,)), line(0)])

    assert row["lost"] == "0 / 1 / 4"
    assert row["duplicates"] == "0 / 0 / 1"
    assert row["gaps"] == "0.00 / 1.00 / 2.00"  # of each run the longest
    assert row["lossy"].startswith("2 of 3 (")
    assert row["runs"] == "3 of 3"


def test_a_run_that_the_harness_could_not_finish_is_counted_and_not_measured():
    row = study.row(CELL, [line(1), {"cell": "c", "seed": 2, "exit": 255}])

    assert row["runs"] == "2 of 3"
    assert row["verdicts"] == "1 not checked, 1 valid"
    assert row["lost"] == "1 / 1 / 1"


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [(0, 20, 0.0, 0.161), (9, 10, 0.596, 0.982), (10, 10, 0.722, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(hits, runs, low, high):
    assert study.wilson(hits, runs) == pytest.approx((low, high), abs=0.001)
