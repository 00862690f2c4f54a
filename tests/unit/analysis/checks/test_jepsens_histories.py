"""Histories as Jepsen's own tests of its Kafka checker have them, and what is made of them here.

Each has its twin. All that was seen is asked for, so that nothing is found beside what is there.
Names in brackets are Jepsen's (docs/anomalies.md, "Names elsewhere").
"""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    Part,
    aborted,
    blind,
    damage,
    doubtful,
    event,
    failed,
    fault,
    final_read,
    found,
    look,
    ns_of,
    polled,
    processed,
    read,
    sent,
    split,
    view,
    with_story,
)
from tests.support.story_parts.transactions import noted, within

Report = dict[str, Any]
COMMITTED: dict[str, Any] = {
    "isolation": "read_committed",
    "retries": 9,
    "idempotent": True,
    "history_format": 2,
    "partitions": 2,
    "consumers": 1,
}
FOLLOWED: dict[str, Any] = {"history_format": 2, "consumers": 1}
THREE = (sent(1, at=0), sent(2, at=1), sent(3, at=2))


def seen(report: Report) -> dict[str, int]:
    """How many there are of each anomaly that was seen."""
    return {name: each["count"] for name, each in report["anomalies"].items() if each["count"]}


def asked(end: str = "committed", process: str = "producer-0") -> tuple[Part, ...]:
    """A transaction from its begin at 100 ms to its end at 300, its commit asked for at 200."""
    told_of = (("begun", 100), ("commit-asked", 200), (end, 300))
    return tuple(noted(name, ms, process=process) for name, ms in told_of)


# Lost and unseen (lost-write, unseen)


@with_story(*THREE, read(1, 0), read(3, 2), final_read({0: 1, 2: 3}), **FOLLOWED)
def test_below_what_was_read_a_record_is_missing(report: Report) -> None:
    assert seen(report) == {"lost": 1, "hole": 1}


@with_story(*THREE, read(1, 0), final_read(1), **FOLLOWED)
def test_a_tail_that_nobody_read_is_lost_as_well(report: Report) -> None:
    """Jepsen's checker calls these unseen, since nobody read beyond them."""
    assert found(report, "lost") == [2, 3]
    assert seen(report) == {"lost": 2}


@with_story(*THREE, read(1, 0), final_read(1, complete=False), **FOLLOWED)
def test_and_unseen_where_nobody_read_to_the_end(report: Report) -> None:
    assert found(report, "unseen") == [2, 3]
    assert (seen(report), report["verdict"]) == ({"unseen": 2}, "unknown")


@with_story(*THREE, read(1, 0), read(2, 1), read(3, 2), final_read(3, log_start=2), **FOLLOWED)
def test_what_was_deleted_is_not_lost(report: Report) -> None:
    """Jepsen's checker has no start of a log."""
    assert seen(report) == {}


@with_story(
    sent(1, at=0), doubtful(2), sent(3, at=2), read(1, 0), read(2, 1), final_read(1), **FOLLOWED
)
def test_a_crashed_send_that_was_read_has_vanished(report: Report) -> None:
    assert found(report, "vanished") == [2]
    assert seen(report) == {"vanished": 1, "lost": 1}


@with_story(sent(1, at=0), doubtful(2), sent(3, at=1), final_read(1, 3), **FOLLOWED)
def test_one_that_nobody_ever_read_need_not_be_there(report: Report) -> None:
    assert seen(report) == {}


@with_story(sent(1), read(2, 5), final_read(), sent(2, at=5), **FOLLOWED)
def test_an_ack_without_an_offset_is_lost_too(report: Report) -> None:
    assert found(report, "lost") == [1, 2]


# One place, several values; one value, several places (inconsistent-offsets, duplicate)


@with_story(sent(1, at=0), sent(2, at=0, ms=20), read(1, 0, ms=10), final_read(2), **FOLLOWED)
def test_an_offset_used_twice_loses_a_record(report: Report) -> None:
    assert seen(report) == {"inconsistent-offset": 1, "lost": 1, "vanished": 1}


