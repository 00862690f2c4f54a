"""The pages of the study are made from its runs' summaries, and say what these say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.studies import claims, pages, study
from analysis.studies.cells.shares import settled, wilson
from harness.checkout import DOCS
from harness.cluster.node_settings import SERVER_DEFAULTS
from harness.commands.campaigns.file import read_campaign
from harness.commands.carry_out import prepare_run
from harness.model.campaigns.ledger import Lines, read
from harness.scenario.prepare import Request


def line(lost: int = 0, duplicate: int = 0, gaps: tuple[float, ...] = (), **more: Any) -> Any:
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


def older(**told: Any) -> Any:
    """A line from before lines had a digest."""
    return {key: value for key, value in line(**told).items() if key != "configuration"}


CELL = {"scenario": "c", "repeats": 3, "claim": "it loses"}


@pytest.mark.parametrize("name", study.PAGES)
def test_the_page_in_the_repository_is_the_one_that_its_data_give(name):
    text = (DOCS / name).read_text()

    assert text == pages.page(DOCS / "study.toml", study.PAGES[name]), (
        "run `make study`, do not edit it"
    )


def test_each_run_that_counts_is_on_one_of_the_two_pages():
    """Of the ledger in git: the pages say how many runs each has, and a table how many each row."""
    counted = len(read(DOCS / "data" / "study.jsonl").standing)
    text, older = ((DOCS / name).read_text() for name in study.PAGES)

    shown, elsewhere = re.findall(r"^This page shows (\S+) runs; (\S+) older ones", text, re.M)[0]
    (aside,) = re.findall(r"^(\S+) of these have been followed", older, re.M)
    did = older.partition("## What each run did")[2].partition("\n## ")[0]
    rows = [int(runs) for runs in re.findall(r"^\| `[^|]*\| (\d+) \|", did, re.M)]

    assert elsewhere == aside
    assert int(shown.replace(",", "")) + int(aside) == counted == sum(rows)


def test_the_session_of_a_claim_is_that_of_its_scenario():
    for cell in read_campaign(DOCS / "study.toml").every_cell():
        request = Request(scenario=cell.scenario, seed=1, settings=cell.set)
        server = {**SERVER_DEFAULTS, **prepare_run(request).scenario.cluster.server}

        assert int(server["zookeeper.session.timeout.ms"]) == 1000 * cell.session_s, cell.key


def test_a_page_edited_by_hand_is_told():
    page = study.render({"cells": [CELL]}, Lines(all=[line(lost=2)]))

    assert page != study.render({"cells": [CELL]}, Lines(all=[line(lost=3)]))


def test_losses_duplicates_and_gaps_are_medians_with_the_extremes_where_they_differ():
    row = claims.row(CELL, [line(1, 0, (0.5, 2.0)), line(4, 1, (1.0,)), line(0), line(1200)])

    assert row["lost"] == "2.5 (0–1,200) of 100"
    assert row["duplicates"] == "0 (0–1)"
    assert row["gaps"] == "0.50 (0.00–2.00)"  # of each run the longest
    assert row["lossy"].startswith("3 of 4 (")
    assert claims.row(CELL, [line(duplicate=3, gaps=(2.0,))] * 2).items() >= {
        ("lost", "0"),
        ("duplicates", "3"),
        ("gaps", "2.00"),
        ("acked", "100"),
    }


def test_a_run_that_the_harness_could_not_finish_is_counted_and_not_measured():
    row = claims.row(CELL, [line(1), {"cell": "c", "seed": 2, "exit": 255}])

    assert row["runs"] == "2"
    assert row["verdicts"] == "1 not checked, 1 valid"
    assert row["lost"] == "1 of 100"


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

    told = study.replicas([line(replication=measured), line()])

    assert told == {
        "looks_ms": "50",
        "lag_ms": "200",
        "lag_records": "0.5 (0–1)",
        "absences": "2",
        "leave": "4.00 (3.50–4.50)",
        "of_limit": "1.17",
        "reached": "2.00",
        "back": "—",
    }
    assert study.replicas([line()]) is None


BALANCE = {**CELL, "balance": True}


def stretch(from_s: float, to_s: float, *brokers: tuple[int, int]) -> Any:
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
        ("before the failure", "2", "40", "30", "1"),
        ("after it", "2", "83.5 (67–100)", "0", "2.5 (2–3)"),
        ("after the election", "2", "34", "33", "1"),
    ]
    page = study.render_older(
        {"cells": [BALANCE]}, Lines(all=[line(leadership=LED), line(leadership=other)])
    )
    assert "Of 2 runs each.\n\n| scenario | stage | busiest broker, % |" in page
    assert "| `c` | after it | 83.5 (67–100) | 0 | 2.5 (2–3) |" in page


@pytest.mark.parametrize(
    ("cell", "kept"),
    [(CELL, {"leadership": LED}), (BALANCE, {}), (BALANCE, {"leadership": LED[:2]})],
    ids=["not-asked", "from-before", "nothing-moved"],
)
def test_without_stages_to_tell_of_there_is_no_table_of_load(cell, kept):
    assert study.balance(cell, [line(**kept)]) == []
    assert "## Load by broker" not in study.render_older(
        {"cells": [cell]}, Lines(all=[line(**kept)])
    )


def test_runs_from_before_stand_beside_new_ones():
    (first, *_) = study.balance(BALANCE, [line(), line(leadership=LED)])

    assert first["runs"] == "1"


def test_a_stage_in_which_nothing_was_acknowledged_has_no_parts():
    silent = [LED[0], stretch(3, 9, (0, 0), (2, 0), (1, 0)), LED[3]]

    rows = study.balance(BALANCE, [line(leadership=silent)])

    assert (rows[1]["busiest"], rows[1]["leads"]) == ("—", "2")


def test_runs_under_a_former_name_are_the_cell_s():
    cell = {**CELL, "name": "new", "formerly": ["c"]}
    told = pages.with_present_names({"cells": [cell]}, Lines(all=[line(1), line(4)]))

    page = study.render({"cells": [cell]}, told)

    assert "| it loses | 2 of 2 (34–100 %) | 2.5 (1–4) of 100 |" in page
    assert "do not have all of their runs yet: `new` (2 of 3)." in page


def test_gaps_and_latencies_are_of_calm_runs_and_losses_of_all():
    starved: Any = {"starved_in_load": {"pressure_some_percent": 99.0}}
    lines = [line(1, gaps=(2.0,)), line(5, gaps=(30.0,), **starved)]

    row = claims.row(CELL, lines)

    assert row["lost"] == "3 (1–5) of 100"
    assert row["gaps"] == "2.00, 1 run"
    assert row["pressure"] == "54 %"


def test_runs_without_a_digest_are_on_the_other_page_where_there_are_newer_ones():
    campaign, told = {"cells": [CELL]}, Lines(all=[older(lost=7), line(lost=3, seed=2)])

    page, other = study.render(campaign, told), study.render_older(campaign, told)

    (row,) = [each for each in page.splitlines() if each.startswith("| it loses |")]
    assert " | 3 of 100 | " in row
    assert "Only older runs" not in page.partition("## What was claimed")[2]
    assert "| `c` | 1 of 1 (21–100 %) | 1 of 1 (21–100 %) | 7 of 100 |" in other
    assert "| `c` | 1 | 1 valid | 100 |" in other
    assert "| `c`, older | 1 | 1 valid | 100 |" in other


def test_a_claim_that_has_only_older_runs_says_so_once():
    other = {**CELL, "name": "d", "claim": "so does this"}
    told = Lines(all=[older(lost=7), older(cell="d")])
    newer = Lines(all=[older(lost=7), line(cell="d", seed=2)])

    both = study.render({"cells": [CELL, other]}, told).partition("## What was claimed")[2]
    one = study.render({"cells": [CELL, other]}, newer).partition("## What was claimed")[2]

    assert both.count("Only older runs.") == 1
    assert "\nOnly older runs.\nNo record was in the log twice.\n" in both
    assert "| it loses. *Only older runs.* |" in one
    assert "| so does this |" in one


def test_what_all_rows_of_a_table_say_is_said_once():
    cells = [{**CELL, "session_s": 6}, {**CELL, "name": "d", "session_s": 6}]
    told = [line(lost=2, duplicate=2), line(cell="d", duplicate=1)]

    page = study.render({"cells": cells}, Lines(all=told))

    assert "The session was 6 s.\n\n| claim |" in page
    assert "session, s" not in page
    assert "No acknowledged record was lost" not in page
    assert "No acknowledged record was lost" in study.render(
        {"cells": cells[1:]}, Lines(all=told[1:])
    )


def test_what_became_of_lost_records_has_a_table_and_other_anomalies_a_column():
    seen = {"lost": 3, "vanished": 2, "reordered": 5}
    campaign = {"cells": [{**CELL, "part": "p"}, CELL]}

    page = study.render(campaign, Lines(all=[line(anomalies=seen)]))
    other = study.render_older(campaign, Lines(all=[line(anomalies=seen)]))

    assert "| 3 of 100 | reordered 5 |" in page
    assert "| `c` | 3 of 100 | 2 | 0 |" in other


@pytest.mark.parametrize(("newer", "counted"), [(0, 7), (1, 7), (2, 3)])
def test_newer_runs_are_told_elsewhere_once_all_of_them_are_made(newer, counted):
    new = [line(lost=3, seed=seed) for seed in range(newer)]

    assert {counted} == {each["anomalies"]["lost"] for each in settled([older(lost=7), *new], 2)}


def test_what_share_is_lost_is_told_where_a_cell_asks_for_it():
    told = [line(lost=10), line(lost=50), line(lost=0, acked=0)]

    shown = study.share_lost({**CELL, "share_lost": True}, told)

    assert shown is not None
    assert ("2", "30.0 (10.0–50.0)") == (shown["runs"], shown["share"])
    assert study.share_lost(CELL, told) is None


def test_a_leader_that_no_write_reached_for_long_is_told_with_its_run():
    told = [
        line(gaps=(334.7, 2.0), produce_led_s=[316.9, 0.4], run="c/1", verdict="unknown"),
        line(gaps=(80.0,), produce_led_s=[1.5], run="c/2"),  # its leader came late
        line(gaps=(80.0,), produce_led_s=[None], run="c/3"),  # nobody was elected
        line(gaps=(80.0,), run="c/4"),  # from before it was told
    ]

    assert study.led_alone(told) == [
        {"cell": "`c`", "run": "c/1", "verdict": "unknown", "gap": "334.7", "led": "316.9"}
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
        {"cell": "`c`", "run": "c/1", "why": "no load", "acked": "8,503", "failed": "1,496"}
    ]
    page = study.render_older({"cells": [CELL]}, Lines(all=told[:2]))
    assert "| `c/1` | no load | 8,503 | 1,496 |" in page
    assert "without an answer" not in study.render_older({"cells": [CELL]}, Lines(all=told[1:2]))


def test_runs_of_another_kafka_are_a_claim_of_their_own():
    lines = [line(lost=1), line(seed=2), line(seed=3, kafka="4.0.0")]

    one, other = claims.claims({"cells": [CELL]}, lines)

    assert (len(one.newest), len(other.newest)) == (2, 1)
    table = claims.table_of([one, other])
    assert "it loses (Kafka 3.9.2, librdkafka not told, local," in table
    assert "it loses (Kafka 4.0.0," in table
