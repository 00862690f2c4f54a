"""What is settled of a transaction: what sets internal topics back later takes nothing of it."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    Part,
    aborted,
    committed,
    doubtful,
    fault,
    final_read,
    polled,
    read,
    sent,
    view,
    with_story,
)
from tests.support.story_parts.judgements import judged
from tests.support.story_parts.transactions import noted, within
from tests.support.story_parts.transformers import EXACT, ONE, processing

Report = dict[str, Any]
EVERYBODY = ("kafka1", "kafka2", "kafka3")
LED = (view("kafka1", ms=-1000, isr=EVERYBODY),)
STRUCK = fault("lose-power", "follower", ms=3000, for_ms=2000, nodes=("kafka3",))
TOLD = {
    "isolation": "read_committed",
    "retries": 9,
    "idempotent": True,
    "history_format": 2,
    "consumers": 1,
}


def told(ms: float, transaction: int, ends: str, process: str = "producer-0") -> tuple[Part, ...]:
    """A transaction from its begin to its end, 100 ms later."""
    asked = {"committed": "commit-asked", "aborted": "abort-asked"}.get(ends, "commit-asked")
    return (
        noted("begun", ms, transaction, process),
        noted(asked, ms + 50, transaction, process),
        noted(ends, ms + 100, transaction, process),
    )


# --- what was acknowledged is gone

FIRST = (within(sent(1, at=0, ms=1000, took=100), 0), *told(1000, 0, "committed"))
NEXT = (within(sent(2, at=2, ms=1200, took=100), 1), *told(1200, 1, "committed"))
LATE = (within(sent(2, at=2, ms=3200, took=100), 1), *told(3200, 1, "committed"))
GONE = final_read({2: 2}, position=4)


@with_story(*LED, *FIRST, *NEXT, STRUCK, GONE, **TOLD)
def test_a_strike_takes_nothing_of_a_transaction_before_the_next_one(report: Report) -> None:
    assert judged(report, "lost") == "forbidden"


@with_story(*LED, *FIRST, *LATE, STRUCK, GONE, **TOLD)
def test_a_strike_may_take_a_transaction_that_none_had_followed(report: Report) -> None:
    """The twin."""
    assert judged(report, "lost") == "permitted"


@with_story(*LED, *FIRST, *LATE, read(1, 0, ms=1500), STRUCK, GONE, **TOLD)
def test_a_strike_takes_nothing_of_what_readers_were_given(report: Report) -> None:
    assert judged(report, "lost") == "forbidden"


@with_story(*LED, *FIRST, *LATE, read(1, 0, ms=3500), STRUCK, GONE, **TOLD)
def test_what_readers_were_given_later_tells_nothing(report: Report) -> None:
    """The twin."""
    assert judged(report, "lost") == "permitted"


@with_story(
    *LED,
    *FIRST,
    *LATE,
    read(1, 0, ms=1500),
    STRUCK,
    GONE,
    **{**TOLD, "isolation": "read_uncommitted"},
)
def test_readers_of_what_is_not_committed_tell_nothing(report: Report) -> None:
    assert judged(report, "lost") == "permitted"


BOTH = (
    within(sent(1, at=0, ms=1000, took=100), 0),
    within(sent(3, at=0, ms=1010, took=90, partition=1), 0),
    *told(1000, 0, "committed"),
)
HALF = (final_read({}, position=2), final_read({0: 3}, partition=1, position=2))
PARTITIONS = {**TOLD, "partitions": 2}
TWO_LOGS = (*LED, view("kafka1", ms=-1000, isr=EVERYBODY, partition=1))


@with_story(*TWO_LOGS, *BOTH, read(3, 0, ms=1500, partition=1), STRUCK, *HALF, **PARTITIONS)
def test_what_was_read_of_another_partition_tells_nothing(report: Report) -> None:
    assert judged(report, "lost") == judged(report, "torn") == "permitted"


@with_story(*TWO_LOGS, *BOTH, read(1, 0, ms=1500), STRUCK, *HALF, **PARTITIONS)
def test_what_was_read_of_the_same_partition_settles_it(report: Report) -> None:
    """The twin."""
    assert judged(report, "lost") == judged(report, "torn") == "forbidden"


IN_DOUBT = (
    within(doubtful(1, ms=1000, took=100), 0),
    within(doubtful(3, ms=1010, took=90, partition=1), 0),
    *told(1000, 0, "unknown"),
)


@with_story(*TWO_LOGS, *IN_DOUBT, noted("begun", 1500, 1, instance=1), STRUCK, *HALF, **PARTITIONS)
def test_the_next_client_settles_what_the_one_before_left_open(report: Report) -> None:
    assert judged(report, "torn") == "forbidden"


@with_story(
    *TWO_LOGS, *IN_DOUBT, noted("begun", 1500, 0, "producer-0-2"), STRUCK, *HALF, **PARTITIONS
)
def test_so_does_the_worker_that_takes_its_place(report: Report) -> None:
    assert judged(report, "torn") == "forbidden"


@with_story(
    *TWO_LOGS, *IN_DOUBT, noted("begun", 1500, 0, "producer-1"), STRUCK, *HALF, **PARTITIONS
)
def test_another_producer_settles_nothing(report: Report) -> None:
    """The twin: it has a transactional.id of its own."""
    assert judged(report, "torn") == "permitted"


# --- what was aborted is read

CUT_OFF = (
    view("kafka1", ms=-1000, isr=EVERYBODY),
    view("kafka1", ms=2480, isr=("kafka1",)),
    view("kafka2", ms=6000, isr=("kafka2",), epoch=1),
)
CUT = fault("cut", "leader:brokers", ms=1800, for_ms=None)
ABORTED = (within(aborted(1, ms=1700, took=150), 0), *told(1750, 0, "aborted"))
UNCLEAN = {**TOLD, "topic": {"unclean.leader.election.enable": "true"}}


@with_story(*CUT_OFF, *ABORTED, CUT, final_read({0: 1}), **UNCLEAN)
def test_an_abort_that_was_answered_may_have_no_marker_yet(report: Report) -> None:
    assert judged(report, "phantom") == "permitted"


@with_story(
    *CUT_OFF,
    *ABORTED,
    CUT,
    within(sent(2, at=2, ms=1900, took=100), 1),
    *told(1900, 1, "committed"),
    final_read({0: 1, 2: 2}),
    **UNCLEAN,
)
def test_an_abort_that_was_settled_before_the_broker_was_out_stays(report: Report) -> None:
    """The twin."""
    assert judged(report, "phantom") == "forbidden"


# --- offsets that were committed without the rest

TAKEN = (
    sent(1, at=0, ms=100),
    polled(1, 0, ms=500, process=ONE),
    within(processing(1, at=0, ms=1000, ended="fail"), 0),
    within(committed(1, ms=1050, process=ONE, took=50, ended="fail"), 0),
    *told(1000, 0, "aborted", ONE),
)
TOLD_LATER = committed(1, ms=6000, process=ONE, found=True)
READ = (final_read(1), final_read({0: 3}, partition=1))
MADE = within(sent(3, at=0, ms=1210, took=90, due=1200, partition=1, process=ONE), 1)
SETTLED = (MADE, *told(1200, 1, "committed", ONE))
EARLIEST = {**EXACT, "consumer": {"auto.offset.reset": "earliest"}}


@with_story(*TWO_LOGS, *TAKEN, *SETTLED, STRUCK, TOLD_LATER, *READ, **EARLIEST)
def test_settled_offsets_are_committed_with_what_was_made(report: Report) -> None:
    assert judged(report, "skipped") == judged(report, "no-output") == "forbidden"
    assert report["verdict"] == "invalid"


@with_story(*TWO_LOGS, *TAKEN, STRUCK, TOLD_LATER, READ[0], final_read(partition=1), **EARLIEST)
def test_offsets_may_be_committed_without_the_rest_until_then(report: Report) -> None:
    """The twin."""
    assert judged(report, "skipped") == judged(report, "no-output") == "permitted"
