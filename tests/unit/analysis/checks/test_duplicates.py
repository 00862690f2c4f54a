"""Duplicates and inconsistent offsets: the smallest history of each, and its twin."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    damage,
    doubtful,
    fault,
    final_read,
    found,
    read,
    sent,
    split,
    view,
    with_story,
)

Report = dict[str, Any]


def inconsistent(report: Report) -> dict[str, int]:
    """How the inconsistent offsets split, without what was not seen."""
    return {name: n for name, n in split(report, "inconsistent-offset").items() if n}


# --- duplicate


@with_story(sent(1, at=0), final_read(1, 1))
def test_one_value_at_two_offsets_is_a_duplicate(report: Report) -> None:
    """The log holds 1 twice."""
    row = report["anomalies"]["duplicate"]["examples"][0]

    assert found(report, "duplicate") == [1]
    assert (row["offset"], row["other_offset"], row["copies"]) == (0, 1, 2)


@with_story(sent(1, at=0), final_read(1))
def test_one_value_at_one_offset_is_no_duplicate(report: Report) -> None:
    """The twin."""
    assert found(report, "duplicate") == []


@with_story(sent(1, at=0), read(1, at=0), read(1, at=0), final_read(1))
def test_reading_one_offset_twice_is_redelivery(report: Report) -> None:
    """Normal under at-least-once."""
    assert found(report, "duplicate") == []


@with_story(sent(1, at=0), final_read(1, 1, 1))
def test_a_value_with_three_copies_is_one_duplicate(report: Report) -> None:
    """One row per value, with the number of copies."""
    assert report["anomalies"]["duplicate"]["count"] == 1
    assert report["anomalies"]["duplicate"]["examples"][0]["copies"] == 3


@with_story(sent(1, at=0), final_read(1), final_read(1, partition=1), partitions=2)
def test_a_copy_in_another_partition_is_a_duplicate(report: Report) -> None:
    """Two places, wherever they are."""
    row = report["anomalies"]["duplicate"]["examples"][0]

    assert (row["partition"], row["other_partition"]) == (0, 1)


@with_story(doubtful(1), final_read(1))
def test_a_send_in_doubt_that_landed_is_no_duplicate(report: Report) -> None:
    """It is there once."""
    assert found(report, "duplicate") == []


@with_story(sent(1, at=9), read(1, at=5), final_read({9: 1}))
def test_a_complete_final_read_decides_alone(report: Report) -> None:
    """Truncated at 5, appended anew at 9: the log never held two copies."""
    assert found(report, "duplicate") == []


@with_story(sent(1, at=9), read(1, at=5), read(1, at=9), final_read(complete=False))
def test_without_a_complete_final_read_all_reads_decide(report: Report) -> None:
    """A consumer was handed 1 at two offsets, and nothing says otherwise."""
    assert found(report, "duplicate") == [1]


@with_story(sent(1, at=0), sent(2, at=9), read(2, at=5), final_read({0: 1, 1: 1, 9: 2}))
def test_a_duplicate_that_the_log_holds_is_told_as_such(report: Report) -> None:
    assert split(report, "duplicate") == {"in_log": 1, "in_reads": 0}


@with_story(
    sent(1, at=9),
    sent(2, at=3),
    read(1, at=5),
    read(1, at=9),
    final_read({2: 2, 3: 2}, complete=False),
)
def test_a_duplicate_that_only_reads_together_show_is_told_apart(report: Report) -> None:
    """The twin: an incomplete final read proves no more than other reads do."""
    assert split(report, "duplicate") == {"in_log": 0, "in_reads": 2}


@with_story(sent(1, at=0), final_read(1), final_read(1, process="final-read-1"))
def test_two_final_reads_of_one_copy_are_no_duplicate(report: Report) -> None:
    """Both saw the same offset."""
    assert found(report, "duplicate") == []


# --- inconsistent offset


@with_story(doubtful(1), sent(2, at=0), read(1, at=0), final_read(2))
def test_two_values_at_one_offset_are_inconsistent(report: Report) -> None:
    """A consumer read 1 where the final read has 2."""
    row = report["anomalies"]["inconsistent-offset"]["examples"][0]

    assert inconsistent(report) == {"two_values": 1}
    assert (row["value"], row["other_value"], row["partition"], row["offset"]) == (1, 2, 0, 0)


@with_story(sent(2, at=0), read(2, at=0), final_read(2))
def test_one_value_at_one_offset_is_consistent(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=0), read(None, at=0), final_read(1))
def test_a_foreign_payload_at_the_offset_of_a_value_is_inconsistent(report: Report) -> None:
    """Something that is no value was read where 1 is, and is a phantom besides."""
    assert inconsistent(report) == {"two_values": 1}
    assert split(report, "phantom")["unparsable"] == 1


@with_story(sent(1, at=0), final_read({1: 1}))
def test_a_record_that_is_not_where_its_ack_said_is_inconsistent(report: Report) -> None:
    """Acked at 0, found at 1 only."""
    row = report["anomalies"]["inconsistent-offset"]["examples"][0]

    assert inconsistent(report) == {"acked_elsewhere": 1}
    assert (row["value"], row["offset"], row["other_offset"]) == (1, 0, 1)


@with_story(sent(1, at=1), read(1, at=5), final_read({1: 1}))
def test_a_record_that_is_not_where_it_was_read_is_inconsistent(report: Report) -> None:
    """Acked and found at 1, read at 5."""
    row = report["anomalies"]["inconsistent-offset"]["examples"][0]

    assert inconsistent(report) == {"read_elsewhere": 1}
    assert (row["offset"], row["other_offset"]) == (5, 1)
    assert row["time_s"] == row["delivered_s"]
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=1), read(1, at=0), final_read({1: 1}))
def test_so_is_one_that_was_read_at_the_log_s_very_start(report: Report) -> None:
    assert inconsistent(report) == {"read_elsewhere": 1}


@with_story(doubtful(1), read(1, at=5), final_read({1: 1}))
def test_so_is_one_that_was_never_acked(report: Report) -> None:
    """What a reader was given is committed, however its send ended."""
    assert inconsistent(report) == {"read_elsewhere": 1}


@with_story(sent(1, at=5), read(1, at=5), final_read({1: 1}))
def test_one_that_was_read_where_it_was_acked_is_told_by_the_read(report: Report) -> None:
    """Nobody may call it a mere ack."""
    assert inconsistent(report) == {"read_elsewhere": 1}


@with_story(sent(1, at=1), read(1, at=1), read(1, at=1, ms=90), final_read({1: 1}))
def test_a_record_that_is_where_it_was_read_is_consistent(report: Report) -> None:
    """The twin: given twice, from one place."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=0), read(1, at=0, ms=90), read(1, at=1, ms=95), final_read(1, 1))
