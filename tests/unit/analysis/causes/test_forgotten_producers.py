"""Duplicates of idempotent producers, whom their broker may have forgotten by a wrong clock."""

from __future__ import annotations

from typing import Any

from analysis.verdict.permission import Permission
from tests.support.clusters import hit, led, seen_by, verdict

A_DAY_S = 86_400
LEADS = (led(1, 0),)
AGAIN = (led(1, 0), led(2, 60, (2, 3), epoch=1), led(1, 95, epoch=2))


def seen(*faults: Any, views: Any = LEADS, **more: Any) -> Permission:
    return seen_by(*views, faults=faults, idempotent=True, **more)


def skew(ms: float, *, nodes: Any = (1,), by_s: float = A_DAY_S, **more: Any) -> Any:
    return hit("skew-clock", nodes, ms, options={"offset_s": by_s}, **more)


def kill(ms: float, heal_ms: float, *nodes: int, **more: Any) -> Any:
    return hit("kill", nodes or (1,), ms, heal_ms=heal_ms, healed_ms=heal_ms + 10, **more)


def duplicate(permission: Permission, ended_ms: float) -> str:
    return verdict(permission, "duplicate", 10, ended_ms)


def test_a_leader_that_started_under_a_clock_of_tomorrow_forgot_its_producers() -> None:
    run = seen(skew(50), kill(60, 80), views=AGAIN)

    assert duplicate(run, 81) == "permitted"
    assert duplicate(run, 79) == "in-doubt"  # it may have looked by itself
    assert duplicate(run, 49) == "forbidden"


def test_it_did_not_where_the_clock_was_right_again_when_it_started() -> None:
    run = seen(skew(50, heal_ms=65, healed_ms=70), kill(60, 80), views=AGAIN)

    assert duplicate(run, 90) == "in-doubt"  # it may have looked while the clock was wrong
    late = seen(kill(30, 40), skew(50, nodes=(3,)), views=LEADS)
    assert duplicate(late, 90) == "forbidden"


def test_a_clock_that_is_less_ahead_or_behind_makes_nobody_old() -> None:
    for by_s in (86_399, -200_000):
        run = seen(skew(50, by_s=by_s), kill(60, 80), views=AGAIN)
        assert duplicate(run, 90) == "forbidden"


def test_the_broker_s_own_setting_counts() -> None:
    server = {"producer.id.expiration.ms": "60000"}
    minute = skew(50, by_s=61)

    assert duplicate(seen(minute, kill(60, 80), views=AGAIN, server=server), 90) == "permitted"
    assert duplicate(seen(minute, kill(60, 80), views=AGAIN), 90) == "forbidden"


def test_a_broker_looks_for_old_producers_by_itself() -> None:
    server = {"producer.id.expiration.check.interval.ms": "20"}

    assert duplicate(seen(skew(50, ok_ms=55), server=server), 76) == "permitted"
    assert duplicate(seen(skew(50, ok_ms=55), server=server), 74) == "in-doubt"
    short = skew(50, ok_ms=55, heal_ms=60, healed_ms=61)
    assert duplicate(seen(short, server=server), 90) == "in-doubt"


def test_what_a_follower_forgot_is_asked_of_nobody() -> None:
    assert duplicate(seen(skew(50, nodes=(3,)), kill(60, 80, 3)), 90) == "forbidden"
    leads_later = (led(1, 0), led(3, 85, epoch=1))
    run = seen(skew(50, nodes=(3,)), kill(60, 80, 3), views=leads_later)
    assert duplicate(run, 90) == "permitted"


def test_a_leader_that_nobody_could_see_leaves_doubt() -> None:
    views = (led(1, 0), led(1, 95, epoch=3))
    run = seen(skew(50, nodes=(3,)), kill(60, 80, 3), views=views, blind=[(70, 94)])

    assert duplicate(run, 90) == "in-doubt"
