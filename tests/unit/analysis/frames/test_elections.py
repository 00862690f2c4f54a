"""Elections: the new leader's log end, and whether exactly what lay past it is lost."""

from __future__ import annotations

from typing import Any

from analysis.frames.elections import Election, elections
from analysis.stored.replica_samples import Look
from tests.support.histories import LOAD_MS, fault, final_read, look, sent, view, with_story

Report = dict[str, Any]
SECOND = 10**9


def at(second: int, leader: str | None, **ends: int | None) -> Look:
    return Look(time_ns=second * SECOND, leader=leader, ends=ends)


def test_an_election_has_the_log_ends_of_the_look_before():
    looks = {0: [at(1, "a", a=5, b=5), at(2, "a", a=9, b=5), at(3, "b", a=9, b=5)]}

    assert elections(looks) == [
        Election(
            partition=0,
            broker="b",
            before="a",
            looked_ns=2 * SECOND,
            elected_ns=3 * SECOND,
            log_end=5,
            end_before=9,
        )
    ]


def test_a_leader_that_stays_was_not_elected_again():
    assert elections({0: [at(1, "a", a=5, b=5), at(2, "a", a=9, b=5)]}) == []


def test_a_leader_that_is_back_after_silence_was_not_elected_again():
    assert elections({0: [at(1, "a", a=5), at(2, None, a=6), at(3, "a", a=7)]}) == []


def test_one_that_leads_after_silence_had_what_it_had_last():
    (found,) = elections({0: [at(1, "a", a=9, b=4), at(2, None, a=9, b=5), at(3, "b", a=9, b=8)]})

    assert (found.before, found.log_end) == ("a", 5)


def test_a_broker_without_a_log_is_passed_over():
    assert elections({0: [at(1, "a", a=9, b=None), at(2, "b", a=9, b=0)]}) == []


# kafka1 goes on alone with 2 and 3; at 5 s kafka2 leads, whose log ends at 2.
UNCLEAN = {"unclean.leader.election.enable": "true"}
ALONE = (
    fault("kill", "leader", ms=4000, for_ms=3000, nodes=["kafka1"]),
    view("kafka1", ms=0, isr=("kafka1",)),
    view("kafka2", ms=5000, isr=("kafka2",)),
    sent(1, at=0, ms=100),
    sent(2, at=1, ms=200),
    sent(3, at=2, ms=3000),
    sent(4, at=3, ms=3100),
    look(2, 2, 2, ms=1000),
    look(4, 2, 2, ms=3900, isr=(1,)),
    look(4, 2, 2, ms=4900, isr=(1,)),
    look(2, 2, 2, ms=5000, leader=2, isr=(2,)),
    look(4, 4, 4, ms=LOAD_MS + 1, leader=2),
)
EXACTLY = {"lost": ">= 1", "kept-past-log-end": "0", "lost-within-log-end": "0"}
FOLLOWED: dict[str, Any] = {"watched": True, "server": UNCLEAN, "expect": EXACTLY}


@with_story(*ALONE, sent(5, at=2, ms=6000), final_read(1, 2, 5), **FOLLOWED)
def test_exactly_what_the_new_leader_lacked_is_lost(report: Report) -> None:
    followed = report["replication"]
    assert followed["elections"] == [
        {
            "partition": 0,
            "broker": "kafka2",
            "before": "kafka1",
            "elected_s": 5.0,
            "log_end": 2,
            "end_before": 4,
        },
    ]
    assert (followed["lost_past_log_end"], followed["kept_past_log_end"]) == (2, 0)
    assert followed["lost_within_log_end"] == 0
    assert report["count_demands"]["kept-past-log-end"]["demand_met"] is True
    assert report["verdict"] == "valid"


@with_story(*ALONE, final_read(1, 2, 3), **FOLLOWED)
def test_a_record_past_the_log_end_that_is_found_all_the_same_is_kept(report: Report) -> None:
    followed = report["replication"]
    assert (followed["lost_past_log_end"], followed["kept_past_log_end"]) == (1, 1)
    assert report["reasons"] == ["kept-past-log-end: 0 demanded, 1 was seen"]
    assert "The scenario demands kept-past-log-end 0, but 1 was seen." in report["sentence"]


@with_story(*ALONE, final_read(1), **FOLLOWED)
def test_a_record_that_the_new_leader_had_is_lost_within(report: Report) -> None:
    assert report["replication"]["lost_within_log_end"] == 1
    assert report["reasons"] == ["lost-within-log-end: 0 demanded, 1 was seen"]


@with_story(*ALONE, sent(5, at=2, ms=4950), final_read(1, 2, 5), **FOLLOWED)
def test_an_ack_since_the_look_before_may_be_the_new_leader_s(report: Report) -> None:
    assert report["replication"]["kept_past_log_end"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0, ms=0),
    final_read({}),
    look(1, 1, 1, ms=100),
    look(1, 1, 1, ms=LOAD_MS + 1),
    **FOLLOWED,
)
def test_what_is_lost_without_an_election_lay_past_no_log_end(report: Report) -> None:
    assert report["replication"]["elections"] == []
    assert report["count_demands"]["lost-within-log-end"] == {
        "seen": 1,
        "demanded": "0",
        "demand_met": False,
    }
