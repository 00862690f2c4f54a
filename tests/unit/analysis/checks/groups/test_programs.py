"""Outputs of programs: the smallest histories with each anomaly, and their twins without it."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    LOAD_MS,
    doubtful,
    failed,
    final_read,
    found,
    ns_of,
    read,
    sent,
    with_story,
)
from tests.support.story_parts.programs import PAYMENTS, output, outputs, passed

Report = dict[str, Any]
NAMES = ("no-output", "two-outputs", "strange-output", "not-passed")
DEMANDED = {**PAYMENTS, "expect": dict.fromkeys(("no-output", "two-outputs"), "0")}
ONE = sent(1, at=0)


def counts(report: Report) -> dict[str, int]:
    """Of the anomalies of outputs, those that were seen."""
    seen = {name: report["anomalies"][name]["count"] for name in (*NAMES, "vanished", "lost")}
    return {name: count for name, count in seen.items() if count}


@with_story(ONE, final_read(1), outputs(1), passed(1), **DEMANDED)
def test_an_output_each(report: Report) -> None:
    assert counts(report) == {}
    assert report["verdict"] == "valid", report["reasons"]
    assert report["outputs"]["outputs"] == 1


@with_story(ONE, final_read(1), outputs(), passed(1), **DEMANDED)
def test_an_input_that_was_passed_and_has_no_output(report: Report) -> None:
    assert (counts(report), found(report, "no-output")) == ({"no-output": 1}, [1])
    assert report["anomalies"]["no-output"]["convicts"] is False  # the demand does
    assert report["verdict"] == "invalid"


@with_story(
    ONE,
    final_read(1),
    outputs(),
    passed(1),
    **{
        **PAYMENTS,
        "lives": [
            {"process": "payments-0", "started_ns": ns_of(-9), "ended_ns": ns_of(900)},
            {"process": "payments-0-2", "started_ns": ns_of(901)},
        ],
    },
)
def test_it_is_told_who_lived_when_the_input_came(report: Report) -> None:
    assert report["anomalies"]["no-output"]["examples"][0]["reader"] == "payments-0"


@with_story(ONE, final_read(1), outputs(), passed(0), **DEMANDED)
def test_what_the_group_did_not_pass_may_come_still(report: Report) -> None:
    assert counts(report) == {"not-passed": 1}
    assert report["verdict"] == "unknown"
    assert "the programs had not passed 1 input" in report["reasons"][0]


@with_story(ONE, final_read(1), outputs(), **DEMANDED)
def test_without_a_group_nobody_knows_what_was_passed(report: Report) -> None:
    assert counts(report) == {"not-passed": 1}


@with_story(ONE, final_read(1), outputs(), passed(0), **{**DEMANDED, "expect": {"not-passed": "0"}})
def test_an_application_that_stands_still_can_be_convicted(report: Report) -> None:
    assert report["verdict"] == "invalid"


@with_story(ONE, output(1, 0, ms=100), final_read(1), outputs(), passed(1), **DEMANDED)
def test_an_output_that_was_read_and_is_gone_is_kafkas_to_keep(report: Report) -> None:
    assert counts(report) == {"vanished": 1}
    assert report["verdict"] == "invalid"


@with_story(
    ONE, output(1, 0, ms=100), final_read(1), outputs(complete=False), passed(1), **DEMANDED
)
def test_an_incomplete_read_proves_neither(report: Report) -> None:
    assert counts(report) == {}
    assert "the read of the programs' outputs is not complete" in report["reasons"]


@with_story(ONE, final_read(1), outputs(log_start=3), passed(1), **DEMANDED)
def test_outputs_that_were_deleted_prove_nothing(report: Report) -> None:
    assert counts(report) == {}
    assert report["verdict"] == "unknown"


@with_story(ONE, final_read(), outputs(), passed(1), **DEMANDED)
def test_an_input_that_kafka_lost_is_lost_alone(report: Report) -> None:
    assert counts(report) == {"lost": 1}


@with_story(doubtful(1), final_read(1), outputs(), passed(1), **DEMANDED)
def test_an_input_in_doubt_needs_no_output(report: Report) -> None:
    assert counts(report) == {}


@with_story(ONE, final_read(1), outputs(1, 1), passed(1), **DEMANDED)
def test_an_input_with_two_outputs(report: Report) -> None:
    assert (counts(report), found(report, "two-outputs")) == ({"two-outputs": 1}, [1])
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=1), final_read(1, 1), outputs(1, 1), passed(2), **{**DEMANDED, "retries": 9})
def test_a_record_that_kafka_has_twice_is_rightly_answered_twice(report: Report) -> None:
    assert counts(report) == {}
    assert report["anomalies"]["duplicate"]["count"] == 1


@with_story(
    sent(1, at=1),
    read(1, 0, ms=50),
    read(1, 1, ms=60),
    final_read({1: 1}, log_start=1),
    outputs(1, 1),
    passed(2),
    **{**DEMANDED, "retries": 9, "consumers": 1},
)
def test_a_copy_that_a_reader_had_counts_though_it_was_deleted(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    ONE,
    final_read(1),
    outputs(1, 1),
    passed(1),
    **{**DEMANDED, "outputs": {**PAYMENTS["outputs"], "each": "1.."}},
)
def test_several_outputs_may_be_asked_for(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    ONE,
    final_read(1),
    outputs(),
    passed(1),
    **{**DEMANDED, "outputs": {**PAYMENTS["outputs"], "each": "0..1"}},
)
def test_no_output_may_be_right(report: Report) -> None:
    assert counts(report) == {}


@with_story(ONE, final_read(1), outputs(1, 7, None), passed(1), **DEMANDED)
def test_outputs_of_nothing(report: Report) -> None:
    assert counts(report) == {"strange-output": 2}
    assert report["verdict"] == "valid"


@with_story(ONE, doubtful(2), failed(3), final_read(1), outputs(1, 2, 3), passed(1), **DEMANDED)
def test_one_in_doubt_may_have_been_there_and_a_failed_one_not(report: Report) -> None:
    assert found(report, "strange-output") == [3]


@with_story(
    sent(1, at=0, ms=0),
    output(1, 0, ms=3000),
    sent(2, at=1, ms=4000),
    output(2, 1, ms=4100),
    final_read(1, 2),
    outputs(1, 2),
    passed(2),
    **{**PAYMENTS, "expect": {"output-gap-s": "<= 2", "through-p99-ms": "<= 5000"}},
)
def test_how_long_inputs_waited(report: Report) -> None:
    assert report["longest_window_s"]["output"] == 2.995
    assert report["gap_demands"]["output-gap-s"]["demand_met"] is False
    assert report["outputs"]["through_ms"]["max"] == 3000
    assert report["level_demands"]["through-p99-ms"]["demand_met"] is True


@with_story(
    ONE, final_read(1), outputs(1), passed(1), **{**PAYMENTS, "expect": {"through-p99-ms": "<= 9"}}
)
def test_an_input_that_nobody_saw_answered_makes_the_time_through_unknown(report: Report) -> None:
    assert report["level_demands"]["through-p99-ms"]["demand_met"] is None
    assert report["verdict"] == "unknown"


@with_story(
    ONE,
    final_read(1),
    outputs(1),
    passed(1),
    **{
        **PAYMENTS,
        "expect": {"unordered-ends": "0"},
        "lives": [
            {"process": "payments-0", "started_ns": 1, "ended_ns": 2, "exit": 1, "unordered": True}
        ],
    },
)
def test_ends_that_nobody_ordered_can_be_demanded(report: Report) -> None:
    assert report["count_demands"]["unordered-ends"]["seen"] == 1
    assert report["verdict"] == "invalid"
    assert report["programs"][0]["process"] == "payments-0"


@with_story(
    sent(1, at=0, ms=0),
    *(sent(n, at=n - 1, ms=10 * n) for n in range(2, 40)),
    output(1, 0, ms=9000),
    final_read(*range(1, 40)),
    outputs(*range(1, 40)),
    passed(39),
    **{**PAYMENTS, "threshold_ms": LOAD_MS},
)
def test_many_inputs_with_an_output_each(report: Report) -> None:
    assert counts(report) == {}
