"""docs/configurations.md says what the runs came to, and what the promises derive, and no more."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.studies import configurations, pages
from analysis.studies.cells.experiments import experiment
from harness.checkout import DOCS
from harness.model.runs.ledger import Lines, read

ACKS = "workload.producer.acks"
CAMPAIGN: Any = {
    "title": "t",
    "data": "d",
    "matrix": [{"scenarios": ["hard"], "repeats": 10, "axes": {ACKS: ["1", "all"]}}],
}


def runs(acks: str, lost: list[int], *, forbidden: bool = False) -> list[Any]:
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


def page(*lines: list[Any]) -> str:
    return configurations.render(CAMPAIGN, Lines(all=[one for each in lines for one in each]))


@pytest.mark.parametrize(
    ("ending", "render"), [("md", configurations.render), ("svg", configurations.figure)]
)
def test_the_page_in_the_repository_is_the_one_that_its_data_give(ending: str, render: Any) -> None:
    text = (DOCS / f"configurations.{ending}").read_text()

    assert text == pages.page(DOCS / "configurations.toml", render), "run `make configurations`"


def test_each_cell_has_its_row_though_it_has_no_run() -> None:
    told = page(runs("all", [0]))

    assert "| hard | 1 | 0 | — | — | — | — | — | — | 0 |" in told
    assert "| hard | all | 1 | 0 of 1 (0–79 %) in one sitting | 0 |" in told
    assert "2 of the 2 cells do not have all of their runs yet" in told


def test_a_matrix_without_any_run_is_told_in_a_line() -> None:
    assert "- `hard`, 10 runs each: acks=1; acks=all" in page()
    assert "Not run yet" not in page(runs("all", [0]))


def test_cells_of_other_settings_have_a_table_of_their_own_and_are_not_compared() -> None:
    other = {"scenarios": ["hard"], "repeats": 1, "axes": {ACKS: ["all"], "workload.rate": [9]}}
    lines = [*runs("1", [5] * 10), *runs("all", [5] * 10), *runs("all,rate=9", [0] * 10)]

    told = configurations.render(
        {**CAMPAIGN, "matrix": [*CAMPAIGN["matrix"], other]}, Lines(all=lines)
    )

    once = f"All of {experiment({})}.\n10 runs each.\nAll from clean commits."
    assert f"{once}\n\n| what breaks | acks | loss: runs affected (95 % CI) |" in told
    assert f"And for rate:\n\n{once}\n\n| what breaks | acks | rate |" in told
    assert "There is none yet." in told


def test_shares_whose_intervals_overlap_are_not_called_different() -> None:
    assert "There is none yet." in page(runs("1", [1, 0, 0]), runs("all", [0, 0, 0]))


def test_a_difference_names_the_setting_and_both_shares() -> None:
    told = page(runs("1", [5] * 10), runs("all", [0] * 10))

    one, other = "acks=1: 10 of 10 (72–100 %)", "acks=all: 0 of 10 (0–28 %)"
    assert f"| hard |  | loss | {one} in one sitting | {other} in one sitting |" in told


@pytest.mark.parametrize(
    ("lost", "forbidden", "told"),
    [
        ([1, 0], False, "allowed (1), seen in 1 of 2"),
        ([0, 0], True, "forbidden (1), not seen"),
        ([1, 0], True, "**forbidden (1), seen in 1 of 2**"),
        ([0, 0], False, "allowed (1), not seen"),
    ],
)
def test_what_may_be_stands_beside_what_was_seen(
    lost: list[int], forbidden: bool, told: str
) -> None:
    other = "forbidden (1), not seen" if forbidden else "allowed (1), not seen"

    assert f"| hard | 1 | {told} | {other} |" in page(runs("1", lost, forbidden=forbidden))


def test_what_may_be_in_some_runs_alone_says_in_how_many() -> None:
    mixed = [*runs("1", [0]), *({**each, "seed": 7} for each in runs("1", [1], forbidden=True))]

    assert "| hard | 1 | **forbidden (1), seen in 1 of 2** | allowed in 1 of 2 (1)," in page(mixed)


def test_each_promise_is_said_once() -> None:
    text = (DOCS / "configurations.md").read_text()
    promises = re.findall(
        r"^- \(\d+\) (.+)$", text.partition("the promises that decided")[2].partition("|")[0], re.M
    )

    assert len(promises) >= 6
    assert {text.count(promise) for promise in promises} == {1}


def test_why_acks_1_loses_nothing_there_is_what_each_of_these_runs_says() -> None:
    """The page gives the reason in words: nobody else led, and nothing was accepted meanwhile."""
    cell = "one-cut-then-kill/acks=1,min.insync.replicas=1,unclean.leader.election.enable=false"
    mine = [
        each
        for each in read(DOCS / "data" / "configurations.jsonl").standing
        if each["cell"] == cell
    ]

    assert len(mine) == 20
    assert {
        (
            each["promises"]["lost"]["promise"],
            each["cap"] and each["cap"]["words"],
            each["anomalies"]["lost"],
        )
        for each in mine
    } == {
        (
            "With acks=1 nothing is lost as long as the leader stays.",
            "nothing lost, no write accepted until the leader came back: CP",
            0,
        )
    }


def test_a_bar_has_the_width_of_its_runs() -> None:
    lines = Lines(all=runs("1", [1, 0, 0, 0]))

    text = configurations.figure(CAMPAIGN, lines)

    assert 'width="90.0"' in text  # a quarter, AP
    assert 'width="270.0"' in text
    assert "AP 1" in text
    assert "both 3" in text


def test_runs_of_another_kafka_have_a_row_of_their_own_and_are_not_compared() -> None:
    newer = [{**each, "kafka": "4.0.0", "seed": 99 + each["seed"]} for each in runs("1", [0] * 10)]

    told = page(runs("1", [5] * 10), newer)

    assert told.count("| hard | 1 | Kafka ") == 2
    assert "There is none yet." in told
