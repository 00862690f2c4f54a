"""Leader changes that permitted too much, or too little: found by random stories."""

from __future__ import annotations

from typing import Any

from tests.support.clusters import hit, led, seen_by, verdict

UNCLEAN = {"unclean.leader.election.enable": "true"}


def seen_late(view: Any) -> Any:
    """A view of which it is not written down what the look before showed."""
    return {**view, "since_ns": None}


def test_who_may_have_been_in_the_isr_while_nobody_looked_leaves_doubt() -> None:
    views = (led(1, 0), led(1, 50, (1,)), led(1, 71, (1, 3), epoch=1), led(2, 100, (2,), epoch=2))
    blind = seen_by(*views, blind=[(60, 70)], topic=UNCLEAN)
    seen = seen_by(*views, topic=UNCLEAN)

    assert verdict(blind, "lost", 51, 55) == "in-doubt"
    assert verdict(blind, "lost", 72, 80) == "permitted"
    assert verdict(seen, "lost", 51, 55) == "permitted"


def test_where_the_look_before_is_not_written_down_it_came_two_looks_before_at_most() -> None:
    """What was pending is acked at once when the ISR shrinks: before anybody sees it shrunk."""
    views = (led(1, 0), seen_late(led(1, 5000, (1,))), seen_late(led(2, 9000, (2,), epoch=1)))
    run = seen_by(*views, topic=UNCLEAN, faults=[hit("kill", [1], 8000)])

    assert verdict(run, "lost", 4000, 4950) == "permitted"
    assert verdict(run, "lost", 4000, 4890) == "forbidden"


def test_after_a_blind_stretch_it_came_before_that() -> None:
    views = (led(1, 0), seen_late(led(1, 5000, (1,))), seen_late(led(2, 9000, (2,), epoch=1)))
    run = seen_by(*views, topic=UNCLEAN, blind=[(3000, 4990)])

    assert verdict(run, "lost", 3500, 3600) == "permitted"
    assert verdict(run, "lost", 2500, 2900) == "forbidden"


def test_a_setting_that_was_taken_back_between_two_looks_may_have_been_in_force() -> None:
    def elected(since_ms: float) -> Any:
        views = (led(1, 0), led(1, 50, (1,)), led(2, 100, (2,), epoch=1, since_ms=since_ms))
        changed = hit("set-config", [1, 2, 3], 80, heal_ms=96, healed_ms=98, options=UNCLEAN)
        return seen_by(*views, faults=[changed])

    assert verdict(elected(95), "lost", 55, 60) == "permitted"
    assert verdict(elected(99), "lost", 55, 60) == "forbidden"


def test_before_a_partition_s_first_view_anybody_may_have_led() -> None:
    run = seen_by(led(1, 50), acks="1")

    assert verdict(run, "lost", 49, 60) == "in-doubt"
    assert verdict(run, "lost", 51, 60) == "forbidden"
    assert verdict(seen_by(led(1, 50)), "lost", 49, 60) == "forbidden"


def test_nothing_was_sent_before_the_load_also_if_nobody_knows_when() -> None:
    """The second is the twin: the first view came after the load's start."""
    early = seen_by(led(1, 50), acks="1", load_start_ms=50)
    late = seen_by(led(1, 50), acks="1", load_start_ms=49)

    assert verdict(early, "lost", None, 60) == "forbidden"
    assert verdict(late, "lost", None, 60) == "in-doubt"


def test_nobody_led_unseen_where_the_epoch_rose_by_one() -> None:
    """The epoch rises with each leader: the one who is seen is the next one."""
    once = seen_by(led(1, 0), led(1, 201, epoch=1), blind=[(60, 200)], acks="1")
    twice = seen_by(led(1, 0), led(1, 201, epoch=2), blind=[(60, 200)], acks="1")

    assert verdict(once, "lost", 100, 110) == "forbidden"
    assert verdict(twice, "lost", 100, 110) == "in-doubt"


def test_an_epoch_rose_unseen_after_the_last_look_that_showed_the_older_one() -> None:
    run = seen_by(led(1, 0), led(1, 100, epoch=2, since_ms=95), retries=0)

    assert verdict(run, "duplicate", 10, 90) == "forbidden"
    assert verdict(run, "duplicate", 10, 97) == "in-doubt"


def test_who_led_unseen_may_not_know_that_it_was_deposed_either() -> None:
    run = seen_by(led(1, 0), led(1, 100, epoch=2), acks="1", read_ended_ms=100_000)

    assert verdict(run, "lost", 150, 160) == "in-doubt"
    assert verdict(run, "lost", 46_000, 46_001) == "forbidden"  # all were in the ISR for 45 s


def test_a_leader_waits_anew_in_each_epoch_before_it_removes_who_does_not_fetch() -> None:
    def run(*views: Any) -> Any:
        deposed = (led(1, 0), led(2, 1000, epoch=1))
        return seen_by(*deposed, *views, acks="1", read_ended_ms=200_000)

    assert verdict(run(), "lost", 50_000, 50_001) == "forbidden"
    again = run(led(2, 30_000, epoch=2))
    assert verdict(again, "lost", 50_000, 50_001) == "permitted"
    assert verdict(again, "lost", 75_001, 75_002) == "forbidden"


def test_without_a_leader_nobody_removes_who_does_not_fetch() -> None:
    views = (led(1, 0), led(2, 1000, epoch=1), led(None, 2000, epoch=2), led(2, 60_000, epoch=3))
    run = seen_by(*views, acks="1", read_ended_ms=200_000)

    assert verdict(run, "lost", 50_000, 50_001) == "permitted"
    assert verdict(run, "lost", 105_001, 105_002) == "forbidden"
