"""docs/configurations.md says what the runs came to, and what the promises derive, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.studies import configurations, pages
from harness.checkout import DOCS
from harness.model.runs.ledger import Lines

ACKS = "workload.producer.acks"
CAMPAIGN: dict[str, Any] = {
    "title": "t",
    "data": "d",
    "matrix": [{"scenarios": ["hard"], "repeats": 10, "axes": {ACKS: ["1", "all"]}}],
}


def runs(acks: str, lost: list[int], *, forbidden: bool = False) -> list[dict[str, Any]]:
    promise = {"forbidden": forbidden, "promise": "because"}
    return [
        {
            "cell": f"hard/acks={acks}",
            "seed": seed,
            "started_utc": str(seed),
            "verdict": "valid",
            "anomalies": {"lost": each, "duplicate": 0},
            "promises": {"lost": promise, "duplicate": promise},
            "produce_gaps_s": [],
            "cap": {"available": True, "consistent": not each},
        }
        for seed, each in enumerate(lost)
    ]


def page(*lines: list[dict[str, Any]]) -> str:
    return configurations.render(CAMPAIGN, Lines(all=[one for each in lines for one in each]))


@pytest.mark.parametrize(
    ("ending", "render"), [("md", configurations.render), ("svg", configurations.figure)]
)
def test_the_page_in_the_repository_is_the_one_that_its_data_give(ending: str, render: Any) -> None:
    text = (DOCS / f"configurations.{ending}").read_text()

    assert text == pages.page(DOCS / "configurations.toml", render), "run `make configurations`"


def test_each_cell_has_its_row_though_it_has_no_run() -> None:
    told = page(runs("all", [0]))

    assert "| 1 | 0 | — | — | — | — | — | — | — |" in told
    assert "2 of the 2 cells do not have all of their runs yet" in told


def test_a_matrix_without_any_run_is_told_in_a_line() -> None:
    assert "- `hard`: 2 cells of 10 runs each, acks=1 to acks=all" in page()
    assert "Not run yet" not in page(runs("all", [0]))


def test_cells_of_other_settings_have_a_table_of_their_own_and_are_not_compared() -> None:
    other = {"scenarios": ["hard"], "repeats": 1, "axes": {ACKS: ["all"], "workload.rate": [9]}}
    lines = [*runs("1", [5] * 10), *runs("all", [5] * 10), *runs("all,rate=9", [0] * 10)]

    told = configurations.render(
        {**CAMPAIGN, "matrix": [*CAMPAIGN["matrix"], other]}, Lines(all=lines)
    )

    assert "| acks | rate | runs |" in told
    assert "nothing yet" in told


def test_shares_whose_intervals_overlap_are_not_called_different() -> None:
    assert "nothing yet" in page(runs("1", [1, 0, 0]), runs("all", [0, 0, 0]))


def test_a_difference_names_the_setting_and_both_shares() -> None:
    told = page(runs("1", [5] * 10), runs("all", [0] * 10))

    assert "loss in 10 of 10 (72–100 %) with acks=1 against 0 of 10 (0–28 %) with acks=all" in told


@pytest.mark.parametrize(
    ("lost", "forbidden", "told"),
    [
        ([1, 0], False, "| 2 of 2 | 1 of 2 | permitted, seen |"),
        ([0, 0], True, "| 0 of 2 | 0 of 2 | forbidden, not seen |"),
        ([1, 0], True, "| 0 of 2 | 1 of 2 | **broken in 1** |"),
        ([0, 0], False, "| 2 of 2 | 0 of 2 | permitted, not seen: in less than 66 % of runs"),
    ],
)
def test_what_may_be_stands_beside_what_was_seen(
    lost: list[int], forbidden: bool, told: str
) -> None:
    assert told in page(runs("1", lost, forbidden=forbidden))


def test_a_bar_has_the_width_of_its_runs() -> None:
    lines = Lines(all=runs("1", [1, 0, 0, 0]))

    text = configurations.figure(CAMPAIGN, lines)

    assert 'width="90.0"' in text  # a quarter, AP
    assert 'width="270.0"' in text
    assert "AP 1" in text
    assert "both 3" in text