@with_story(doubtful(1), sent(2, at=1), final_read(1, 2, 1), idempotent=True, retries=9)
def test_a_crashed_send_that_landed_twice(report: Report) -> None:
    assert (seen(report), report["verdict"]) == ({"duplicate": 1}, "invalid")


@with_story(doubtful(1), sent(2, at=1), read(1, 0), read(1, 0), final_read(1, 2), idempotent=True)
def test_one_place_read_twice_is_no_duplicate(report: Report) -> None:
    """Of a history of format 1, which does not tell what moves a reader."""
    assert seen(report) == {}


# Aborted, and not committed (G1a, precommitted-read)


@with_story(
    *(within(aborted(n, ms=100, took=200)) for n in (1, 2)),
    noted("begun", 100),
    noted("abort-asked", 200),
    noted("aborted", 300),
    read(1, 0, ms=400),
    final_read(),
    final_read(partition=1),
    **COMMITTED,
)
def test_an_aborted_record_that_was_read(report: Report) -> None:
    """And it is in no log: what a consumer was given is gone as well."""
    assert found(report, "phantom") == [1]
    assert seen(report) == {"phantom": 1, "vanished": 1}


@with_story(failed(1), read(9, 0), final_read({0: 9}), **FOLLOWED)
def test_a_value_that_nobody_wrote_ends_nothing(report: Report) -> None:
    """Jepsen's analysis throws there, and all that it had found is gone."""
    assert (found(report, "phantom"), report["verdict"]) == ([9], "invalid")


OWN = "transformer-0"
MEMBERS: dict[str, Any] = {**COMMITTED, "consumers": 0, "transformers": 1, "commit": "transaction"}
ITS_OWN = within(sent(1, at=0, ms=110, took=190, process=OWN))


@with_story(
    ITS_OWN,
    polled(1, 0, ms=150, process=OWN),
    *asked(process=OWN),
    final_read({0: 1}, position=2),
    final_read(partition=1),
    **MEMBERS,
)
def test_who_is_given_what_it_sent_itself_and_did_not_commit(report: Report) -> None:
    assert split(report, "uncommitted-read") == {"before": 1, "never": 0}
    assert "circular-flow" not in seen(report)


@with_story(
    ITS_OWN,
    polled(1, 0, ms=310, process=OWN),
    *asked(process=OWN),
    final_read({0: 1}, position=2),
    final_read(partition=1),
    **MEMBERS,
)
def test_and_after_its_commit(report: Report) -> None:
    assert "uncommitted-read" not in seen(report)


# Parts of a transaction

PAIR = (
    within(sent(1, at=0, ms=100, took=200)),
    within(sent(2, at=1, ms=110, took=190)),
    *asked(),
)


@with_story(*PAIR, final_read({0: 1}, position=3), final_read(partition=1), **COMMITTED)
def test_half_of_a_transaction_in_one_partition(report: Report) -> None:
    assert seen(report) == {"torn": 1, "lost": 1}


@with_story(
    *PAIR, final_read({1: 2}, position=3, log_start=1), final_read(partition=1), **COMMITTED
)
def test_the_log_may_begin_in_the_middle_of_a_transaction(report: Report) -> None:
    assert seen(report) == {}


@with_story(
    *PAIR,
    sent(3, at=2, ms=150, process="producer-1"),
    final_read({0: 1, 1: 2, 2: 3}),
    final_read(partition=1),
    **COMMITTED,
)
def test_others_may_write_between_the_sends_of_a_transaction(report: Report) -> None:
    """(int-send-skip)"""
    assert seen(report) == {}


# What readers are given (poll-skip, nonmonotonic-poll, and the same within a transaction)

SKIP = (*THREE, read(1, 0, ms=100), read(3, 2, ms=200), final_read(1, 2, 3))


@with_story(*SKIP, event("revoked", ms=150, text="1"), **{**FOLLOWED, "partitions": 1})
def test_a_rebalance_of_another_partition_excuses_no_skip(report: Report) -> None:
    assert seen(report) == {"poll-skip": 1}


@with_story(
    *SKIP, event("revoked", ms=150, text="0"), event("assigned", ms=160, text="0"), **FOLLOWED
)
def test_one_of_the_partition_does(report: Report) -> None:
    assert seen(report) == {}


