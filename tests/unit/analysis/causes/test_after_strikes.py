"""What a strike lets readers and replicas show: of its own partition, from its own time on, and of
the broker that was struck."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    LOAD_MS,
    fault,
    final_read,
    look,
    read,
    sent,
    view,
    with_story,
)
from tests.support.story_parts.judgements import judged

Report = dict[str, Any]
EVERYBODY = ("kafka1", "kafka2", "kafka3")
THREE = (sent(1, at=0, ms=0), sent(2, at=1), sent(3, at=2))
LED = (view("kafka1", ms=-1000, isr=EVERYBODY),)
FOLLOWER = fault("lose-power", "follower", ms=3000, for_ms=2000, nodes=("kafka3",))
EVERY = fault("lose-power", "all", ms=3000, for_ms=2000, nodes=EVERYBODY)
BACK = (read(3, 2, ms=2000), read(1, 0, ms=6000), read(2, 1), read(3, 2))
READ = final_read(1, 2, 3)
# kafka3 is dropped, comes back, and has copied everything again.
CAME_BACK = (
    *LED,
    view("kafka1", ms=3500, isr=EVERYBODY[:2]),
    view("kafka1", ms=5500, isr=EVERYBODY),
)


# --- readers


@with_story(*LED, *THREE, FOLLOWER, *BACK, READ, history_format=2)
def test_readers_are_shown_nothing_of_a_follower_s_strike(report: Report) -> None:
    assert judged(report, "poll-back") == "forbidden"
    assert report["verdict"] == "invalid"


@with_story(*LED, *THREE, EVERY, *BACK, READ, history_format=2)
def test_readers_are_shown_what_a_strike_left_of_every_copy(report: Report) -> None:
    """The twin."""
    assert judged(report, "poll-back") == "permitted"


@with_story(
    *LED,
    *THREE,
    fault("lose-power", "all", ms=8000, nodes=EVERYBODY),
    *BACK,
    READ,
    history_format=2,
)
def test_a_later_strike_shows_readers_nothing_sooner(report: Report) -> None:
    assert judged(report, "poll-back") == "forbidden"


LED_ANEW = (*LED, view("kafka3", ms=5000, isr=EVERYBODY, epoch=1))


@with_story(*LED_ANEW, *THREE, FOLLOWER, *BACK, READ, history_format=2)
def test_readers_are_shown_what_a_struck_leader_lacks(report: Report) -> None:
    assert judged(report, "poll-back") == "permitted"


@with_story(
    *LED_ANEW,
    *THREE,
    FOLLOWER,
    read(3, 2, ms=2000),
    read(1, 0, ms=4000),
    READ,
    history_format=2,
)
def test_readers_are_shown_nothing_before_it_leads(report: Report) -> None:
    """The twin."""
    assert judged(report, "poll-back") == "forbidden"


@with_story(
    *CAME_BACK,
    view("kafka3", ms=5800, isr=EVERYBODY, epoch=1),
    *THREE,
    FOLLOWER,
    *BACK,
    READ,
    history_format=2,
)
def test_readers_are_shown_nothing_of_a_leader_that_had_come_back(report: Report) -> None:
    assert judged(report, "poll-back") == "forbidden"


@with_story(*LED, *THREE, FOLLOWER, *BACK, READ, history_format=2, read_via="follower")
def test_readers_of_followers_are_shown_what_a_struck_one_lacks(report: Report) -> None:
    assert judged(report, "poll-back") == "permitted"


@with_story(*CAME_BACK, *THREE, FOLLOWER, *BACK, READ, history_format=2, read_via="follower")
def test_readers_of_followers_are_shown_nothing_once_it_is_back(report: Report) -> None:
    """The twin."""
    assert judged(report, "poll-back") == "forbidden"


HOLE = (sent(1, at=0, ms=0), sent(2, at=2), final_read({0: 1, 2: 2}))


@with_story(*LED, *HOLE, FOLLOWER)
def test_a_follower_s_strike_damages_no_segment_of_the_leader(report: Report) -> None:
    assert judged(report, "hole") == "forbidden"


@with_story(*LED, *HOLE, EVERY)
def test_a_strike_at_every_copy_may_damage_a_segment(report: Report) -> None:
    """The twin."""
    assert judged(report, "hole") == "permitted"


@with_story(
    *LED,
    view("kafka3", ms=-1000, partition=1, isr=("kafka3",)),
    *HOLE,
    final_read(partition=1),
    FOLLOWER,
    partitions=2,
)
def test_another_partition_s_strike_damages_nothing(report: Report) -> None:
    assert judged(report, "hole") == "forbidden"


SKIP = (read(1, 0, ms=2000), read(3, 2, ms=2100))


@with_story(
    *LED,
    *THREE,
    *SKIP,
    fault("lose-power", "all", ms=8000, nodes=EVERYBODY),
    READ,
    history_format=2,
)
def test_a_later_strike_lets_nobody_skip(report: Report) -> None:
    assert judged(report, "poll-skip") == "forbidden"


@with_story(
    *LED,
    *THREE,
    *SKIP,
    fault("lose-power", "all", ms=1000, nodes=EVERYBODY),
    READ,
    history_format=2,
)
def test_an_earlier_strike_may_let_a_reader_skip(report: Report) -> None:
    """The twin."""
    assert judged(report, "poll-skip") == "permitted"


# --- replicas


def lacking(*ends: int, ms: float = 6000) -> tuple[Any, ...]:
    """Looks at replicas that have everything, and at `ms` these log ends below a watermark of 3."""
    whole = look(3, 3, 3, ms=LOAD_MS + 1)
    return (look(3, 3, 3, ms=100), look(*ends, ms=ms, marks=[3, min(ends), min(ends)]), whole)


@with_story(*LED, *THREE, FOLLOWER, *lacking(3, 3, 1), READ, watched=True)
def test_a_struck_follower_in_the_isr_lacks_what_it_lost(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "permitted"


@with_story(*LED, *THREE, FOLLOWER, *lacking(3, 1, 3), READ, watched=True)
def test_a_follower_that_was_not_struck_lacks_nothing(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "forbidden"


@with_story(*LED, *THREE, FOLLOWER, *lacking(3, 1, 1), READ, watched=True)
def test_a_struck_follower_excuses_no_other_one(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "forbidden"


@with_story(
    *LED,
    *THREE,
    FOLLOWER,
    fault("lose-power", "follower", ms=4000, number=1, nodes=("kafka2",)),
    *lacking(3, 1, 1),
    READ,
    watched=True,
)
def test_two_that_were_struck_one_after_the_other_may_both_lack(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "permitted"


@with_story(*LED, *THREE, FOLLOWER, *lacking(3, 3, 1, ms=2000), READ, watched=True)
def test_it_lacks_nothing_before_it_was_struck(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "forbidden"


@with_story(*CAME_BACK, *THREE, FOLLOWER, *lacking(3, 3, 1), READ, watched=True)
def test_it_lacks_nothing_once_it_is_back(report: Report) -> None:
    assert judged(report, "watermark-ahead") == "forbidden"


BELOW = (
    look(3, 3, 3, ms=100),
    look(3, 3, 1, ms=6000, marks=[1, 1, 1]),
    look(3, 3, 3, ms=LOAD_MS + 1),
)


@with_story(*LED, *THREE, FOLLOWER, *BELOW, READ, watched=True)
def test_a_struck_follower_s_log_end_may_go_back(report: Report) -> None:
    assert judged(report, "end-back") == "permitted"


@with_story(*CAME_BACK, *THREE, FOLLOWER, *BELOW, READ, watched=True)
def test_its_log_end_does_not_go_back_once_it_is_back(report: Report) -> None:
    """The twin."""
    assert judged(report, "end-back") == "forbidden"


EARLY = (
    read(3, 2, ms=5990),
    look(3, 3, 3, ms=100),
    look(3, 3, 2, ms=6000, marks=[2, 2, 2]),
    look(3, 3, 3, ms=LOAD_MS + 1),
)


@with_story(*LED, *THREE, FOLLOWER, *EARLY, READ, watched=True)
def test_a_struck_follower_may_lack_what_was_read(report: Report) -> None:
    assert judged(report, "early-read") == "permitted"


@with_story(*CAME_BACK, *THREE, FOLLOWER, *EARLY, READ, watched=True)
def test_it_has_what_was_read_once_it_is_back(report: Report) -> None:
    """The twin."""
    assert judged(report, "early-read") == "forbidden"
