"""Leader changes that permitted too much, or too little: found by random stories."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clusters import MS, hit, led, seen_by, verdict

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


def test_nothing_was_sent_before_the_first_operation_also_if_nobody_knows_when() -> None:
    """The second is the twin: the first view came after it."""
    early = seen_by(led(1, 50), acks="1", first_ms=50)
    late = seen_by(led(1, 50), acks="1", first_ms=49)

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
        replaced = (led(1, 0), led(2, 1000, epoch=1))
        return seen_by(*replaced, *views, acks="1", read_ended_ms=200_000)

    assert verdict(run(), "lost", 50_000, 50_001) == "forbidden"
    again = run(led(2, 30_000, epoch=2))
    assert verdict(again, "lost", 50_000, 50_001) == "permitted"
    assert verdict(again, "lost", 75_001, 75_002) == "forbidden"


def test_without_a_leader_nobody_removes_who_does_not_fetch() -> None:
    views = (led(1, 0), led(2, 1000, epoch=1), led(None, 2000, epoch=2), led(2, 60_000, epoch=3))
    run = seen_by(*views, acks="1", read_ended_ms=200_000)

    assert verdict(run, "lost", 50_000, 50_001) == "permitted"
    assert verdict(run, "lost", 105_001, 105_002) == "forbidden"


# --- nobody looked


@pytest.mark.parametrize("anomaly", ["early-read", "watermark-ahead", "reprocessed"])
def test_who_looks_at_the_brokers_may_see_an_election_before_its_view(anomaly: str) -> None:
    """The twin ended before the look that did not show it."""
    views = (led(1, 0), led(1, 50, (1,)), led(2, 100, (2,), epoch=1, since_ms=60))
    run = seen_by(*views, topic=UNCLEAN, commit="before", watched=True)

    assert verdict(run, anomaly, 55, 59, shown_ns=90 * MS) == "permitted"
    assert verdict(run, anomaly, 55, 59, shown_ns=60 * MS) == "forbidden"


def test_a_send_that_ended_when_nobody_looked_may_have_met_the_new_leader() -> None:
    """The twins: it ended before the stretch, and a change between two looks."""
    views = (led(1, 0), led(2, 201, (2, 3), epoch=1, since_ms=59))
    dark = seen_by(*views, blind=[(60, 200)], retries=0)

    assert verdict(dark, "duplicate", 100, 190) == "in-doubt"
    assert verdict(dark, "duplicate", 40, 55) == "forbidden"
    assert verdict(dark, "duplicate", 100, 205) == "permitted"
    assert verdict(seen_by(*views, retries=0), "duplicate", 100, 190) == "forbidden"


def test_a_truncation_when_nobody_looked_may_show_before_its_view() -> None:
    views = (led(1, 0), led(2, 201, (2, 3), epoch=1, since_ms=59))
    server = {"inter.broker.protocol.version": "0.10.2"}
    dark = seen_by(*views, blind=[(60, 200)], server=server, watched=True)

    assert verdict(dark, "early-read", 10, 15, shown_ns=150 * MS) == "in-doubt"
    assert verdict(dark, "early-read", 10, 15, shown_ns=50 * MS) == "forbidden"
    assert verdict(dark, "early-read", 10, 15, shown_ns=210 * MS) == "permitted"


def test_after_a_hidden_unclean_election_the_old_leader_may_acknowledge_on() -> None:
    """The ISR may have shrunk to it; the twin has clean elections."""
    views = (led(1, 0), led(3, 201, (3,), epoch=1, since_ms=59))

    assert verdict(seen_by(*views, blind=[(60, 200)], topic=UNCLEAN), "lost", 1000) == "in-doubt"
    assert verdict(seen_by(*views, blind=[(60, 200)]), "lost", 1000) == "forbidden"


def test_a_change_when_nobody_looked_may_have_come_before_the_final_read_ended() -> None:
    """The twins: the stretch began after it; and a change that was seen later."""
    views = (led(1, 0), led(2, 9000, (2, 3), epoch=1, since_ms=59))
    run = seen_by(*views, blind=[(60, 8999)], acks="1", read_ended_ms=5000)

    assert verdict(run, "lost", 50, 55) == "in-doubt"
    late = (led(1, 0), led(2, 9000, (2, 3), epoch=1, since_ms=6000))
    assert verdict(seen_by(*late, acks="1", read_ended_ms=5000), "lost", 50) == "forbidden"
    dark = seen_by(*late, blind=[(6001, 8999)], acks="1", read_ended_ms=5000)
    assert verdict(dark, "lost", 50, 55) == "forbidden"


# --- stale leaders


LAG = {"replica.lag.time.max.ms": "1000"}


@pytest.mark.parametrize(
    "fault",
    [
        hit("cut", [], 500, options={"from": "brokers"}),
        hit("cut", [1], 100, options={"from": "clients"}),
    ],
    ids=["of nobody", "from clients"],
)
def test_what_hides_no_fetching_makes_no_stale_leader_live_longer(fault: Any) -> None:
    """The twin is a cut of it from the brokers."""
    views = (led(1, 0), led(2, 50, epoch=1))
    cut = hit("cut", [1], 100, options={"from": "brokers"})

    assert verdict(seen_by(*views, faults=[fault], acks="1", server=LAG), "lost", 5000) == (
        "forbidden"
    )
    assert verdict(seen_by(*views, faults=[cut], acks="1", server=LAG), "lost", 5000) == (
        "permitted"
    )


def test_who_was_started_again_meanwhile_has_not_ended() -> None:
    """It led again after the roll, was cut off and deposed; the twin was killed after that."""
    views = (
        led(1, 0),
        led(2, 12, (2, 3), epoch=1),
        led(1, 30, epoch=2),
        led(2, 60, (2, 3), epoch=3),
    )
    roll = hit("roll", [1], 10, ok_ms=20, heal_ms=1000, healed_ms=1001)
    faults = [roll, hit("cut", [1], 50, healed_ms=9000)]
    killed = [*faults, hit("kill", [1], 2000)]

    assert verdict(seen_by(*views, faults=faults, acks="1", server=LAG), "lost", 5000) == (
        "permitted"
    )
    assert verdict(seen_by(*views, faults=killed, acks="1", server=LAG), "lost", 5000) == (
        "forbidden"
    )


def test_one_replica_may_move_too() -> None:
    """The twin is one that stays."""
    moved = seen_by(led(1, 0, (1,)), led(2, 50, (2,), epoch=3), replicas=1, acks="1")

    assert verdict(moved, "lost", 45, 48) == "permitted"
    assert verdict(seen_by(led(1, 0, (1,)), replicas=1, acks="1"), "lost", 45, 48) == "forbidden"


def test_two_blind_stretches_that_began_at_once_are_told_apart() -> None:
    run = seen_by(led(1, 0), blind=[(60, 200), (60, None)], acks="1")

    assert verdict(run, "lost", 50, 55) == "in-doubt"