BACK = (*THREE, *(read(v, v - 1, ms=100 + v) for v in (1, 2, 3)), final_read(1, 2, 3))


@with_story(*BACK, read(2, 1, ms=200), read(3, 2, ms=201), **FOLLOWED)
def test_a_reader_that_goes_back(report: Report) -> None:
    assert seen(report) == {"poll-back": 1}


@with_story(
    *BACK, event("position", ms=150, partition=0, position=1), read(2, 1, ms=200), **FOLLOWED
)
def test_a_reader_that_was_moved_back(report: Report) -> None:
    assert seen(report) == {}


@with_story(*BACK, read(1, 0, ms=9000, process="consumer-1"), **FOLLOWED)
def test_a_reader_that_lags_is_no_anomaly(report: Report) -> None:
    """(worst-realtime-lag)"""
    assert seen(report) == {}


# The order of sends (nonmonotonic-send)


@with_story(sent(1, at=1, ms=0, took=50), sent(2, at=0, ms=10), final_read(2, 1), **FOLLOWED)
def test_a_later_send_that_lies_before(report: Report) -> None:
    assert found(report, "reordered") == [1]


@with_story(
    sent(1, at=1, ms=0, took=50),
    sent(1 << 40, at=0, ms=10, process="producer-1"),
    final_read(1 << 40, 1),
    producers=2,
    **FOLLOWED,
)
def test_two_senders_have_no_order(report: Report) -> None:
    assert seen(report) == {}


# What must not go back, where nobody could look

SOON: dict[str, Any] = {
    "watched": True,
    "server": {"replica.high.watermark.checkpoint.interval.ms": "100"},
}
NINE = (*(sent(n, at=n, ms=n) for n in range(9)), final_read(*range(9)))
ALL = ("kafka1", "kafka2", "kafka3")
LED = view("kafka1", ms=-1000, isr=ALL, epoch=3)
LAST = look(9, 9, 9, ms=10_001)


def marked(mark: int, ms: float) -> Part:
    """A look at which kafka1, which leads, has this watermark."""
    return look(9, 9, 9, ms=ms, marks=[mark, 7, 7])


@with_story(*NINE, LED, marked(9, 4000), marked(8, 5000), LAST, **SOON)
def test_a_watermark_that_went_back(report: Report) -> None:
    assert seen(report) == {"watermark-back": 1}


@with_story(
    *NINE,
    LED,
    marked(9, 4000),
    blind(ms=4500, for_ms=4000),
    marked(8, 5000),
    view("kafka1", ms=8500, isr=ALL, epoch=5),
    LAST,
    **SOON,
)
def test_while_nobody_could_tell_the_epoch_another_may_have_begun(report: Report) -> None:
    assert "watermark-back" not in seen(report)


# Partitions that nobody had

GROUP: dict[str, Any] = {
    "commit": "after",
    "history_format": 2,
    "partitions": 2,
    "consumer": {"session.timeout.ms": 1000},
    "phases": [{"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(14_000)}],
}
MEMBER, OTHER = "group-consumer-0", "group-consumer-1"
TAKEN = (
    *NINE,
    *(part for n in range(9) for part in (polled(n, at=n), processed(n, at=n))),
    final_read(partition=1),
    event("assigned", ms=50, process=MEMBER, text="0", generation=3),
)


@with_story(*TAKEN, **GROUP)
def test_a_partition_that_nobody_had(report: Report) -> None:
    assert seen(report) == {"unowned-partition": 1}


@with_story(
    *TAKEN,
    fault("pause", "group-consumers", ms=60, for_ms=13_000, nodes=(MEMBER, OTHER)),
    **GROUP,
)
def test_members_that_are_paused_tell_nothing(report: Report) -> None:
    """The other one may have been given it, and be paused before it could say so; both were
    expelled meanwhile, which nobody could say either."""
    assert not report["anomalies"]["unowned-partition"]["convicts"]


@with_story(*TAKEN, damage("truncated-segment", OTHER), **GROUP)
def test_nor_does_one_whose_table_is_damaged(report: Report) -> None:
    assert not report["anomalies"]["unowned-partition"]["convicts"]
