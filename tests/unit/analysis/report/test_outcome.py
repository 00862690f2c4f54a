"""The labels of a run: what happened to the data, what the verdict says, and CAP's letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from analysis.measures.cap import Availability
from analysis.report.outcome import cap, outcome, verdict_words
from analysis.verdict.judge import SURE, Judgement, Tally, Verdict, judge
from tests.baseline.cells import CONFIGURATIONS, Case
from tests.baseline.permissions import permission_in
from tests.support.histories import doubtful, fault, final_read, moved, sent, with_story

Report = dict[str, Any]
VALID = Verdict(name="valid", reasons=())
SESSION = {"zookeeper.session.timeout.ms": 2000}
KILLED = fault("kill", ms=3000, for_ms=6000, healing_took=0)  # until 9 s
BEFORE = (sent(1, at=0), sent(2, at=1, ms=2900), KILLED)
IN_TIME = sent(3, at=2, ms=3100, took=2900)  # acked at 6 s
TOO_LATE = sent(3, at=2, ms=3100, took=6100)  # acked at 9.2 s


def judged(
    counts: Mapping[str, int] = MappingProxyType({}), configuration: str = "acks=1"
) -> dict[str, Judgement]:
    """So many of each anomaly, all permitted."""
    run = permission_in(CONFIGURATIONS[configuration], Case(verb=None, target="", nodes=()))
    tallies = {name: Tally(count=count, permitted=count) for name, count in counts.items()}
    return judge(tallies, run.promised, {}, SURE)


@pytest.mark.parametrize(
    ("counts", "data", "words"),
    [
        ({}, "kept", "no acknowledged record lost"),
        ({"lost": 8}, "lost", "8 of 10,000 acknowledged records lost"),
        ({"lost": 8, "duplicate": 1}, "lost", "8 of 10,000 acknowledged records lost, 1 duplicate"),
        ({"lost": 8, "vanished": 8}, "lost", "8 of 10,000 acknowledged records lost"),
        ({"vanished": 2}, "lost", "no acknowledged record lost, 2 vanished records"),
        ({"duplicate": 3}, "disturbed", "no acknowledged record lost, 3 duplicates"),
        ({"stale-read": 3}, "kept", "no acknowledged record lost"),
    ],
)
def test_the_outcome_says_what_happened_to_the_data(
    counts: dict[str, int], data: str, words: str
) -> None:
    assert outcome(judged(counts), (), 10_000).written() == {"data": data, "words": words}


def test_what_is_not_known_is_no_outcome_unless_a_loss_is_proved() -> None:
    doubts = ("the final read is not complete",)

    assert outcome(judged(), doubts, 9).written() == {
        "data": "unknown",
        "words": "not known whether data was lost",
    }
    assert outcome(judged({"duplicate": 2}), doubts, 9).words.endswith("lost, 2 duplicates")
    assert outcome(judged({"lost": 1}), doubts, 9).words == "1 of 9 acknowledged records lost"


def test_what_rests_on_damage_is_neither_an_outcome_nor_a_letter() -> None:
    found = judged({"lost": 2})
    found["lost"] = replace(found["lost"], suspended="a table is cut")

    assert outcome(found, (), 9).data == "unknown"
    assert cap(Verdict(name="invalid", reasons=("x",)), found, (), UP).consistent is None


def test_with_acks_0_nothing_acknowledged_is_no_record_kept() -> None:
    assert outcome(judged(configuration="acks=0"), (), 0).words == "nothing was acknowledged"
    gone = outcome(judged({"unacknowledged-lost": 4}, "acks=0"), (), 0)
    assert gone.written() == {
        "data": "lost",
        "words": "nothing was acknowledged, 4 unacknowledged lost records",
    }


@pytest.mark.parametrize(
    ("name", "reasons", "data", "demanded", "words"),
    [
        ("valid", (), "kept", True, "as this configuration promises and this scenario expects"),
        ("valid", (), "kept", False, "as this configuration promises"),
        (
            *("valid", (), "lost", True),
            "this configuration allows that, and what the scenario expects was seen",
        ),
        ("valid", (), "disturbed", False, "this configuration allows that"),
        ("invalid", ("lost: 3 seen",), "lost", True, "lost: 3 seen"),
        ("invalid", ("lost: 3 seen", "b", "c"), "lost", True, "lost: 3 seen, and 2 more"),
        ("unknown", ("no acks",), "unknown", True, "no acks"),
    ],
)
def test_the_verdict_says_what_broke_or_what_is_missing(
    name: Any, reasons: tuple[str, ...], data: str, demanded: bool, words: str
) -> None:
    assert verdict_words(Verdict(name=name, reasons=reasons), data, demanded=demanded) == words


UP, NOT_KNOWN = Availability(value=True, words="stayed available"), Availability(value=None)
DOWN = Availability(value=False, words="no write accepted until the leader came back")


@pytest.mark.parametrize(
    ("available", "counts", "label", "words"),
    [
        (UP, {"lost": 2593}, "AP", "stayed available, lost 2,593 acknowledged records"),
        (UP, {"vanished": 1}, "AP", "stayed available, 1 record vanished"),
        (UP, {"inconsistent-offset": 2}, "AP", None),
        (UP, {"duplicate": 2}, "CA", "stayed available, nothing lost"),
        (DOWN, {}, "CP", "nothing lost, no write accepted until the leader came back"),
        (
            DOWN,
            {"lost": 1},
            "",
            "lost 1 acknowledged record, no write accepted until the leader came back",
        ),
        (NOT_KNOWN, {}, "", ""),
        (Availability(value=None, words="too short"), {}, "", "cannot be told: too short"),
    ],
)
def test_the_letters_are_judged_separately(
    available: Availability, counts: dict[str, int], label: str, words: str | None
) -> None:
    found = cap(VALID, judged(counts), (), available)

    assert found.available is available.value
    assert found.consistent is not (counts.keys() - {"duplicate"} != set())
    assert found.label == label
    assert words in {found.words, None}


def test_an_unknown_run_has_no_letters() -> None:
    """Whatever makes it so: here a record of which it is not known what permits it."""
    found = cap(Verdict(name="unknown", reasons=("x",)), judged(), (), UP)

    assert found.written() == {"available": None, "consistent": None, "label": "", "words": ""}


def test_of_an_invalid_run_with_doubts_only_what_is_proved_is_a_letter() -> None:
    invalid = Verdict(name="invalid", reasons=("lost: 1 seen",))

    assert cap(invalid, judged({"lost": 1}), ("x",), UP).consistent is False
    assert cap(invalid, judged({"duplicate": 1}), ("x",), UP).consistent is None
    assert cap(invalid, judged({"lost": 1}), ("x",), UP).available is None


# The whole check


@with_story(
    *BEFORE,
    *moved(ms=5000),
    IN_TIME,
    doubtful(9),
    final_read(1, 9, 3),
    acks="1",
    server=SESSION,
)
def test_a_permitted_loss_has_its_outcome_beside_a_valid_verdict(report: Report) -> None:
    assert report["verdict"] == "valid"
    assert report["outcome"] == {
        "data": "lost",
        "words": "3 of 6 sends acknowledged; 3 failed (timed out), 1 of these is in the log; 1 of "
        "3 acknowledged records lost",
    }
    assert report["verdict_words"] == "this configuration allows that"
    assert report["cap"]["words"] == "available after a gap of 3.0 s, lost 1 acknowledged record"


@with_story(*BEFORE, *moved(ms=5000), IN_TIME, final_read(1, 2, 3), acks="1", server=SESSION)
def test_who_keeps_the_data_and_goes_on_is_ca(report: Report) -> None:
    assert report["outcome"]["data"] == "undelivered"
    assert report["cap"]["label"] == "CA"


@with_story(*BEFORE, TOO_LATE, final_read(1, 2, 3), acks="1", server=SESSION)
def test_who_keeps_the_data_and_waits_for_the_leader_is_cp(report: Report) -> None:
    assert report["cap"] == {
        "available": False,
        "consistent": True,
        "label": "CP",
        "words": "nothing lost, no write accepted until the leader came back",
    }


@with_story(*BEFORE, TOO_LATE, final_read({0: 1, 2: 3}), acks="1", server=SESSION)
def test_who_waits_and_loses_all_the_same_is_neither(report: Report) -> None:
    assert (report["cap"]["available"], report["cap"]["consistent"]) == (False, False)
    assert report["cap"]["label"] == ""
    assert ". Data was lost: 1 of 3" in report["sentence"]


@with_story(*BEFORE, TOO_LATE, final_read(1, 2, 3), acks="1")
def test_with_kafka_s_default_session_the_same_gap_has_no_letters(report: Report) -> None:
    assert report["cap"]["label"] == ""
    assert "healing began after 6.0 s, before a failover can end (18 s)" in report["cap"]["words"]


@with_story(sent(1, at=0), final_read(1))
def test_a_run_without_faults_has_no_letters(report: Report) -> None:
    assert report["cap"] == {"available": None, "consistent": True, "label": "", "words": ""}


GAP = {"produce-gap-s": "<= 2"}


@with_story(*BEFORE, *moved(ms=5000), IN_TIME, final_read(1, 2, 3), server=SESSION, expect=GAP)
def test_an_unmet_demand_is_the_headline(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["sentence"].startswith(
        "The scenario demands that writes stop for at most 2 s, but"
    )
    assert "No acknowledged data was lost: all 3" in report["sentence"]
    assert report["verdict_words"] == "produce-gap-s: at most 2 demanded, the longest lasted 3.0 s"


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 1, 2), retries=0)
def test_a_broken_promise_is_the_headline(report: Report) -> None:
    """Though nothing was lost."""
    assert report["sentence"].startswith("1 record is in the log more than once, which Kafka")
    assert report["outcome"]["data"] == "disturbed"
