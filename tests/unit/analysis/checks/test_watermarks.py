"""Watermark-ahead and early-read: the smallest histories that show them, and their twins."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    LOAD_MS,
    fault,
    final_read,
    found,
    look,
    read,
    sent,
    view,
    with_story,
)

Report = dict[str, Any]
LAST = look(2, 2, 2, ms=LOAD_MS + 1)  # somebody looked until the load had ended


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    final_read(1, 2),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=200, marks=[2, 1, 1]),
    LAST,
    watched=True,
)
def test_a_watermark_above_a_log_end_of_the_isr_is_ahead(report: Report) -> None:
    """The leader's watermark is 2, and kafka2, in the ISR, has one record."""
    found_ = report["anomalies"]["watermark-ahead"]
    assert (found_["count"], found_["convicts"]) == (1, True)
    row = found_["examples"][0]
    assert (row["offset"], row["other_offset"], row["time_s"]) == (2, 1, 0.2)
    assert report["verdict"] == "invalid"


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    final_read(1, 2),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=200, marks=[2, 1, 1], isr=(1, 3)),
    LAST,
    watched=True,
)
def test_a_replica_outside_the_isr_may_lag(report: Report) -> None:
    assert report["anomalies"]["watermark-ahead"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0, ms=0),
    final_read(1),
    look(2, 1, 1, ms=100, marks=[1, 1, 1]),
    look(2, None, 1, ms=150, marks=[1, None, 1]),
    look(2, 0, 1, ms=200, marks=[1, 1, 1], isr=None),
    LAST,
    watched=True,
)
def test_a_look_without_an_isr_and_a_broker_without_a_log_convict_nobody(report: Report) -> None:
    assert report["anomalies"]["watermark-ahead"]["count"] == 0


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    read(1, 0, ms=30),
    read(2, 1, ms=150),
    final_read(1, 2),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=200, marks=[1, 1, 1]),
    LAST,
    watched=True,
)
def test_a_record_that_a_member_of_the_isr_lacks_was_read_early(report: Report) -> None:
    """Record 2 was read at 150 ms; the look at 200 ms shows kafka2, in the ISR, without it."""
    early = report["anomalies"]["early-read"]
    assert (early["count"], early["convicts"], found(report, "early-read")) == (1, True, [2])
    row = early["examples"][0]
    assert (row["offset"], row["other_offset"], row["time_s"]) == (1, 1, 0.15)
    assert "1 record was read before every in-sync replica had it" in report["sentence"]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    read(2, 1, ms=150),
    final_read(1, 2),
    look(2, 1, 2, ms=100, marks=[1, 1, 1]),
    look(2, 2, 2, ms=200),
    LAST,
    watched=True,
)
def test_what_every_member_had_at_the_next_look_was_not_read_early(report: Report) -> None:
    """What kafka2 lacked *before* the read proves nothing."""
    assert report["anomalies"]["early-read"]["count"] == 0


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    read(2, 1, ms=3500),
    final_read(1, 2),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=5200, marks=[1, 1, 1]),
    LAST,
    watched=True,
)
def test_the_next_look_may_be_seconds_later(report: Report) -> None:
    """ZooKeeper was silent in between."""
    assert found(report, "early-read") == [2]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    read(2, 1, ms=150),
    final_read(1),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=200, marks=[2, 1, 1]),
    LAST,
    watched=True,
    topic={"unclean.leader.election.enable": "true"},
)
def test_without_a_fault_unclean_election_excuses_nothing(report: Report) -> None:
    assert report["anomalies"]["early-read"]["convicts"]
    assert report["anomalies"]["watermark-ahead"]["convicts"]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    read(2, 1, ms=150),
    final_read(1, 2),
    fault("kill", ms=120),
    view("kafka1", ms=-1000, isr=["kafka1"]),
    view("kafka2", ms=130, isr=["kafka2"], epoch=1),
    look(2, 2, 2, ms=100),
    look(2, 1, 2, ms=200, marks=[2, 1, 1]),
    LAST,
    watched=True,
    topic={"unclean.leader.election.enable": "true"},
)
def test_a_new_leader_that_lacks_records_may_do_so_where_it_is_allowed(report: Report) -> None:
    assert not report["anomalies"]["early-read"]["forbidden"]
    assert report["anomalies"]["early-read"]["count"] == 1


@with_story(sent(1, at=0, ms=0), final_read(1), watched=True)
def test_replicas_that_nobody_followed_prove_nothing(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"] == ["the replicas' watermarks were not sampled"]


@with_story(sent(1, at=0, ms=0), final_read(1), look(1, 1, 1, ms=700), watched=True)
def test_nor_do_those_that_were_followed_for_a_while(report: Report) -> None:
    assert report["reasons"] == ["the replicas' watermarks were sampled until 0.7 s only"]


@with_story(sent(1, at=0), final_read(1))
def test_other_runs_do_not_speak_of_it(report: Report) -> None:
    assert {"watermark-ahead", "early-read"}.isdisjoint(report["anomalies"])
    assert report["replication"] is None
