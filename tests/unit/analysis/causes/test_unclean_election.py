"""Unclean elections: which records may be lacking on a broker that was elected outside the ISR."""

from __future__ import annotations

from typing import Any

from analysis.verdict.permission import Permission
from tests.support.clusters import hit, led, seen_by, verdict

UNCLEAN = {"unclean.leader.election.enable": "true"}
# kafka1 is alone in the ISR from 50 on and is gone at 90; kafka2 leads from 100 on.
ALONE = (led(1, 0), led(1, 50, (1,)), led(None, 91, (1,), epoch=1), led(2, 100, (2,), epoch=2))
DEAD = [hit("kill", [1], 90)]


def run(*views: Any, topic: Any = None, **more: Any) -> Permission:
    configured = {"topic": UNCLEAN if topic is None else topic, "faults": DEAD, **more}
    return seen_by(*(views or ALONE), **configured)


def test_what_was_acked_while_the_elected_leader_was_out_may_be_lost() -> None:
    assert verdict(run(), "lost", 55, 60) == "permitted"
    assert verdict(run(), "vanished", 55, 60) == "permitted"
    assert verdict(run(), "inconsistent-offset", 55, 60, delivered=True) == "permitted"


def test_the_same_is_forbidden_where_unclean_elections_are_not_allowed() -> None:
    assert verdict(run(topic={}), "lost", 55, 60) == "forbidden"


def test_what_was_acked_while_it_was_in_the_isr_is_not() -> None:
    """It had the record."""
    assert verdict(run(), "lost", 10, 15) == "forbidden"


def test_what_was_in_flight_when_it_left_may_be_lost() -> None:
    assert verdict(run(), "lost", 40, 55) == "permitted"


def test_what_was_begun_after_the_election_is_not() -> None:
    assert verdict(run(), "lost", 99, 105) == "permitted"
    assert verdict(run(), "lost", 100, 105) == "forbidden"


def test_a_change_of_the_isr_counts_from_the_look_before_where_that_is_known() -> None:
    """Pending sends are acked at the moment in which the ISR shrinks, which is seen later."""
    late = (led(1, 0), led(1, 50, (1,), since_ms=45), *ALONE[2:])

    assert verdict(run(*late), "lost", 40, 47) == "permitted"
    assert verdict(run(*late), "lost", 40, 44) == "forbidden"


def test_an_election_within_the_isr_permits_nothing_although_unclean_ones_are_allowed() -> None:
    clean = (led(1, 0), led(1, 50, (1, 2)), led(2, 100, (2,), epoch=1))

    assert verdict(run(*clean), "lost", 55, 60) == "forbidden"


def test_who_was_in_an_isr_after_the_ack_had_the_record() -> None:
    """kafka2 was out, came back, and was out again: lacking what it had is the bug."""
    back = (
        led(1, 0, (1,)),
        led(1, 30, (1, 2)),
        led(1, 50, (1,)),
        led(2, 100, (2,), epoch=1),
    )
    assert verdict(run(*back), "lost", 10, 15) == "forbidden"
    assert verdict(run(*back), "lost", 35, 40) == "forbidden"
    assert (
        verdict(run(*back), "lost", 29, 31) == "forbidden"
    )  # it came back with all that was acked
    assert verdict(run(*back), "lost", 55, 60) == "permitted"


def test_a_stale_leader_acks_on_whoever_is_in_its_isr() -> None:
    """kafka1 lives, cut off, and is in no ISR any more: acks=all is answered by it alone."""
    assert verdict(run(faults=[]), "lost", 150, 160) == "permitted"
    assert verdict(run(), "lost", 150, 160) == "forbidden"  # it is dead


