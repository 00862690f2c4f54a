"""Diverged: the smallest history that shows it, and its twins."""

from __future__ import annotations

from typing import Any

from tests.support.histories import aborted, doubtful, final_read, replica, sent, split, with_story

Report = dict[str, Any]
OLD = {"inter.broker.protocol.version": "0.10.2"}
# Two records that a consumer was given, and that kafka1 and kafka2 have.
TWO = (
    sent(1, at=0),
    sent(2, at=1),
    final_read(1, 2),
    replica(1, 1, 2),
    replica(2, 1, 2),
)


@with_story(*TWO, replica(3, 1, 7), compared=True, server=OLD)
def test_two_values_at_one_offset_of_two_replicas_have_diverged(report: Report) -> None:
    """kafka3 has another record at offset 1; no fault moved the leader, so it is forbidden."""
    found = report["anomalies"]["diverged"]
    assert (found["count"], found["convicts"]) == (1, True)
    row = found["examples"][0]
    assert (row["offset"], row["value"], row["other_value"]) == (1, 2, 7)
    assert "1 record is not the same on every replica" in report["sentence"]
    assert report["anomalies"]["phantom"]["count"] == 0


@with_story(*TWO, replica(3, 1), compared=True)
def test_a_replica_that_lacks_a_committed_record_has_diverged(report: Report) -> None:
    """A consumer was given 2, and kafka3, in the ISR, does not have it."""
    assert split(report, "diverged") == {"differs": 0, "lacks": 1}
    row = report["anomalies"]["diverged"]["examples"][0]
    assert (row["offset"], row["value"], row["other_value"]) == (1, 2, None)
    assert report["verdict"] == "invalid"


@with_story(*TWO, replica(3), compared=True)
def test_an_empty_log_lacks_every_record(report: Report) -> None:
    assert split(report, "diverged") == {"differs": 0, "lacks": 2}


@with_story(*TWO, replica(3, 2, log_start=1), compared=True)
def test_what_lies_below_its_own_log_start_no_replica_must_have(report: Report) -> None:
    """The twin: kafka3's log begins at 1."""
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    doubtful(2),
    final_read(1),
    replica(1, 1, 2),
    replica(2, 1),
    replica(3, 1),
    compared=True,
)
def test_a_record_that_no_consumer_is_given_may_be_on_one_replica_only(report: Report) -> None:
    """It is not committed."""
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    final_read(1, complete=False),
    replica(1, 1),
    replica(2, 1),
    replica(3),
    compared=True,
)
def test_a_final_read_that_is_not_complete_asks_nothing_of_replicas(report: Report) -> None:
    assert report["anomalies"]["diverged"]["count"] == 0


@with_story(
    sent(1, at=0),
    final_read(1),
    replica(1, 7),
    replica(2, 7),
    replica(3, 7),
    compared=True,
)
def test_replicas_that_all_hold_another_value_than_was_read_have_diverged(report: Report) -> None:
    assert split(report, "diverged") == {"differs": 1, "lacks": 0}


@with_story(
    sent(1, at=0),
    aborted(2),
    sent(3, at=3),
    final_read({0: 1, 3: 3}),
    replica(1, 1, 2, None, 3),
    replica(2, 1, 2, None, 3),
    replica(3, 1, 2, None, 3),
    compared=True,
    isolation="read_committed",
    idempotent=True,
)
def test_aborted_records_and_the_offsets_of_commits_are_no_divergence(report: Report) -> None:
    """The replicas have 2, which no reader of committed records is given."""
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    final_read(1, 2),
    replica(1, 1, 2, dumped=False),
    replica(2, 1, 2, dumped=False),
    replica(3, 1, dumped=False),
    compared=True,
)
def test_where_nothing_tells_the_ends_of_the_dumps_a_shorter_log_is_nothing(
    report: Report,
) -> None:
    """So old runs are."""
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    final_read(1),
    replica(1, 1, dumped=False),
    replica(3, 7, dumped=False),
    compared=True,
)
def test_replicas_of_old_runs_are_compared_with_each_other(report: Report) -> None:
    assert split(report, "diverged") == {"differs": 1, "lacks": 0}


@with_story(sent(1, at=0), final_read(1), replica(1, 1), replica(2, 1), compared=True)
def test_a_replica_that_was_not_dumped_is_unknown(report: Report) -> None:
    assert report["anomalies"]["diverged"]["count"] == 0
    assert report["verdict"] == "unknown"
    assert report["reasons"] == ["the replica of partition 0 on kafka3 was not dumped"]


@with_story(sent(1, at=0), final_read(1), replica(1, 1), replica(2, 1), compared=True, replicas=2)
def test_as_many_dumps_as_replicas_are_enough(report: Report) -> None:
    """The twin: the third broker has none."""
    assert report["verdict"] == "valid"


@with_story(sent(1, at=0), final_read(1), compared=True)
def test_replicas_that_were_not_compared_prove_nothing(report: Report) -> None:
    """The run was to compare them."""
    assert report["reasons"] == ["the replicas' logs were not compared"]


@with_story(sent(1, at=0), final_read(1))
def test_runs_that_do_not_compare_replicas_do_not_speak_of_them(report: Report) -> None:
    """Neither as found nor as looked for."""
    assert "diverged" not in report["anomalies"]
