"""A cell's row counts its runs as they are: no majority, no gap of a starved host."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.studies.matrix_rows import more, position, positions, row


def line(
    available: bool | None = True,
    consistent: bool | None = True,
    *,
    lost: int = 0,
    gap_s: float = 0.0,
    percent: float = 20.0,
) -> Any:
    return {
        "verdict": "valid",
        "anomalies": {"lost": lost, "duplicate": 0},
        "produce_gaps_s": [0.5, gap_s],
        "cap": {"available": available, "consistent": consistent},
        "starved_in_load": {"pressure_some_percent": percent},
    }


@pytest.mark.parametrize(
    ("available", "consistent", "where"),
    [
        (False, True, "CP"),
        (True, False, "AP"),
        (True, True, "both"),
        (False, False, "neither"),
        (None, True, "unknown"),
        (True, None, "unknown"),
    ],
)
def test_a_run_stands_where_its_letters_say(
    available: bool | None, consistent: bool | None, where: str
) -> None:
    assert position(line(available, consistent)) == where


def test_a_run_without_a_report_stands_nowhere_that_is_known() -> None:
    assert position({"exit": 255}) == "unknown"
    assert row([{"exit": 255}])["lossy"] == "—"


def test_each_position_keeps_its_runs() -> None:
    runs = [line(), line(consistent=False), line(consistent=False)]

    assert {"AP": 2, "both": 1} == positions(runs)
    assert row(runs)["position"] == "AP 2, both 1"


def test_a_number_is_the_median_with_the_extremes_where_they_differ() -> None:
    runs = [line(lost=1, gap_s=6.0), line(gap_s=7.0, percent=99.0)]

    assert (row(runs)["lost"], row(runs)["gap"]) == ("0.5 (0–1)", "6.0, 1 run")


def test_losses_are_of_all_runs_and_gaps_of_those_on_a_calm_host() -> None:
    runs = [line(gap_s=6.0), line(gap_s=30.0, lost=9, percent=99.0)]

    found = row(runs)

    assert found["lossy"] == "1 of 2 (9–91 %)"
    assert found["gap"] == "6.0, 1 run"
    assert found["pressure"] == "60 %"


def test_runs_whose_pressure_nobody_recorded_give_no_gaps() -> None:
    old: Any = {**line(gap_s=6.0), "starved_in_load": None}

    assert row([old])["gap"] == "not measured calm"


def test_what_a_failed_calibration_came_before_is_unknown_and_in_no_share() -> None:
    doubted: Any = {**line(), "verdict": "unknown", "judged": "valid"}

    told = row([doubted, line(lost=1)])

    assert told["runs"] == "2"
    assert told["lossy"].startswith("1 of 1 ")
    assert told["position"] == "both 1, unknown 1"


def test_a_run_without_a_verdict_is_in_no_share() -> None:
    silent, lossy = (line(lost=lost) | {"verdict": "unknown"} for lost in (0, 1))

    assert row([silent, line()])["lossy"].startswith("0 of 1 ")
    assert row([lossy, line()])["lossy"] == "0 of 1 (0–79 %); 1 unknown, which saw it"


def test_of_the_longest_gap_it_is_told_how_much_a_new_leader_led() -> None:
    newer = line(gap_s=7.0) | {"produce_led_s": [0.4, 1.5], "consume_gaps_s": [2.0]}
    none_elected = line(gap_s=7.0) | {"produce_led_s": [0.4, None], "consume_gaps_s": []}
    older = line(gap_s=9.0) | {"consume_gaps_s": []}
    newer["anomalies"] |= {"vanished": 3}

    told = more([newer, none_elected, older])

    assert told["led"] == "1.5, 1 run"
    assert told["gap"] == "7.0 (7.0–9.0)"
    assert told["unread"] == "2.0 in 1 of 3 runs"
    assert told["vanished"] == "0 (0–3)"
    assert more([older])["led"] == "—"


def test_where_some_runs_had_no_gap_of_reads_the_median_is_of_the_others() -> None:
    runs = [line() | {"consume_gaps_s": gaps} for gaps in ([], [2.0], [4.0, 1.0])]

    assert more(runs)["unread"] == "3.0 (2.0–4.0) in 2 of 3 runs"
    assert more(runs[1:])["unread"] == "3.0 (2.0–4.0)"
    assert more(runs[:1])["unread"] == "0.0"
