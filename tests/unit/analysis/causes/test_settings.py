"""Which setting was in force when it mattered: the topic's before the brokers', in its time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clusters import hit, kraft, led, seen_by, verdict

UNCLEAN, FLUSH = "unclean.leader.election.enable", "flush.messages"
BOTH = (led(1, 0, (1, 2)),)
ELECTED = (led(1, 0), led(1, 50, (1,)), led(2, 100, (2,), epoch=1))


def changed(ms: float, key: str, value: str, **more: Any) -> Any:
    on = more.pop("on", "topic")
    return hit("set-config", [1, 2, 3], ms, options={key: value, "on": on}, **more)


def power(ms: float) -> Any:
    return hit("lose-power", [1, 2], ms, ok_ms=ms + 5)


def test_the_topic_s_own_setting_goes_before_the_brokers_whichever_was_changed_last() -> None:
    off = changed(5, UNCLEAN, "false")
    brokers_on = changed(20, UNCLEAN, "true", on="brokers")

    assert verdict(seen_by(*ELECTED, faults=[off, brokers_on]), "lost", 55, 60) == "forbidden"
    assert verdict(seen_by(*ELECTED, faults=[brokers_on]), "lost", 55, 60) == "permitted"

    on, brokers_off = changed(5, UNCLEAN, "true"), changed(20, UNCLEAN, "false", on="brokers")
    assert verdict(seen_by(*ELECTED, faults=[on, brokers_off]), "lost", 55, 60) == "permitted"


def test_what_was_written_after_the_topic_was_made_to_sync_is_on_disk() -> None:
    """The twin is what was written before."""
    run = seen_by(*BOTH, faults=[changed(10, FLUSH, "1"), power(50)])

    assert verdict(run, "lost", 30, 35) == "forbidden"
    assert verdict(run, "lost", 5, 8) == "permitted"


def test_what_was_written_while_it_did_not_sync_may_be_lost_later() -> None:
    seldom = changed(10, FLUSH, "500", heal_ms=19, healed_ms=20)
    run = seen_by(*BOTH, faults=[seldom, power(50)], topic={FLUSH: "1"})

    assert verdict(run, "lost", 15, 18) == "permitted"
    assert verdict(run, "lost", 30, 35) == "forbidden"


def test_the_brokers_may_be_made_not_to_sync() -> None:
    """The twin is a topic that has a setting of its own."""
    server = {"log.flush.interval.messages": "1"}
    seldom = changed(40, "log.flush.interval.messages", "100000", on="brokers")
    faults = [seldom, power(50)]

    assert verdict(seen_by(*BOTH, faults=faults, server=server), "lost", 45, 48) == "permitted"
    own = seen_by(*BOTH, faults=faults, server=server, topic={FLUSH: "1"})
    assert verdict(own, "lost", 45, 48) == "forbidden"
    assert verdict(seen_by(*BOTH, faults=[power(50)], server=server), "lost", 45) == "forbidden"


def test_the_topic_s_settings_are_not_those_of_internal_topics() -> None:
    """Committed offsets are not synced because the topic is; nor elected cleanly."""
    flushed = seen_by(*BOTH, faults=[power(50)], topic={FLUSH: "1"}, commit="before")

    assert verdict(flushed, "reprocessed", 10, 60) == "permitted"
    assert verdict(flushed, "lost", 10, 15) == "forbidden"
    server = {"log.flush.interval.messages": "1"}
    synced = seen_by(*BOTH, faults=[power(50)], server=server, commit="before")
    assert verdict(synced, "reprocessed", 10, 60) == "forbidden"

    on = changed(20, UNCLEAN, "true", on="brokers")
    killed = hit("kill", [3], 50)
    moved = seen_by(led(1, 0), faults=[on, killed], commit="before")
    assert verdict(moved, "reprocessed", 10, 60) == "permitted"
    ours = seen_by(led(1, 0), faults=[changed(20, UNCLEAN, "true"), killed], commit="before")
    assert verdict(ours, "reprocessed", 10, 60) == "forbidden"


# KRaft


ASKED = hit("elect", [2], 90, healed_ms=110, options={"how": "unclean"})


@pytest.mark.parametrize("release", ["3.7.2", "3.9.2", "4.4.0"])
def test_an_unclean_election_that_was_asked_for_is_one_on_every_release(release: str) -> None:
    views = [{**view, "elr": []} for view in ELECTED]
    preferred = hit("elect", [2], 90, healed_ms=110, options={"how": "preferred"})

    def judged(fault: Any) -> str:
        return verdict(seen_by(*views, faults=[fault], kafka=kraft(release)), "lost", 55, 60)

    assert judged(ASKED) == "permitted"
    assert judged(preferred) == "forbidden"
    assert judged(hit("elect", [2], 20, healed_ms=40, options={"how": "unclean"})) == "forbidden"


def test_one_that_was_asked_for_is_one_with_zookeeper_too() -> None:
    assert verdict(seen_by(*ELECTED, faults=[ASKED]), "lost", 55, 60) == "permitted"


@pytest.mark.parametrize(("release", "expected"), [("3.7.2", "forbidden"), ("3.9.2", "permitted")])
def test_with_kraft_below_3_9_the_setting_does_nothing(release: str, expected: str) -> None:
    on = changed(5, UNCLEAN, "true")

    for more in ({"topic": {UNCLEAN: "true"}}, {"faults": [on]}):
        found = seen_by(*ELECTED, kafka=kraft(release, controller={UNCLEAN: "false"}), **more)
        assert verdict(found, "lost", 55, 60) == expected


def test_nor_does_it_where_one_is_asked_for_at_another_time() -> None:
    asked = hit("elect", [2], 20, healed_ms=40, options={"how": "unclean"})
    found = seen_by(*ELECTED, kafka=kraft("3.7.2"), topic={UNCLEAN: "true"}, faults=[asked])

    assert verdict(found, "lost", 55, 60) == "forbidden"


def test_with_kraft_the_controllers_setting_counts_and_the_brokers_does_not() -> None:
    allowed: Any = {UNCLEAN: "true"}
    controllers = kraft("3.9.2", controller=allowed)
    brokers = kraft("3.9.2", controller={UNCLEAN: "false"})

    assert verdict(seen_by(*ELECTED, kafka=controllers), "lost", 55, 60) == "permitted"
    assert verdict(seen_by(*ELECTED, kafka=brokers, server=allowed), "lost", 55) == "forbidden"
