"""What lies before the first record that a reader, or a group, was given."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    aborted,
    blind,
    committed,
    event,
    final_read,
    found,
    polled,
    processed,
    read,
    sent,
    split,
    stopped,
    view,
    with_story,
)

Report = dict[str, Any]
EARLIEST = {"consumer": {"auto.offset.reset": "earliest"}}
LATEST = {"consumer": {"auto.offset.reset": "latest"}}
THREE = (sent(1, at=0, ms=0), sent(2, at=1), sent(3, at=2))
LATE = (
    polled(3, 2, ms=500),
    processed(3, 2, ms=510),
    committed(3, ms=600),
)
READ = final_read(1, 2, 3)
NEW = {"commit": "after", "history_format": 2}


# --- a group


@with_story(*THREE, *LATE, READ, **NEW, **EARLIEST)
def test_a_new_group_begins_at_the_log_s_start(report: Report) -> None:
    assert found(report, "skipped") == [1, 2]
    assert split(report, "skipped")["before_first"] == 2
    assert report["verdict"] == "invalid"


@with_story(*THREE, *LATE, READ, **NEW, **LATEST)
def test_one_that_begins_at_its_end_skipped_nothing(report: Report) -> None:
    """The twin."""
    assert found(report, "skipped") == []
    assert report["verdict"] == "valid"


@with_story(*THREE, *LATE, READ, **NEW)
def test_where_the_reset_is_not_told_nobody_knows(report: Report) -> None:
    assert found(report, "skipped") == [1, 2]
    assert report["verdict"] == "unknown"


@with_story(*THREE, committed(2, ms=600), READ, **NEW, **EARLIEST)
def test_a_commit_of_a_partition_of_which_nothing_was_given(report: Report) -> None:
    assert found(report, "skipped") == [1, 2]
    assert report["verdict"] == "invalid"


@with_story(*THREE, committed(0, ms=600), READ, **NEW, **EARLIEST)
def test_a_commit_of_the_log_s_start_passes_over_nothing(report: Report) -> None:
    """The twin."""
    assert found(report, "skipped") == []


@with_story(*THREE, *LATE, final_read(3, log_start=2), **NEW, **EARLIEST)
def test_what_was_deleted_was_not_skipped(report: Report) -> None:
    assert found(report, "skipped") == []


@with_story(
    aborted(1, ms=0),
    aborted(2, ms=0),
    sent(3, at=2),
    *LATE,
    final_read({2: 3}),
    isolation="read_committed",
    retries=9,
    idempotent=True,
    **NEW,
    **EARLIEST,
)
def test_what_was_aborted_was_not_skipped(report: Report) -> None:
    assert found(report, "skipped") == []


AUTO = {**NEW, "commit": "auto", **EARLIEST}


@with_story(*THREE, *LATE, READ, **AUTO)
def test_a_client_that_commits_by_itself_begins_there_too(report: Report) -> None:
    assert report["verdict"] == "invalid"


@with_story(*THREE, *LATE, stopped("dies", ms=400, process="group-consumer-1"), READ, **AUTO)
def test_what_a_member_that_died_may_have_stored_is_not_known(report: Report) -> None:
    """The twin."""
    assert found(report, "skipped") == [1, 2]
    assert report["verdict"] == "unknown"


CUT = (
    view("kafka1", ms=-1000, isr=("kafka1",)),
    view("kafka2", ms=550, isr=("kafka2",), epoch=1),
)


@with_story(
    *CUT, *THREE, *LATE, READ, topic={"unclean.leader.election.enable": "true"}, **NEW, **EARLIEST
)
def test_a_log_that_was_cut_explains_it(report: Report) -> None:
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 2


# --- a reader that follows the log

PUT = event("position", partition=0, position=0, text="assigned", ms=100)
FOLLOWS = {"history_format": 2, "consumers": 1}


@with_story(*THREE, PUT, read(3, 2, ms=500), READ, **FOLLOWS)
def test_a_reader_begins_where_it_was_put(report: Report) -> None:
    assert report["anomalies"]["poll-skip"]["count"] == 1
    assert report["verdict"] == "invalid"


@with_story(*THREE, read(3, 2, ms=500), READ, **FOLLOWS)
def test_one_of_which_nobody_told_where_it_was_put(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["poll-skip"]["count"] == 0


@with_story(
    *THREE,
    event("position", partition=0, position=2, text="assigned", ms=100),
    read(3, 2, ms=500),
    READ,
    **FOLLOWS,
)
def test_one_that_was_put_there_skipped_nothing(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["poll-skip"]["count"] == 0


@with_story(
    *THREE,
    PUT,
    event("reset", partition=0, position=0, text="offset reset", ms=400),
    read(3, 2, ms=500),
    READ,
    **FOLLOWS,
)
def test_one_that_was_moved_since_skipped_nothing(report: Report) -> None:
    assert report["anomalies"]["poll-skip"]["count"] == 0


@with_story(*THREE, PUT, read(3, 2, ms=500), final_read({2: 3}, log_start=2), **FOLLOWS)
def test_what_the_final_read_does_not_have_was_not_skipped(report: Report) -> None:
    assert report["anomalies"]["poll-skip"]["count"] == 0


@with_story(
    *THREE,
    read(1, 0, ms=50),
    event("position", partition=0, position=0, text="assigned", ms=100, process="consumer-1"),
    read(2, 1, ms=500),
    read(3, 2, ms=510),
    READ,
    blind(ms=9000, for_ms=100),
    **FOLLOWS,
)
def test_where_another_was_put_tells_nothing_of_it(report: Report) -> None:
    assert report["anomalies"]["poll-skip"]["count"] == 0