def test_the_setting_counts_while_it_was_in_force() -> None:
    changed = hit("set-config", [1, 2, 3], 95, healed_ms=120, options=UNCLEAN)
    before = hit("set-config", [1, 2, 3], 60, healed_ms=80, options=UNCLEAN)
    back = hit("set-config", [1], 60, options={"unclean.leader.election.enable": "false"})

    assert verdict(run(topic={}, faults=[*DEAD, changed]), "lost", 55, 60) == "permitted"
    assert verdict(run(topic={}, faults=[*DEAD, before]), "lost", 55, 60) == "forbidden"
    assert verdict(run(faults=[*DEAD, back]), "lost", 55, 60) == "forbidden"


def test_the_brokers_setting_does_not_count_where_the_topic_has_its_own() -> None:
    own = {"unclean.leader.election.enable": "false"}
    brokers = hit("set-config", [1, 2, 3], 60, options={**UNCLEAN, "on": "brokers"})

    assert verdict(run(topic=own, server=UNCLEAN), "lost", 55, 60) == "forbidden"
    assert verdict(run(topic={}, server=UNCLEAN), "lost", 55, 60) == "permitted"
    assert verdict(run(topic=own, faults=[*DEAD, brokers]), "lost", 55, 60) == "forbidden"
    assert verdict(run(topic={}, faults=[*DEAD, brokers]), "lost", 55, 60) == "permitted"


def test_a_fault_of_which_nobody_knows_what_it_can_do_may_have_allowed_it() -> None:
    unknown = hit("frobnicate", ["zk1"], 20, healed_ms=110)
    healed = hit("frobnicate", ["zk1"], 20, healed_ms=40)

    assert verdict(run(topic={}, faults=[*DEAD, unknown]), "lost", 55, 60) == "in-doubt"
    assert verdict(run(topic={}, faults=[*DEAD, healed]), "lost", 55, 60) == "forbidden"


def test_an_election_that_nobody_saw_leaves_doubt_for_who_may_have_lacked_the_record() -> None:
    dark = (led(1, 0), led(1, 201, (1, 2, 3), epoch=4))

    assert verdict(run(*dark, faults=[], blind=[(60, 200)]), "lost", 100, 110) == "in-doubt"
    # All three were in the ISR when it was acked, and until nobody looked.
    assert verdict(run(*dark, faults=[], blind=[(60, 200)]), "lost", 10, 20) == "forbidden"
    assert verdict(run(*dark, topic={}, blind=[(60, 200)]), "lost", 100, 110) == "forbidden"


# Shown afterwards


def test_what_a_look_or_a_group_shows_is_permitted_after_an_unclean_election_only() -> None:
    for anomaly in ("early-read", "watermark-ahead", "skipped", "reprocessed"):
        group = run(commit="before")
        assert verdict(group, anomaly, 10, 15, shown_ns=101_000_000) == "permitted"
        assert verdict(group, anomaly, 10, 15, shown_ns=99_000_000) == "forbidden"


def test_a_value_read_at_two_offsets_is_in_doubt_where_the_log_may_have_been_cut() -> None:
    assert verdict(run(idempotent=True), "duplicate", 55, 60, outcome="in_reads") == "in-doubt"
    assert verdict(run(idempotent=True), "duplicate", 55, 60, outcome="in_log") == "forbidden"
    never = run(topic={}, idempotent=True)
    assert verdict(never, "duplicate", 55, 60, outcome="in_reads") == "forbidden"


def test_an_aborted_record_may_be_read_where_its_marker_may_have_been_cut_off() -> None:
    lost = run(transactional=True)

    told = {"outcome": "aborted"}
    for settled_ms, word in ((None, "permitted"), (60, "permitted"), (15, "forbidden")):
        settled_ns = None if settled_ms is None else settled_ms * 1_000_000
        assert verdict(lost, "phantom", 10, 15, settled_ns=settled_ns, **told) == word
    assert verdict(lost, "phantom", 55, 60, outcome="never_sent") == "forbidden"
    asked = run(transactional=True, consumer={"isolation.level": "read_uncommitted"})
    assert verdict(asked, "phantom", 10, 15, outcome="aborted") == "permitted"
    assert verdict(asked, "phantom", 10, 15, outcome="unparsable") == "forbidden"
