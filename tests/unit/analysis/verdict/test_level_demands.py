"""Demands on latencies, shares and redeliveries: met, broken, undecided, and how they are told."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.demands import DemandError, level_words, parse
from analysis.verdict.judge import SURE, Unsure, decide, judge_counts, judge_levels
from tests.support.histories import (
    aborted,
    damage,
    doubtful,
    failed,
    final_read,
    polled,
    processed,
    read,
    sent,
    with_story,
)

Report = dict[str, Any]
COUNTS = {"sends": 200, "failed": 5, "aborted": 4, "indeterminate": 2}
P99_MS = {"ack-p99-ms": 40.0, "delivery-p99-ms": 90.0}


@pytest.mark.parametrize(
    ("demand", "text", "met"),
    [
        ("error-share", "<= 1.5 %", True),
        ("error-share", "<= 1.4 %", False),
        ("error-share", ">= 1 %", True),
        ("error-share", "1 to 2 %", True),
        ("error-share", "2 to 3%", False),
        ("ack-p99-ms", "<= 40", True),
        ("ack-p99-ms", "<= 39.9", False),
        ("delivery-p99-ms", "50 to 100", True),
        ("delivery-p99-ms", ">= 90.5", False),
    ],
)
def test_a_level_meets_its_demand_or_breaks_it(demand: str, text: str, met: bool) -> None:
    """One failed and two in doubt of 200 are 1.5 %."""
    levels = judge_levels(COUNTS, P99_MS, parse({demand: text}), SURE)

    assert levels[demand].met is met
    assert decide({}, SURE, levels).name == ("valid" if met else "invalid")


@pytest.mark.parametrize("text", ["<= 1 %", ">= 1 %"])
def test_a_level_of_which_not_all_is_known_is_neither_met_nor_broken(text: str) -> None:
    """What nobody saw can make a share larger or smaller."""
    doubted = Unsure(doubts=("a doubt",))
    levels = judge_levels(COUNTS, P99_MS, parse({"error-share": text}), doubted)

    assert levels["error-share"].met is None
    assert decide({}, doubted, levels).name == "unknown"


def test_where_there_was_nothing_to_measure_no_demand_is_met() -> None:
    levels = judge_levels(
        {"sends": 0, "failed": 0, "aborted": 0, "indeterminate": 0},
        {},
        parse({"ack-p99-ms": "<= 5", "error-share": "<= 5 %"}),
        SURE,
    )

    assert decide({}, SURE, levels).reasons == (
        "ack-p99-ms: at most 5 demanded, there was none",
        "error-share: at most 5 % demanded, there was none",
    )


def test_redeliveries_are_a_count_that_can_only_grow() -> None:
    met = {
        (text, seen, known): judge_counts(
            {"redeliveries": seen},
            parse({"redeliveries": text}),
            SURE if known else Unsure(doubts=("a doubt",)),
        )["redeliveries"].met
        for text, seen, known in (
            ("0", 0, True),
            ("0", 1, False),
            ("0", 0, False),
            (">= 1", 1, False),
        )
    }

    assert list(met.values()) == [True, False, None, True]


@pytest.mark.parametrize(("seen", "met"), [(0, False), (1, True)])
def test_an_expelled_owner_that_is_demanded_must_be_seen(seen: int, met: bool) -> None:
    demands = parse({"expelled-owners": ">= 1"})

    judged = judge_counts({"expelled": seen}, demands, SURE)
    assert judged["expelled-owners"].met is met
    assert decide({}, SURE, judged).name == ("valid" if met else "invalid")


@pytest.mark.parametrize(
    ("demand", "text", "words"),
    [
        ("error-share", "<= 1", 'is not a demand in %; write "<= 1 %", ">= 0.5 %" or "1 to 5 %"'),
        ("error-share", "1 %", "is not a demand in %"),
        ("ack-p99-ms", "500", 'is not a demand in ms; write "<= 500", ">= 20" or "5 to 100"'),
        ("delivery-p99-ms", "<= 5 %", "is not a demand in ms"),
        ("redeliveries", "<= 0.5", "is not a demand; write"),
    ],
)
def test_a_level_has_a_form_of_its_own(demand: str, text: str, words: str) -> None:
    with pytest.raises(DemandError, match=f"expect.{demand}: '{text}' {words}"):
        parse({demand: text})


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, "none"),
        (0.0, "0 %"),
        (1.5, "1.5 %"),
        (0.001, "0.001 %"),
        (100.0, "100 %"),
        (1234.5, "1,234.5 %"),
    ],
)
def test_what_is_above_nothing_is_never_told_as_nothing(seen: float | None, words: str) -> None:
    assert level_words(seen, "%") == words


# Whole runs


def demanded(report: Report) -> dict[str, tuple[Any, Any]]:
    found = {**report["level_demands"], **report["count_demands"]}
    return {name: (each["seen"], each["demand_met"]) for name, each in found.items()}


@with_story(
    sent(1, at=0, ms=1000, took=20, due=980),
    read(1, at=0, ms=1060),
    final_read(1),
    consumers=1,
    expect={
        "ack-p99-ms": "<= 40",
        "delivery-p99-ms": "<= 80",
        "error-share": "<= 0 %",
        "redeliveries": "0",
    },
)
def test_latencies_count_from_when_a_send_was_due(report: Report) -> None:
    """Due at 0.98 s, acked at 1.02 s, given to a consumer at 1.06 s."""
    assert demanded(report) == {
        "ack-p99-ms": (40.0, True),
        "delivery-p99-ms": (80.0, True),
        "error-share": (0.0, True),
        "redeliveries": (0, True),
    }
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0, ms=1000, took=20, due=980),
    read(1, at=0, ms=1060),
    read(1, at=0, ms=1070),
    failed(2, ms=1100),
    doubtful(3, ms=1200),
    sent(4, at=1, ms=1300),
    read(4, at=1, ms=1310),
    final_read(1, 4),
    consumers=1,
    expect={
        "ack-p99-ms": "<= 39",
        "delivery-p99-ms": "<= 79",
        "error-share": "<= 49 %",
        "redeliveries": "0",
    },
)
def test_the_same_is_broken_where_less_is_asked_for(report: Report) -> None:
    """The twin: half of the sends did not end well, and a record came twice."""
    assert report["verdict"] == "invalid"
    assert [met for _, met in demanded(report).values()] == [False] * 4
    assert report["level_demands"]["error-share"]["seen"] == 50.0
    assert "error-share: at most 49 % demanded, it was 50 %" in report["reasons"]
    assert "The scenario demands error-share at most 49 %, but it was 50 %." in report["sentence"]


@with_story(
    sent(1, at=0, ms=1000),
    read(1, at=0, ms=1010),
    aborted(2, ms=1100),
    aborted(3, ms=1200),
    failed(4, ms=1300),
    final_read(1),
    consumers=1,
    expect={"error-share": "<= 25 %"},
)
def test_what_a_client_aborted_without_an_error_did_not_go_wrong(report: Report) -> None:
    """Two were aborted on purpose, one was refused: one of four."""
    assert demanded(report) == {"error-share": (25.0, True)}
    assert (report["counts"]["failed"], report["counts"]["aborted"]) == (3, 2)


@with_story(
    sent(1, at=0, ms=1000),
    read(1, at=0, ms=1010),
    sent(2, at=1, ms=2000),
    read(2, at=1, ms=2010),
    damage("no-end"),
    final_read(1, 2),
    consumers=1,
    expect={"ack-p99-ms": "<= 1", "error-share": ">= 50 %", "redeliveries": "0"},
)
def test_in_a_run_of_which_not_all_is_known_they_stay_open(report: Report) -> None:
    """Nobody knows what the producer did last."""
    assert report["verdict"] == "unknown"
    assert [met for _, met in demanded(report).values()] == [None] * 3


# Delivery


@with_story(
    sent(1, at=0, ms=1000),
    read(1, at=0, ms=1100),
    sent(2, at=1, ms=2000, due=2000),
    final_read(1, 2),
    consumers=1,
    expect={"delivery-p99-ms": "<= 7900"},
)
def test_a_record_that_nobody_was_given_waited_until_the_load_ended(report: Report) -> None:
    """It was due at 2 s, and the load ended at 10 s: p99 lies close to that."""
    assert report["latency_ms"]["delivery"]["max"] == 8000.0
    assert report["level_demands"]["delivery-p99-ms"]["demand_met"] in (False, None)


@with_story(
    sent(1, at=0, ms=1000),
    read(1, at=0, ms=1100),
    sent(2, at=1, ms=2000),
    doubtful(3, ms=2000),
    failed(4, ms=2000),
    final_read(1),
    consumers=1,
    acks="1",
)
def test_what_is_gone_or_was_never_there_waits_for_nobody(report: Report) -> None:
    """The twin: lost, in doubt and not landed, failed."""
    assert report["latency_ms"]["delivery"]["max"] == 100.0


@with_story(sent(1, at=0, ms=1000), doubtful(2, ms=2000), final_read(1, 2), consumers=0)
def test_where_nobody_reads_there_is_no_delivery(report: Report) -> None:
    assert report["latency_ms"]["delivery"] is None


@with_story(
    sent(1, at=0, ms=1000),
    polled(1, at=0, ms=1030, process="group-consumer-1"),
    processed(1, at=0, ms=1500, process="group-consumer-1"),
    final_read(1),
    commit="after",
    expect={"delivery-p99-ms": "<= 30"},
)
def test_a_member_of_the_group_is_a_consumer_too(report: Report) -> None:
    """It was given the record after 30 ms, however long it worked at it."""
    assert report["latency_ms"]["delivery"]["p99"] == 30.0
