"""Another leader, and a stale one: which records they permit to be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analysis.verdict.permission import Permission
from tests.support.clusters import CONTROLLERS, Row, hit, kraft, led, seen_by, verdict

LAG = {"replica.lag.time.max.ms": "1000"}
MOVED = (led(1, 0), led(2, 50, (2, 3), epoch=1))
# kafka1 went: its process is gone before another one leads.
KILLED = [hit("kill", [1], 40)]


def test_a_record_that_was_begun_before_another_leader_was_seen_may_be_lost_under_acks_1() -> None:
    moved = seen_by(*MOVED, faults=KILLED, acks="1")

    assert verdict(moved, "lost", 49, 60) == "permitted"
    assert verdict(moved, "lost", 50, 60) == "forbidden"


def test_under_acks_all_no_leader_change_permits_a_loss() -> None:
    assert verdict(seen_by(*MOVED, faults=KILLED), "lost", 49, 60) == "forbidden"


def test_without_leader_epochs_another_leader_permits_it_under_acks_all_too() -> None:
    old = {"inter.broker.protocol.version": "0.10.2"}

    assert verdict(seen_by(*MOVED, faults=KILLED, server=old), "lost", 49) == "permitted"
    assert verdict(seen_by(*MOVED, faults=KILLED, server=old), "vanished", 49) == "permitted"


def test_acks_1_permits_no_record_to_vanish_that_a_consumer_was_given() -> None:
    moved = seen_by(*MOVED, faults=KILLED, acks="1")

    assert verdict(moved, "vanished", 49, 60) == "forbidden"
    two = {"outcome": "two_values"}
    assert verdict(moved, "inconsistent-offset", 49, 60, **two) == "permitted"
    assert verdict(moved, "inconsistent-offset", 49, 60, delivered=True, **two) == "forbidden"


def test_another_leader_permits_another_copy_only_of_a_send_that_can_be_repeated() -> None:
    repeats = seen_by(*MOVED, faults=KILLED, acks="1")
    once = seen_by(*MOVED, faults=KILLED, acks="1", idempotent=True)

    assert verdict(repeats, "inconsistent-offset", 49, outcome="acked_elsewhere") == "permitted"
    assert verdict(once, "inconsistent-offset", 49, outcome="acked_elsewhere") == "forbidden"


@pytest.mark.parametrize(
    "verb", ["cut", "throttle", "kill", "pause"]
)  # whatever could have moved leadership
def test_a_fault_without_another_leader_permits_nothing(verb: str) -> None:
    stayed = seen_by(led(1, 0), faults=[hit(verb, ["zk1"], 20)], acks="1")

    assert verdict(stayed, "lost", 10, 15) == "forbidden"


def test_a_leader_that_moved_without_a_fault_permits_as_much() -> None:
    assert verdict(seen_by(*MOVED, acks="1"), "lost", 49) == "permitted"


def test_no_leader_is_no_other_leader_and_neither_is_the_same_in_the_next_epoch() -> None:
    back = (led(1, 0), led(None, 50, (1,), epoch=1), led(1, 80, (1,), epoch=2))

    assert verdict(seen_by(*back, acks="1"), "lost", 10, 15) == "forbidden"
    assert verdict(seen_by(*back, led(2, 90, epoch=3), acks="1"), "lost", 10, 15) == "permitted"


def test_another_partition_s_leader_is_another_matter() -> None:
    elsewhere = seen_by(*MOVED, led(1, 0, partition=1), partitions=2, acks="1")

    assert verdict(elsewhere, "lost", 10, 15, partition=0) == "permitted"
    assert verdict(elsewhere, "lost", 10, 15, partition=1) == "forbidden"


def test_a_change_after_the_final_read_explains_nothing() -> None:
    assert verdict(seen_by(*MOVED, acks="1", read_ended_ms=45), "lost", 10) == "forbidden"
    assert verdict(seen_by(*MOVED, acks="1", read_ended_ms=51), "lost", 10) == "permitted"


# A stale leader's end


def stale_leader(*later: Row, faults: Sequence[Row] = ()) -> Permission:
    return seen_by(*MOVED, *later, faults=faults, acks="1", server=LAG)


def judged_at(run: Permission, begun: float) -> str:
    return verdict(run, "lost", begun, begun + 5)


def test_what_is_sent_while_a_leader_is_stale_counts_as_before() -> None:
    """It is in no ISR any more, and alive: nothing says that it heard."""
    assert judged_at(stale_leader(), 5000) == "permitted"


def test_its_end_is_when_its_process_is_proved_ended() -> None:
    stopped = stale_leader(faults=[hit("stop", [1], 40, ok_ms=120)])
    other = stale_leader(faults=[hit("stop", [3], 40, ok_ms=120)])
    paused = stale_leader(faults=[hit("pause", [1], 40, ok_ms=120)])

    assert (judged_at(stopped, 119), judged_at(stopped, 120)) == ("permitted", "forbidden")
    assert judged_at(other, 120) == judged_at(paused, 120) == "permitted"


def test_a_process_that_was_back_before_the_change_ended_nothing() -> None:
    back = [hit("kill", [1], 10, healed_ms=30)]

    assert judged_at(stale_leader(faults=back), 5000) == "permitted"
    assert judged_at(stale_leader(faults=[hit("kill", [1], 10, healed_ms=80)]), 60) == "forbidden"


def test_its_end_is_when_it_leads_again() -> None:
    again = stale_leader(led(1, 200, (1, 2), epoch=2))

    assert judged_at(again, 199) == "permitted"
    # From then on it is kafka2 that was deposed; what matters is that kafka1's time is over.
    ended = seen_by(
        *MOVED,
        led(1, 200, (1, 2), epoch=2),
        faults=[hit("kill", [2], 150)],
        acks="1",
        server=LAG,
    )
    assert (judged_at(ended, 199), judged_at(ended, 200)) == ("permitted", "forbidden")


def test_its_end_is_when_it_is_in_an_isr_after_one_without_it() -> None:
    back = stale_leader(led(2, 300, epoch=1))

    assert (judged_at(back, 299), judged_at(back, 300)) == ("permitted", "forbidden")


STILL_IN = (led(1, 0), led(2, 50, epoch=1))  # clean, and kafka1 stays in the ISR


def stays(**more: Any) -> Permission:
    return seen_by(*STILL_IN, acks="1", server=LAG, **more)


def test_its_end_is_when_it_was_in_every_isr_for_one_and_a_half_lags() -> None:
    assert (judged_at(stays(), 1549), judged_at(stays(), 1550)) == ("permitted", "forbidden")


def test_so_it_is_where_it_left_the_isr_after_that() -> None:
    """The twin left it before: nobody knows whether it still acknowledges."""
    gone, early = (seen_by(*STILL_IN, led(2, ms, (2,)), acks="1", server=LAG) for ms in (1600, 900))

    assert (judged_at(gone, 1549), judged_at(gone, 1550)) == ("permitted", "forbidden")
    assert judged_at(early, 5000) == "permitted"


@pytest.mark.parametrize(
    ("fault", "counts"),
    [
        (hit("pause", [1], 500, healed_ms=900), True),
        (hit("pause", [2], 500, healed_ms=900), True),  # the leader
        (hit("cut", [3], 500, healed_ms=900), True),  # the controller
        (hit("dump-log", [1], 500, healed_ms=900), False),  # it cannot hide anything
        (hit("pause", ["zk1"], 500, healed_ms=900), False),
        (hit("pause", ["zk1", "zk2"], 500, healed_ms=900), True),  # nobody can drop it
        # Links of who is not concerned, to others that may be.
        (hit("cut", ["zk1"], 500, healed_ms=900, options={"from": "followers"}), True),
        (hit("cut", ["zk1"], 500, healed_ms=900, options={"from": "clients"}), False),
    ],
)
def test_time_in_which_a_fault_hides_whether_it_fetches_does_not_count(
    fault: Row, counts: bool
) -> None:
    run = stays(faults=[fault])

    assert judged_at(run, 1900) == ("permitted" if counts else "forbidden")
    assert judged_at(run, 1951) == "forbidden"


@pytest.mark.parametrize(("many", "counts"), [(1, False), (2, True)])
def test_with_kraft_nobody_leaves_an_isr_without_a_majority_of_the_controllers(
    many: int, counts: bool
) -> None:
    fault = hit("pause", CONTROLLERS[:many], 500, healed_ms=900)
    run = stays(faults=[fault], kafka=kraft())

    assert judged_at(run, 1900) == ("permitted" if counts else "forbidden")
    assert judged_at(run, 1951) == "forbidden"


def test_blind_time_does_not_count_either() -> None:
    assert judged_at(stays(blind=[(500, 900)]), 1900) == "permitted"
    assert judged_at(stays(blind=[(500, 900)]), 1951) == "forbidden"


def test_a_fault_that_may_have_hidden_it_leaves_doubt_between() -> None:
    """What a `frobnicate` can do is not known."""
    run = stays(faults=[hit("frobnicate", [1], 500, ok_ms=501, healed_ms=600)])

    assert judged_at(run, 1500) == "permitted"
    assert judged_at(run, 1600) == "in-doubt"
    assert judged_at(run, 1700) == "forbidden"


# What a new leader had before it led

FAST = {"replica.lag.time.max.ms": "500"}
TOOK_OVER = (led(1, -1000), led(2, 5000, (2, 3), epoch=1, since_ms=4950))


def taken_over(*more: Row, views: Sequence[Row] = TOOK_OVER, **said: Any) -> Permission:
    """kafka1 is killed at 3 s; kafka2 was in every ISR and leads."""
    killed = hit("kill", [1], 3000, heal_ms=8000, healed_ms=9000)
    return seen_by(*views, faults=[killed, *more], **{"acks": "1", "server": FAST, **said})


def lost_at(run: Permission, known_ms: float) -> str:
    return verdict(run, "lost", known_ms - 5, known_ms)


def test_a_new_leader_had_what_was_acknowledged_long_before_the_old_one_ended() -> None:
    run = taken_over()

    assert (lost_at(run, 2250), lost_at(run, 2251)) == ("forbidden", "permitted")
    two = {"outcome": "two_values"}
    assert verdict(run, "inconsistent-offset", 300, 400, **two) == "forbidden"
    assert verdict(run, "inconsistent-offset", 2300, 2400, **two) == "permitted"


def test_without_leader_epochs_it_truncates_to_a_watermark_that_lags_as_well() -> None:
    """3 lags of 500 ms before 3 s."""
    old: dict[str, Any] = {"server": {**FAST, "inter.broker.protocol.version": "0.10.2-IV0"}}
    for run in (taken_over(**old), taken_over(acks="all", **old)):
        assert (lost_at(run, 1500), lost_at(run, 1501)) == ("forbidden", "permitted")
        assert verdict(run, "vanished", 1000, 1500) == "forbidden"
        assert verdict(run, "vanished", 1000, 1501) == "permitted"


def test_it_had_so_only_from_when_it_was_in_every_isr() -> None:
    out = (led(1, -1000), led(1, 1000, (1, 3)), led(1, 2000), *TOOK_OVER[1:])

    assert lost_at(taken_over(views=out), 250) == "forbidden"  # 250 to 1000: before it was dropped
    assert lost_at(taken_over(views=out), 260) == "forbidden"  # 2000 to 2750: it was back
    back = (led(1, -1000), led(1, 1000, (1, 3)), led(1, 2500), *TOOK_OVER[1:])
    assert (lost_at(taken_over(views=back), 250), lost_at(taken_over(views=back), 260)) == (
        *("forbidden", "permitted"),
    )


@pytest.mark.parametrize(
    "hidden",
    [
        {"blind": [(1000, 2900)]},
        {"more": [hit("cut", [2], 1000, healed_ms=2900)]},
        {"more": [hit("pause", ["zk1", "zk2"], 1000, healed_ms=2900)]},
    ],
)
def test_time_in_which_nobody_saw_that_it_fetches_does_not_count(hidden: dict[str, Any]) -> None:
    more = hidden.pop("more", [])
    run = taken_over(*more, **hidden)

    assert (lost_at(run, 350), lost_at(run, 360)) == ("forbidden", "permitted")


def test_a_leader_that_ends_by_itself_may_have_been_gone_for_a_session() -> None:
    server = {**FAST, "zookeeper.session.timeout.ms": "2000"}
    run = seen_by(*TOOK_OVER, acks="1", server=server)

    assert (lost_at(run, 2200), lost_at(run, 2201)) == ("forbidden", "permitted")


def test_with_kraft_its_session_is_one_with_the_controller() -> None:
    """Each new controller begins all of them anew, so it may have been gone for longer."""
    server = {**FAST, "broker.session.timeout.ms": "2000"}

    def of(*views: Row) -> Permission:
        return seen_by(*views, acks="1", server=server, kafka=kraft("3.9.2"))

    same = of(*TOOK_OVER)
    assert (lost_at(same, 2200), lost_at(same, 2201)) == ("forbidden", "permitted")
    early, late = (led(1, ms, since_ms=ms - 50, controller="controller2") for ms in (2950, 4000))
    before = of(TOOK_OVER[0], early, TOOK_OVER[1] | {"controller": "controller2"})
    assert (lost_at(before, 2150), lost_at(before, 2201)) == ("forbidden", "permitted")
    anew = of(TOOK_OVER[0], late, TOOK_OVER[1] | {"controller": "controller2"})
    assert (lost_at(anew, 1200), lost_at(anew, 1201)) == ("forbidden", "permitted")


def test_where_nobody_tells_the_controller_there_may_have_been_another_one() -> None:
    server = {**FAST, "broker.session.timeout.ms": "500"}
    views = [view | {"controller": None} for view in TOOK_OVER]
    run = seen_by(*views, acks="1", server=server, kafka=kraft("3.9.2"))

    assert (lost_at(run, 200), lost_at(run, 201)) == ("forbidden", "permitted")


def test_each_epoch_and_each_leader_begins_anew() -> None:
    again = (led(1, -1000), led(1, 2500, epoch=1), led(2, 5000, (2, 3), epoch=2, since_ms=4950))

    # 500 ms of the second epoch are too few, and of the first the last session does not count.
    assert lost_at(taken_over(views=again), -900) == "permitted"


# Duplicates without retries


def test_a_send_that_a_leader_change_fell_into_may_be_in_the_log_twice_without_retries() -> None:
    moved = seen_by(*MOVED, faults=KILLED, retries=0)

    assert verdict(moved, "duplicate", 40, 60) == "permitted"
    assert verdict(moved, "duplicate", 40, None) == "permitted"  # it never ended
    assert verdict(moved, "duplicate", 40, 49) == "forbidden"  # it ended before
    assert verdict(moved, "duplicate", 60, 70) == "forbidden"  # it began after


def test_a_stale_leader_may_answer_later_sends_so() -> None:
    assert verdict(seen_by(*MOVED, retries=0), "duplicate", 60, 70) == "permitted"
    assert verdict(seen_by(*MOVED, retries=0, idempotent=True), "duplicate", 60) == "forbidden"


# What nobody saw


def test_a_blind_stretch_with_the_same_leader_and_epoch_on_both_sides_hid_nothing() -> None:
    same = seen_by(led(1, 0), led(1, 90, (1, 2)), blind=[(20, 80)], acks="1")
    risen = seen_by(led(1, 0), led(1, 81, epoch=2), blind=[(20, 80)], acks="1")

    assert verdict(same, "lost", 10, 15) == "forbidden"
    assert verdict(risen, "lost", 10, 15) == "in-doubt"


def test_a_blind_stretch_that_never_ended_leaves_doubt() -> None:
    dark = seen_by(led(1, 0), blind=[(20, None)], acks="1")

    assert verdict(dark, "lost", 10, 15) == "in-doubt"
    assert verdict(seen_by(led(1, 0), blind=[(20, None)]), "lost", 10, 15) == "forbidden"


def test_a_partition_that_nobody_looked_at_leaves_doubt_under_acks_1_only() -> None:
    assert verdict(seen_by(acks="1"), "lost", 10) == "in-doubt"
    assert verdict(seen_by(), "lost", 10) == "forbidden"


def test_an_epoch_that_rose_by_more_than_one_leaves_doubt_unless_replicas_left_the_isr() -> None:
    risen = seen_by(led(1, 0), led(1, 50, epoch=2), acks="1")
    left = seen_by(led(1, 0), led(1, 50, (1,), epoch=2), acks="1")

    assert verdict(risen, "lost", 10, 15) == "in-doubt"
    assert verdict(left, "lost", 10, 15) == "forbidden"
    assert verdict(seen_by(led(1, 0), led(1, 50, epoch=1), acks="1"), "lost", 10) == "forbidden"


def test_the_controller_raises_the_epoch_to_drop_a_dead_leader_and_again_to_elect_another() -> None:
    """As recorded: the only replica in the ISR was killed, and one from outside took over. The twin
    rose once more than that."""
    unclean = {"unclean.leader.election.enable": "true"}

    def elected(epoch: int) -> Permission:
        views = (led(3, 0), led(3, 5196, (3,), since_ms=5128))
        return seen_by(*views, led(1, 9958, (1,), epoch=epoch, since_ms=9861), topic=unclean)

    assert verdict(elected(2), "lost", 6000, 6010) == "permitted"
    assert verdict(elected(3), "lost", 6000, 6010) == "in-doubt"
