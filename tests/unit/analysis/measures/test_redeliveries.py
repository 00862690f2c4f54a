"""Redeliveries: the smallest histories that have one, and their twins."""

from __future__ import annotations

from typing import Any

from tests.support.histories import final_read, looked_up, polled, processed, read, sent, with_story

Report = dict[str, Any]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    *(read(n, at=n - 1) for n in (1, 2, 2, 1)),
    final_read(1, 2),
)
def test_what_a_consumer_is_given_once_more_is_a_redelivery(report: Report) -> None:
    assert (report["counts"]["reads"], report["counts"]["redeliveries"]) == (4, 2)


@with_story(
    sent(1, at=0),
    read(1, at=0, process="write-read-0"),
    looked_up(1, at=0),
    read(1, at=0),
    read(1, at=0, process="consumer-1"),
    final_read(1),
)
def test_each_consumer_that_follows_the_log_is_given_everything(report: Report) -> None:
    """The twin: three readers, one record."""
    assert report["counts"]["redeliveries"] == 0


@with_story(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    polled(1, at=0),
    polled(1, at=0, process="group-consumer-1"),
    processed(1, at=0, process="group-consumer-1"),
    polled(2, at=0, partition=1),
    final_read(1),
    final_read(2, partition=1),
    partitions=2,
    commit="after",
)
def test_the_members_of_a_group_are_one_reader(report: Report) -> None:
    """The second member was given again what the first had; partition 1 is another place."""
    assert report["counts"]["redeliveries"] == 1


@with_story(read(None, at=0), read(None, at=0))
def test_what_nobody_can_read_is_a_redelivery_too(report: Report) -> None:
    """In a run of which nothing else is known."""
    assert (report["counts"]["reads"], report["counts"]["redeliveries"]) == (2, 1)
