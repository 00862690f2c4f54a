"""Lost, vanished, unseen: the smallest history of each, and its twin without it."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    damage,
    doubtful,
    fault,
    final_read,
    found,
    looked_up,
    read,
    sent,
    split,
    unasked,
    view,
    with_story,
)

Report = dict[str, Any]


# --- lost


@with_story(sent(1, at=0), sent(2, at=1), final_read(1))
def test_an_acked_record_missing_from_a_complete_final_read_is_lost(report: Report) -> None:
    """2 was acknowledged at offset 1; the final read reached the log's end and saw only 1."""
    assert found(report, "lost") == [2]
    assert split(report, "lost") == {"delivered_before": 0, "never_delivered": 1}


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 2))
def test_an_acked_record_in_the_final_read_is_not_lost(report: Report) -> None:
    """The twin: the final read saw both."""
    assert found(report, "lost") == []


@with_story(sent(1, at=0), sent(2, at=1), read(2, at=1), final_read(1))
def test_a_lost_record_that_a_consumer_had_is_told_apart(report: Report) -> None:
    """2 was delivered before it was lost."""
    assert split(report, "lost") == {"delivered_before": 1, "never_delivered": 0}


@with_story(sent(1, at=0), looked_up(1, at=0), final_read())
def test_a_look_up_that_found_it_is_a_delivery(report: Report) -> None:
    """write-read's look-up was given 1, and it is gone."""
    assert split(report, "lost") == {"delivered_before": 1, "never_delivered": 0}


@with_story(sent(1, at=None), final_read())
def test_an_ack_without_offset_is_checked_by_value(report: Report) -> None:
    """DUPLICATE_SEQUENCE_NUMBER is an ack without an offset; the value is nowhere."""
    assert found(report, "lost") == [1]
    assert report["counts"]["acked_without_offset"] == 1


@with_story(sent(1, at=None), final_read(1))
def test_an_ack_without_offset_whose_value_is_there_is_not_lost(report: Report) -> None:
    """The twin."""
    assert found(report, "lost") == []


@with_story(sent(1, at=4), sent(2, at=5), final_read(2, log_start=5), topic={"retention.ms": 1000})
def test_what_lies_below_the_log_start_is_never_lost(report: Report) -> None:
    """Retention deleted offset 4; nothing that happened to it is Kafka's loss."""
    assert found(report, "lost") == []
    assert found(report, "unseen") == []
    assert report["verdict"] == "valid"


@with_story(sent(1, at=5), sent(2, at=6), final_read({6: 2}, log_start=5))
def test_a_record_at_the_log_start_can_be_lost(report: Report) -> None:
    """The twin: offset 5 is the log's first, and it is not there."""
    assert found(report, "lost") == [1]


@with_story(sent(1, at=0), doubtful(2), final_read(1))
def test_a_send_in_doubt_is_never_lost(report: Report) -> None:
    """Nobody acknowledged 2."""
    assert found(report, "lost") == []
    assert report["counts"]["indeterminate_not_landed"] == 1


@with_story(sent(1, at=0), doubtful(2), final_read(1, 2))
def test_a_send_in_doubt_that_is_in_the_log_has_landed(report: Report) -> None:
    """That is allowed, and counted."""
    assert report["counts"]["indeterminate_landed"] == 1
    assert report["counts"]["indeterminate_not_landed"] == 0
    assert report["anomalies"]["phantom"]["count"] == 0


@with_story(unasked(1), unasked(2), final_read(1), acks="0")
def test_without_acks_losses_are_counted_apart(report: Report) -> None:
    """acks=0: nothing is acknowledged, so nothing is lost by definition, and 2 is gone."""
    assert found(report, "lost") == []
    assert found(report, "unacknowledged-lost") == [2]
    assert report["counts"]["unacknowledged_lost"] == 1
    assert report["verdict"] == "valid"
    assert (
        "1 record sent with acks=0 is gone, which this configuration allows." in report["sentence"]
    )


@with_story(unasked(1, ms=1000, took=0), unasked(2, ms=9000, took=0), final_read(1, 2), acks="0")
def test_without_acks_no_outage_of_writes_is_told(report: Report) -> None:
    """Nothing tells when writes stood still."""
    assert report["windows"] == []
    assert found(report, "unacknowledged-lost") == []


@with_story(sent(1, at=0), doubtful(2), final_read(1))
def test_with_acks_there_is_no_unacknowledged_loss(report: Report) -> None:
    """2 was never acknowledged, and nobody speaks of it."""
    assert "unacknowledged-lost" not in report["anomalies"]


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    final_read(1),
    final_read(2, partition=1),
    partitions=2,
)
def test_partitions_are_told_apart(report: Report) -> None:
    """Both are at offset 0, each of its own partition."""
    assert found(report, "lost") == []
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(
    sent(1, at=0, ms=900),
    view("kafka2", ms=0),
    view("kafka3", ms=5000),
    fault("kill", ms=1000, for_ms=4000),
    final_read(),
)
def test_a_lost_record_comes_with_the_leader_and_the_fault_that_followed(report: Report) -> None:
    """Acked 95 ms before the kill: no fault was in force then, the next one explains it."""
    row = report["anomalies"]["lost"]["examples"][0]

    assert row["leader"] == "kafka2"
    assert row["faults"] == []
    assert row["next_fault"] == 0
    assert (row["partition"], row["offset"], row["producer"], row["sequence"]) == (0, 0, 0, 1)
    assert row["acked_s"] == 0.905


@with_story(
    sent(1, at=0, ms=2000),
    view("kafka2", ms=0),
    view("kafka3", ms=1500),
    fault("kill", ms=1000, for_ms=4000),
    final_read(),
)
def test_a_record_acked_under_a_fault_names_it(report: Report) -> None:
    """Acked while the fault was in force, by the leader of that time."""
    row = report["anomalies"]["lost"]["examples"][0]

    assert row["leader"] == "kafka3"
    assert row["faults"] == [0]
    assert row["next_fault"] is None


