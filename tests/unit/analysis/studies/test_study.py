"""docs/study.md is made from the runs' summaries, and its figures are what they say."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.studies import pages, study
from analysis.studies.shares import settled, wilson
from harness.checkout import ROOT
from harness.model.runs.ledger import Lines


def line(
    lost: int = 0, duplicate: int = 0, gaps: tuple[float, ...] = (), **more: Any
) -> dict[str, Any]:
    anomalies = {"lost": lost, "duplicate": duplicate}
    return {
        "cell": "c",
        "seed": 1,
        "exit": 0,
        "verdict": "valid",
        "anomalies": anomalies,
        "produce_gaps_s": list(gaps),
        "acked": 100,
        "indeterminate": 0,
        "faults": 1,
        "kafka": "3.9.2",
        "starved_in_load": {"pressure_some_percent": 10.0},
        "configuration": "d1",
        **more,
    }


def older(**told: Any) -> dict[str, Any]:
    """A line from before lines had a digest."""
    return {key: value for key, value in line(**told).items() if key != "configuration"}


CELL = {"scenario": "c", "repeats": 3, "claim": "it loses"}


def test_the_page_in_the_repository_is_the_one_that_its_data_give():
    text = (ROOT / "docs" / "study.md").read_text()

    assert text == pages.page(ROOT / "docs" / "study.toml", study.render), (
        "run `make study`, do not edit it"
    )


def test_a_page_edited_by_hand_is_told():
    page = study.render({"cells": [CELL]}, Lines(all=[line(lost=2)]))

    assert page != study.render({"cells": [CELL]}, Lines(all=[line(lost=3)]))


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
    assert wilson(hits, runs) == pytest.approx((low, high), abs=0.001)


EVERY = {**CELL, "every_gap": True}


def test_the_gaps_of_all_faults_are_shown_with_their_quartiles_where_a_cell_asks_for_it():
    lines = [line(fault_gaps_s=[1.0, 2.0, 3.0], faults=3), line(fault_gaps_s=[0.0, 5.0], faults=2)]

    shown = study.every_gap(EVERY, lines)

    assert shown == {
        "cell": "c",
        "faults": "5",
        "without": "1",
        "least": "0.00",
        "first": "1.00",
        "median": "2.00",
        "third": "3.00",
        "most": "5.00",
    }
    assert "| `c` | 5 | 1 | 0.00 | 1.00 | 2.00 | 3.00 | 5.00 |" in study.render(
        {"cells": [EVERY]}, Lines(all=lines)
    )


def test_a_cell_that_does_not_ask_has_no_row_of_gaps():
    assert study.every_gap(CELL, [line(fault_gaps_s=[1.0])]) is None
    assert "every leader failure" not in study.render({"cells": [CELL]}, Lines(all=[line()]))


def test_of_old_lines_as_many_of_the_longest_gaps_count_as_there_were_faults():
    """Short stretches beside the failover would make it look harmless."""
    shown = study.every_gap(EVERY, [line(gaps=(0.1, 8.0, 0.2, 7.0), faults=2)])

    assert shown is not None
    assert (shown["least"], shown["most"]) == ("7.00", "8.00")


def test_what_the_replicas_did_is_told_over_all_runs():
    absence = {
        "leave_after_s": 3.5,
        "leave_of_limit": 1.17,
        "heal_to_return_s": 2.0,
        "return_after_s": None,
    }
    measured = {
        "every_ms": 50.0,
        "isr": [absence, {**absence, "leave_after_s": 4.5}],
        "lag": [{"ms": {"p50": 200.0}, "offsets": {"p50": 1}}, {"ms": None, "offsets": {"p50": 0}}],
    }

    told = study.replicas(CELL, [line(replication=measured), line()])

    assert told == {
        "cell": "c",
        "looks_ms": "50 / 50 / 50",
        "lag_ms": "200 / 200 / 200",
        "lag_records": "0 / 0.5 / 1",
        "absences": "2",
        "leave": "3.50 / 4.00 / 4.50",
        "of_limit": "1.17 / 1.17 / 1.17",
        "reached": "2.00 / 2.00 / 2.00",
        "back": "—",
    }
    assert study.replicas(CELL, [line()]) is None


BALANCE = {**CELL, "balance": True}


def stretch(from_s: float, to_s: float, *brokers: tuple[int, int]) -> dict[str, Any]:
    """How many partitions each broker led, and its acks."""
    rows = [{"leads": leads, "acks": acks} for leads, acks in brokers]
    return {"start_s": from_s, "end_s": to_s, "brokers": rows}


LED = [
    stretch(0, 3, (1, 300), (1, 300), (1, 400)),
    stretch(3, 5, (1, 0), (1, 0), (1, 0)),  # nobody is served until the dead one's session ends
    stretch(5, 9, (0, 0), (2, 800), (1, 400)),
    stretch(9, 12, (1, 330), (1, 330), (1, 340)),
]


def test_the_load_of_brokers_is_told_for_each_stage():
    """The longest stretch between the first and the last is the one after the failure."""
    other = [*LED[:2], stretch(5, 9, (0, 0), (3, 1200), (0, 0)), LED[3]]

    rows = study.balance(BALANCE, [line(leadership=LED), line(leadership=other)])

    assert [tuple(row.values()) for row in rows] == [
        ("c", "before the failure", "2", "40 / 40 / 40", "30 / 30 / 30", "1 / 1 / 1"),
        ("c", "after it", "2", "67 / 83.5 / 100", "0 / 0 / 0", "2 / 2.5 / 3"),
        ("c", "after the election", "2", "34 / 34 / 34", "33 / 33 / 33", "1 / 1 / 1"),
    ]
    assert "| `c` | after it | 2 | 67 / 83.5 / 100 | 0 / 0 / 0 | 2 / 2.5 / 3 |" in study.render(
        {"cells": [BALANCE]}, Lines(all=[line(leadership=LED), line(leadership=other)])
    )


@pytest.mark.parametrize(
    ("cell", "kept"),
    [(CELL, {"leadership": LED}), (BALANCE, {}), (BALANCE, {"leadership": LED[:2]})],
    ids=["not-asked", "from-before", "nothing-moved"],
)
def test_without_stages_to_tell_of_there_is_no_table_of_load(cell, kept):
    assert study.balance(cell, [line(**kept)]) == []
    assert "Load by broker" not in study.render({"cells": [cell]}, Lines(all=[line(**kept)]))


def test_runs_from_before_stand_beside_new_ones():
    (first, *_) = study.balance(BALANCE, [line(), line(leadership=LED)])

    assert first["runs"] == "1"


def test_a_stage_in_which_nothing_was_acknowledged_has_no_parts():
    silent = [LED[0], stretch(3, 9, (0, 0), (2, 0), (1, 0)), LED[3]]

    rows = study.balance(BALANCE, [line(leadership=silent)])

    assert (rows[1]["busiest"], rows[1]["leads"]) == ("—", "2 / 2 / 2")


def test_runs_under_a_former_name_are_the_cell_s():
    cell = {**CELL, "name": "new", "formerly": ["c"]}
    told = pages.renamed({"cells": [cell]}, Lines(all=[line(1), line(4)]))

    page = study.render({"cells": [cell]}, told)

    assert "| it loses | `new` | 2 of 3 |" in page


def test_gaps_and_latencies_are_of_calm_runs_and_losses_of_all():
    starved: dict[str, Any] = {"starved_in_load": {"pressure_some_percent": 99.0}}
    lines = [line(1, gaps=(2.0,)), line(5, gaps=(30.0,), **starved)]

    row = study.row(CELL, lines)

    assert row["lost"] == "1 / 3 / 5"
    assert row["gaps"] == "2.00 / 2.00 / 2.00 (of 1)"
    assert row["pressure"] == "54 %"


def test_runs_without_a_digest_stand_by_themselves_beside_newer_ones():
    cells = [{**CELL, "repeats": 2}]
    old, new = older(lost=7), line(lost=3, seed=2)

    page = study.render({"cells": cells}, Lines(all=[old, new]))

    rows = [each for each in page.splitlines() if each.startswith("| it loses | `c` | 1 of 2")]
    assert len(rows) == 1
    assert " 3 / 3 / 3 " in rows[0]
    assert "| the same | `c, older` | 1, digest unknown | 1 of 1" in page


@pytest.mark.parametrize(("newer", "counted"), [(0, 7), (1, 7), (2, 3)])
def test_newer_runs_are_told_elsewhere_once_all_of_them_are_made(newer, counted):
    new = [line(lost=3, seed=seed) for seed in range(newer)]

    assert {counted} == {each["anomalies"]["lost"] for each in settled([older(lost=7), *new], 2)}


def test_what_share_is_lost_is_told_where_a_cell_asks_for_it():
    told = [line(lost=10), line(lost=50), line(lost=0, acked=0)]

    shown = study.share_lost({**CELL, "share_lost": True}, told)

    assert shown is not None
    assert ("2", "10.0 / 30.0 / 50.0") == (shown["runs"], shown["share"])
    assert study.share_lost(CELL, told) is None


def test_a_leader_that_no_write_reached_for_long_is_told_with_its_run():
    told = [
        line(gaps=(334.7, 2.0), produce_led_s=[316.9, 0.4], run="c/1", verdict="unknown"),
        line(gaps=(80.0,), produce_led_s=[1.5], run="c/2"),  # its leader came late
        line(gaps=(80.0,), produce_led_s=[None], run="c/3"),  # nobody was elected
        line(gaps=(80.0,), run="c/4"),  # from before it was told
    ]

    assert study.led_alone(told) == [
        {"cell": "c", "run": "c/1", "verdict": "unknown", "gap": "334.7", "led": "316.9"}
    ]
    assert "| `c/1` | 334.7 | 316.9 | unknown |" in study.render({"cells": [CELL]}, Lines(all=told))
    assert "waits for the client" not in study.render({"cells": [CELL]}, Lines(all=told[1:]))


def test_a_run_without_an_answer_is_told_with_its_reason():
    told = [
        line(verdict="unknown", run="c/1", reasons=["no load", "more"], acked=8503, failed=1496),
        line(run="c/2", reasons=[], failed=3),
        older(verdict="unknown"),
    ]

    assert study.unanswered(told) == [
        {"cell": "c", "run": "c/1", "why": "no load", "acked": "8,503", "failed": "1,496"}
    ]
    page = study.render({"cells": [CELL]}, Lines(all=told[:2]))
    assert "| `c/1` | no load | 8,503 | 1,496 |" in page
    assert "without an answer" not in study.render({"cells": [CELL]}, Lines(all=told[1:2]))
