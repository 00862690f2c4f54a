"""Skips: the smallest history of each kind, and its twin."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    damage,
    doubtful,
    event,
    fault,
    final_read,
    found,
    polled,
    read,
    sent,
    split,
    stayed,
    view,
    with_story,
)

Report = dict[str, Any]
THREE = (sent(1, at=0), sent(2, at=1), sent(3, at=2))
SKIPS = (*THREE, read(1, 0), read(3, 2))


def skips(report: Report) -> dict[str, int]:
    """How the skips split, without what was not seen."""
    return {name: n for name, n in split(report, "poll-skip").items() if n}


# --- poll-skip


@with_story(*SKIPS, final_read(1, 2, 3))
def test_a_reader_that_passes_over_a_record_of_the_log_skips(report: Report) -> None:
    """It reads 0 and 2, the log has 1 as well."""
    row = report["anomalies"]["poll-skip"]["examples"][0]

    assert skips(report) == {"passed": 1}
    assert (row["value"], row["offset"], row["other_offset"]) == (2, 1, 2)
    assert (row["reader"], row["sent"], row["acked_s"] is not None) == ("consumer-0", "acked", True)
    assert report["verdict"] == "invalid"


@with_story(*THREE, read(1, 0), read(2, 1), read(3, 2), final_read(1, 2, 3))
def test_a_reader_that_reads_every_record_does_not_skip(report: Report) -> None:
    """The twin."""
    assert skips(report) == {}
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    sent(3, at=2),
    read(1, 0),
    read(3, 2),
    final_read({0: 1, 2: 3}),
    isolation="read_committed",
)
def test_what_takes_an_offset_and_is_no_record_is_no_skip(report: Report) -> None:
    """A marker, or a record of an aborted transaction."""
    assert skips(report) == {}
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=0),
    sent(2, at=2),
    sent(3, at=4),
    read(1, 0),
    read(3, 4),
    final_read({0: 1, 2: 2, 4: 3}),
    isolation="read_committed",
)
def test_a_record_between_two_markers_is_skipped(report: Report) -> None:
    row = report["anomalies"]["poll-skip"]["examples"][0]

    assert (row["value"], row["offset"]) == (2, 2)


@with_story(*SKIPS, final_read({0: 1, 1: 2, 2: 3}, complete=False))
def test_an_incomplete_final_read_shows_what_was_skipped(report: Report) -> None:
    """It has the record."""
    assert skips(report) == {"passed": 1}
    assert report["verdict"] == "invalid"


@with_story(*SKIPS, final_read({0: 1, 2: 3}, complete=False))
def test_what_no_final_read_has_is_not_skipped(report: Report) -> None:
    """The twin."""
    assert skips(report) == {}


@with_story(*SKIPS, final_read({0: 1, 2: 3}), final_read(1, 2, 3, process="final-read-1"))
def test_a_final_read_skips_what_another_one_has(report: Report) -> None:
    """Several final reads are one log, and each of them is a reader."""
    assert skips(report) == {"passed": 2}
    assert report["anomalies"]["hole"]["count"] == 0


@with_story(
    *(sent(value, at=at) for at, value in enumerate((1, 2, 3, 4, 5))),
    read(1, 0),
    read(5, 4),
    final_read(1, 2, 3, 4, 5),
)
def test_a_step_over_three_records_is_one_skip(report: Report) -> None:
    assert found(report, "poll-skip") == [4]


@with_story(
    sent(4, at=3),
    sent(5, at=4),
    read(1, 0),
    read(5, 4),
    doubtful(1),
    final_read(4, 5, log_start=3),
    topic={"retention.ms": "1"},
)
def test_a_reader_may_pass_over_what_was_deleted(report: Report) -> None:
    """Offset 3 was there: it was not deleted."""
    assert found(report, "poll-skip") == [4]


@with_story(
    sent(5, at=4),
    read(1, 0),
    read(5, 4),
    doubtful(1),
    final_read(5, log_start=4),
    topic={"retention.ms": "1"},
)
def test_a_reader_that_goes_on_at_the_logs_start_does_not_skip(report: Report) -> None:
    """The twin."""
    assert skips(report) == {}


@with_story(
    *THREE,
    polled(1, 0),
    event("revoked", text="0", process="group-consumer-0"),
    event("assigned", text="0", process="group-consumer-0"),
    polled(3, 2),
    final_read(1, 2, 3),
    commit="before",
)
def test_a_rebalance_may_move_a_member(report: Report) -> None:
    assert skips(report) == {}


@with_story(
    *THREE,
    polled(1, 0),
    event("assigned", text="1", process="group-consumer-0"),
    event("assigned", text="0", process="group-consumer-1"),
    polled(3, 2),
    final_read(1, 2, 3),
    final_read(partition=1),
    partitions=2,
    commit="before",
)
def test_another_partition_or_member_moves_nobody(report: Report) -> None:
    """The twin."""
    assert found(report, "poll-skip") == [2]


@with_story(
    *THREE,
    polled(1, 0),
    event("revoked", text="0", process="group-consumer-0", ms=75),
    polled(3, 2, ms=70),
    polled(2, 1, ms=80),
    final_read(1, 2, 3),
    commit="before",
)
def test_a_move_that_comes_later_explains_nothing(report: Report) -> None:
    assert found(report, "poll-skip") == [2]


@with_story(
    *THREE,
    polled(1, 0),
    event("revoked", process="group-consumer-0"),
    polled(3, 2),
    final_read(1, 2, 3),
    commit="before",
)
def test_a_revocation_that_names_no_partition_took_all(report: Report) -> None:
    assert skips(report) == {}


@with_story(*THREE, read(1, 0), read(3, 2, process="consumer-1"), final_read(1, 2, 3))
def test_two_readers_are_not_one(report: Report) -> None:
    assert skips(report) == {}


@with_story(*SKIPS, final_read(1, 2, 3), consumer={"auto.offset.reset": "latest"})
def test_a_reader_that_may_have_gone_on_at_the_end_is_not_judged(report: Report) -> None:
    """Format 1 does not tell of resets."""
    assert skips(report) == {}


@with_story(
    *SKIPS,
    final_read(1, 2, 3),
    consumer={"auto.offset.reset": "latest"},
    history_format=2,
)
def test_where_resets_are_told_it_is_judged(report: Report) -> None:
    """The twin."""
    assert skips(report) == {"passed": 1}


@with_story(*SKIPS, final_read(1, 2, 3), damage("bad-record", process="consumer-0"))
def test_a_damaged_table_of_the_reader_proves_no_skip(report: Report) -> None:
    """What lies between may have been there."""
    assert not report["anomalies"]["poll-skip"]["convicts"]
    assert report["verdict"] == "unknown"


@with_story(*SKIPS, final_read(1, 2, 3), damage("bad-record", process="producer-0"))
def test_a_damaged_table_of_a_producer_excuses_no_skip(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["poll-skip"]["convicts"]


ELECTION = (
    view("kafka1", ms=0, isr=("kafka1",)),
    fault("kill", ms=20, for_ms=5000),
    view("kafka2", ms=30, isr=("kafka2",), epoch=1),
)
UNDER = (
    doubtful(1, ms=10),
    doubtful(2, ms=11),
    read(1, 0, ms=12),
    sent(3, at=0, ms=40),
    sent(4, at=1, ms=41),
    read(4, 1, ms=50),
)


@with_story(*UNDER, final_read(3, 4))
def test_a_record_put_under_a_readers_position_is_skipped(report: Report) -> None:
    """It read 1 at offset 0, where the log has 3 in the end, and goes on with 4."""
    row = report["anomalies"]["poll-skip"]["examples"][0]

    assert skips(report) == {"put_under": 1}
    assert (row["value"], row["offset"], row["other_value"]) == (3, 0, 1)
    assert report["anomalies"]["poll-skip"]["convicts"]


@with_story(*UNDER, *ELECTION, final_read(3, 4), topic={"unclean.leader.election.enable": "true"})
def test_after_an_unclean_election_it_may_be(report: Report) -> None:
    assert skips(report) == {"put_under": 1}
    assert report["anomalies"]["poll-skip"]["judged"]["permitted"] == 1


@with_story(*UNDER, stayed(), final_read(3, 4), topic={"unclean.leader.election.enable": "true"})
def test_without_one_it_may_not(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["poll-skip"]["convicts"]


@with_story(*UNDER[:-1], read(3, 0, ms=45), read(4, 1, ms=50), final_read(3, 4))
def test_a_reader_that_goes_back_is_given_it(report: Report) -> None:
    """KIP-320."""
    assert skips(report) == {}


@with_story(
    *UNDER[:4], doubtful(5, ms=42), read(5, 1, ms=50), sent(4, at=1, ms=60), final_read(3, 4)
)
def test_a_reader_of_another_log_was_not_past_the_record(report: Report) -> None:
    """What it read at offset 1 is not in the log either."""
    assert skips(report) == {}