def test_a_duplicate_that_was_read_at_both_places_is_consistent(report: Report) -> None:
    """It is in the log twice, and was read as it is there."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=6), read(1, at=2, ms=90), final_read({6: 1}, log_start=6))
def test_where_the_read_offset_was_deleted_nothing_is_inconsistent(report: Report) -> None:
    """Offset 2 is below the log's start: it may have been a copy."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=1), read(1, at=5, ms=90), final_read({1: 1}, complete=False))
def test_an_incomplete_final_read_does_not_tell_that_it_is_gone_from_there(report: Report) -> None:
    """It stopped at 2: two places, as far as reads tell."""
    assert inconsistent(report) == {}
    assert found(report, "duplicate") == [1]


@with_story(sent(1, at=1), final_read(1, 1, 1))
def test_a_duplicate_whose_acked_copy_is_there_is_consistent(report: Report) -> None:
    """Copies at 0, 1 and 2; the ack named the one in the middle."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=3), final_read(1, 1, 1))
def test_a_duplicate_of_which_no_copy_was_acked_is_inconsistent(report: Report) -> None:
    """Copies at 0, 1 and 2, and an ack for 3."""
    assert found(report, "inconsistent-offset") == [1]


@with_story(sent(1, at=0), final_read({1: 1}, complete=False))
def test_a_final_read_that_passed_the_acked_offset_proves_that_a_record_moved(
    report: Report,
) -> None:
    """It read offsets 0 and 1, and saw 1 at the second only."""
    assert inconsistent(report) == {"acked_elsewhere": 1}


@with_story(
    sent(1, at=0),
    final_read({1: 1}, complete=False),
    damage("bad-record", process="final-read-0"),
)
def test_an_incomplete_final_read_with_a_damaged_table_proves_no_move(report: Report) -> None:
    """The twin: what it had read at offset 0 may be gone."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=4), sent(2, at=5), final_read({5: 2, 6: 1}, log_start=5))
