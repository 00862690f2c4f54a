"""Rebalances: when a partition was nobody's, and who kept what it had no more."""

from __future__ import annotations

from typing import Any

from tests.support.histories import Part, event, final_read, sent, with_story

ONE, OTHER = "group-consumer-0", "group-consumer-1"
GROUP: dict[str, Any] = {"commit": "auto", "history_format": 2}
NONE = {"count": 0, "p50_s": None, "max_s": None}


def given(ms: float, generation: int, process: str = ONE, text: str = "0") -> Part:
    return event("assigned", ms=ms, process=process, text=text, generation=generation)


def taken(ms: float, process: str = ONE) -> Part:
    return event("revoked", ms=ms, process=process, text="")


@with_story(
    sent(1, at=0), final_read(1), given(100, 3), taken(1000), given(1400, 4, OTHER), **GROUP
)
def test_a_partition_is_nobody_s_between_two_owners(report: dict[str, Any]) -> None:
    pause = {"count": 1, "p50_s": 0.4, "max_s": 0.4}
    assert report["rebalances"] == {"generations": 2, "pauses": pause, "expelled": NONE}


@with_story(sent(1, at=0), final_read(1), given(100, 3), taken(1000), given(900, 4, OTHER), **GROUP)
def test_who_is_expelled_keeps_what_another_has(report: dict[str, Any]) -> None:
    kept = {"count": 1, "p50_s": 0.1, "max_s": 0.1}
    assert report["rebalances"] == {"generations": 2, "pauses": NONE, "expelled": kept}
    assert report["anomalies"]["two-owners"]["count"] == 0


@with_story(
    sent(1, at=0),
    final_read(1),
    given(100, 3),
    taken(1000),
    given(900, 4, OTHER),
    expect={"expelled-owners": ">= 1"},
    **GROUP,
)
def test_one_that_was_expelled_can_be_demanded(report: dict[str, Any]) -> None:
    met = {"seen": 1, "demanded": ">= 1", "demand_met": True}
    assert report["count_demands"] == {"expelled-owners": met}


@with_story(
    sent(1, at=0),
    final_read(1),
    given(100, 3),
    taken(800),
    given(900, 4, OTHER),
    expect={"expelled-owners": ">= 1"},
    **GROUP,
)
def test_where_nobody_was_it_is_not_met(report: dict[str, Any]) -> None:
    """The twin: it let go before. That one may have been unseen is left: nothing was processed."""
    unmet = {"seen": 0, "demanded": ">= 1", "demand_met": None}
    assert report["count_demands"] == {"expelled-owners": unmet}


@with_story(sent(1, at=0), final_read(1), given(100, 3), given(900, 4, OTHER), **GROUP)
def test_who_was_killed_is_the_owner_until_the_next_is(report: dict[str, Any]) -> None:
    assert report["rebalances"] == {"generations": 2, "pauses": NONE, "expelled": NONE}


@with_story(
    sent(1, at=0),
    final_read(1),
    given(100, 3, text="0, 1"),
    event("member", ms=500, process=ONE, generation=4),
    taken(1000),
    given(1000, 5, OTHER),
    partitions=2,
    **GROUP,
)
def test_neither_a_member_that_goes_on_nor_one_right_after_makes_a_pause(
    report: dict[str, Any],
) -> None:
    """And partition 1 is given to nobody any more."""
    assert report["rebalances"] == {"generations": 3, "pauses": NONE, "expelled": NONE}


@with_story(sent(1, at=0), final_read(1))
def test_without_a_group_there_is_nothing_to_tell(report: dict[str, Any]) -> None:
    assert "rebalances" not in report