@with_story(*(sent(n, at=n, ms=n) for n in range(25)), final_read())
def test_counts_are_exact_and_examples_are_the_first_ten(report: Report) -> None:
    """25 records are gone; the report shows those that were acked first."""
    assert report["anomalies"]["lost"]["count"] == 25
    assert found(report, "lost") == list(range(10))


@with_story(sent(1, at=0), doubtful(2), final_read(2))
def test_a_lost_record_comes_with_what_is_in_its_place(report: Report) -> None:
    row = report["anomalies"]["lost"]["examples"][0]

    assert (row["value"], row["other_value"]) == (1, 2)


@with_story(sent(1, at=0), sent(2, at=1), final_read({1: 2}))
def test_a_lost_record_in_whose_place_is_nothing_has_no_other_value(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["lost"]["examples"][0]["other_value"] is None


@with_story(sent(1, at=0), sent(2, at=1), final_read({1: 2}, complete=False))
def test_a_record_that_an_incomplete_final_read_passed_is_lost(report: Report) -> None:
    """It read offsets 0 and 1, and without retries there is no other copy."""
    assert found(report, "lost") == [1]
    assert found(report, "unseen") == []
    assert report["verdict"] == "invalid"


@with_story(
    sent(1, at=0), final_read({1: 2}, complete=False), doubtful(2), retries=9, idempotent=True
)
def test_an_idempotent_producer_leaves_no_other_copy(report: Report) -> None:
    assert found(report, "lost") == [1]


@with_story(sent(1, at=2), sent(2, at=1), final_read({1: 2}, complete=False))
def test_a_record_beyond_where_the_final_read_stopped_is_not_lost(report: Report) -> None:
    """The twin: it stopped before offset 2."""
    assert found(report, "lost") == []
    assert found(report, "unseen") == [1]


@with_story(sent(1, at=0), final_read(log_start=3, position=9, complete=False))
def test_what_lies_below_where_the_final_read_began_was_not_passed(report: Report) -> None:
    assert found(report, "lost") == []
    assert found(report, "unseen") == [1]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    final_read({1: 2}, complete=False),
    damage("torn", process="final-read-0"),
)
def test_a_final_read_with_a_torn_table_has_passed_nothing(report: Report) -> None:
    """The row that is missing may be that of 1."""
    assert found(report, "lost") == []
    assert found(report, "unseen") == [1]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    final_read({1: 2}, complete=False),
    final_read(1, complete=False, process="final-read-1"),
)
def test_what_one_pass_went_past_and_another_found_is_there(report: Report) -> None:
    assert found(report, "lost") == found(report, "unseen") == []


# --- vanished


@with_story(doubtful(1), read(1, at=0), sent(2, at=1), final_read({1: 2}))
def test_a_delivered_record_missing_from_the_final_read_has_vanished(report: Report) -> None:
    """1 was never acknowledged, but a consumer had it."""
    assert found(report, "vanished") == [1]
    assert found(report, "lost") == []


@with_story(doubtful(1), read(1, at=0), sent(2, at=1), final_read(1, 2))
def test_a_delivered_record_that_stays_has_not_vanished(report: Report) -> None:
    """The twin."""
    assert found(report, "vanished") == []


@with_story(sent(1, at=0), read(1, at=0), sent(2, at=1), final_read({1: 2}, log_start=1))
def test_a_delivered_record_below_the_log_start_has_not_vanished(report: Report) -> None:
    """Retention deleted it after it was read."""
    assert found(report, "vanished") == []


@with_story(sent(1, at=0), read(1, at=0), final_read(complete=False))
def test_an_incomplete_final_read_proves_nothing_vanished(report: Report) -> None:
    """The read stopped early."""
    assert found(report, "vanished") == []


# --- unseen


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, complete=False))
def test_an_acked_record_beyond_an_incomplete_final_read_is_unseen(report: Report) -> None:
    """Whether 2 is lost cannot be told."""
    assert found(report, "unseen") == [2]
    assert found(report, "lost") == []
    assert report["verdict"] == "unknown"


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 2, complete=False))
def test_what_an_incomplete_final_read_did_see_is_not_unseen(report: Report) -> None:
    """The twin: nothing is missing, only the proof that there is no more."""
    assert found(report, "unseen") == []


@with_story(sent(1, at=0))
def test_without_a_final_read_every_acked_record_is_unseen(report: Report) -> None:
    """The run was killed before it."""
    assert found(report, "unseen") == [1]
    assert report["final_read"]["complete"] is False
    assert report["verdict"] == "unknown"


@with_story(sent(1, at=None), sent(2, at=5), final_read({5: 2}, log_start=5))
def test_an_ack_without_offset_may_lie_below_the_log_start(report: Report) -> None:
    """Nobody knows where 1 was: deleted or lost."""
    assert found(report, "unseen") == [1]
    assert found(report, "lost") == []
    assert report["verdict"] == "unknown"


@with_story(sent(1, at=0), sent(2, at=1), final_read(1), final_read(1, 2, process="final-read-1"))
def test_several_final_reads_count_together(report: Report) -> None:
    """What any of them found is there; one complete pass is enough."""
    assert found(report, "lost") == []


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    final_read(1),
    final_read(partition=1, complete=False),
    partitions=2,
)
def test_completeness_is_judged_by_partition(report: Report) -> None:
    """Partition 0 was read to its end, partition 1 was not."""
    assert found(report, "unseen") == [2]
    assert [end["complete"] for end in report["final_read"]["partitions"]] == [True, False]