def test_where_the_acked_offset_was_deleted_nothing_is_inconsistent(report: Report) -> None:
    """Offset 4 is below the log's start: nobody can say what was there."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(sent(1, at=0), final_read(), final_read(1, partition=1), partitions=2)
def test_a_record_in_another_partition_is_inconsistent_not_lost(report: Report) -> None:
    """It is still there, but not where it was sent."""
    assert found(report, "lost") == []
    assert found(report, "inconsistent-offset") == [1]


@with_story(sent(1, at=0), sent(2, at=0), final_read(1))
def test_two_acks_at_one_offset_are_inconsistent(report: Report) -> None:
    """And 2 is lost besides; a complete final read tells which."""
    row = report["anomalies"]["inconsistent-offset"]["examples"][0]

    assert inconsistent(report) == {"two_values": 1}
    assert (row["value"], row["other_value"], row["offset"]) == (1, 2, 0)
    assert found(report, "lost") == [2]
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 2))
def test_two_acks_at_two_offsets_are_consistent(report: Report) -> None:
    """The twin."""
    assert report["verdict"] == "valid"


@with_story(sent(1, at=0), doubtful(2), read(2, at=0), final_read(complete=False))
def test_a_read_contradicts_an_ack_whatever_the_final_read_is(report: Report) -> None:
    """1 was acked at 0, and a consumer was given 2 there."""
    assert inconsistent(report) == {"two_values": 1}
    assert report["verdict"] == "invalid"


@with_story(sent(1, at=0), doubtful(2), read(2, at=1), final_read(complete=False))
def test_a_read_at_another_offset_contradicts_no_ack(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0
    assert report["verdict"] == "unknown"


@with_story(sent(1, at=0), read(None, at=0), final_read(complete=False))
def test_a_foreign_payload_contradicts_an_ack(report: Report) -> None:
    assert inconsistent(report) == {"two_values": 1}


@with_story(
    sent(1, at=0, ms=900),
    sent(2, at=0, ms=5500),
    view("kafka1", ms=0),
    view("kafka2", ms=1500),
    fault("kill", ms=1000, for_ms=4000),
    final_read(2),
    acks="1",
)
def test_under_acks_1_an_offset_may_come_again(report: Report) -> None:
    """1 was lost with its leader, and the next one gave its offset to 2."""
    assert inconsistent(report) == {"two_values": 1}
    assert report["verdict"] == "valid"


@with_story(sent(1, at=0), final_read({4: 2}, complete=False), doubtful(2), retries=5)
def test_an_offset_that_was_passed_without_its_value_is_inconsistent(report: Report) -> None:
    """With retries a second copy of 1 may lie beyond where the final read stopped."""
    assert inconsistent(report) == {"passed_over": 1}
    assert found(report, "inconsistent-offset") == [1]
    assert found(report, "lost") == found(report, "unseen") == []


@with_story(sent(1, at=0), final_read(complete=False, position=0), retries=5)
def test_an_offset_that_was_not_passed_is_unseen(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0
    assert found(report, "unseen") == [1]


@with_story(
    doubtful(1),
    sent(2, at=0),
    final_read(2),
    final_read(1, partition=1),
    partitions=2,
)
def test_a_send_in_doubt_that_landed_in_another_partition_is_inconsistent(report: Report) -> None:
    row = report["anomalies"]["inconsistent-offset"]["examples"][0]

    assert inconsistent(report) == {"other_partition": 1}
    assert (row["value"], row["partition"], row["other_partition"]) == (1, 0, 1)
    assert report["verdict"] == "invalid"


@with_story(
    doubtful(1),
    sent(2, at=0),
    final_read(2, 1),
    final_read(partition=1),
    partitions=2,
)
def test_a_send_in_doubt_that_landed_where_it_was_sent_is_consistent(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(
    sent(1), read(1, at=0, partition=1), final_read(complete=False, position=0), partitions=2
)
def test_one_read_proves_that_an_ack_without_offset_was_for_another_partition(
    report: Report,
) -> None:
    """Whatever the final read is."""
    assert inconsistent(report) == {"other_partition": 1}


@with_story(sent(1), read(1, at=0), final_read(complete=False, position=0), partitions=2)
def test_an_ack_without_offset_of_a_record_where_it_was_sent_is_consistent(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@with_story(
    sent(1, at=0),
    final_read(1),
    final_read(1, partition=1),
    partitions=2,
    retries=5,
)
def test_no_retry_puts_a_copy_into_another_partition(report: Report) -> None:
    """Retries permit the duplicate, not where it is."""
    assert not report["anomalies"]["duplicate"]["forbidden"]
    assert inconsistent(report) == {"other_partition": 1}
    assert report["verdict"] == "invalid"
