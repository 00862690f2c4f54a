"""Records of sends that asked for no ack, where the log no longer starts at 0."""

from __future__ import annotations

from typing import Any

from tests.support.histories import final_read, found, unasked, with_story

Report = dict[str, Any]


@with_story(unasked(1), unasked(2), final_read({7: 2}, log_start=7), acks="0")
def test_an_unacknowledged_record_may_lie_below_a_log_start_that_moved(report: Report) -> None:
    """Nobody knows its offset: deleted, never written or lost."""
    assert found(report, "unacknowledged-lost") == []
    assert report["counts"]["unacknowledged_lost"] == 0


@with_story(unasked(1), unasked(2), final_read({7: 2}), acks="0")
def test_where_the_log_still_starts_at_0_it_is_lost(report: Report) -> None:
    """The twin: the same offsets, and nothing can have been deleted."""
    assert found(report, "unacknowledged-lost") == [1]
    assert report["counts"]["unacknowledged_lost"] == 1
