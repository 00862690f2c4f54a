"""Committed metadata that went back after a KRaft controller's disk was lost: what that permits."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.run_facts.kafka import Kafka
from analysis.verdict.permission import Permission
from tests.support.clusters import CONTROLLERS, hit, kraft, led, seen_by, verdict

EMPTIED = hit("lose-disk", CONTROLLERS[:1], 60)
# kafka1 is alone in the ISR from 50 on; at 90 the ISR of before is there again, and kafka2 leads at
# 100.
ALONE = (led(1, 0, elr=(), epoch=4), led(1, 50, (1,), elr=(), epoch=4))
BACK = led(1, 90, elr=(), epoch=4, went_back=True)
OLD_ISR = (*ALONE, BACK, led(2, 100, (2, 3), elr=(), epoch=5))
DEAD = hit("kill", [1], 95)
ANOMALIES = ("lost", "vanished", "inconsistent-offset")


def run(*views: Any, faults: Any = (EMPTIED, DEAD), kafka: Kafka | None = None) -> Permission:
    return seen_by(*(views or OLD_ISR), faults=faults, kafka=kafka or kraft("3.9.2"))


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_an_election_by_the_isr_of_before_permits_what_was_acked_since(anomaly: str) -> None:
    assert verdict(run(), anomaly, 55, 60) == "permitted"
    assert verdict(run(), anomaly, 10, 15) == "forbidden"
    assert verdict(run(), anomaly, 100, 105) == "forbidden"


def test_a_lost_disk_permits_nothing_by_itself() -> None:
    """The partition's metadata stayed: a strike anywhere excuses nothing elsewhere."""
    stayed = (*ALONE, led(2, 100, (2, 3), elr=(), epoch=5))
    elsewhere = (*stayed, led(1, 90, elr=(), partition=1, went_back=True))

    assert verdict(run(*stayed), "lost", 55, 60) == "forbidden"
    found = seen_by(*elsewhere, faults=(EMPTIED, DEAD), kafka=kraft("3.9.2"), partitions=2)
    assert verdict(found, "lost", 55, 60) == "forbidden"


def test_metadata_that_goes_back_by_itself_permits_nothing() -> None:
    """Or before the disk was lost: that is the bug to look for."""
    late = hit("lose-disk", CONTROLLERS[:1], 91)

    assert verdict(run(faults=[DEAD]), "lost", 55, 60) == "forbidden"
    assert verdict(run(faults=[late, DEAD]), "lost", 55, 60) == "forbidden"
    assert verdict(run(faults=[hit("kill", CONTROLLERS, 60), DEAD]), "lost", 55) == "forbidden"


def test_once_every_voter_has_what_is_committed_again_nothing_goes_back_by_that() -> None:
    def judged(healed_ms: float, looked_ms: float, **voters: str) -> str:
        emptied = hit("lose-disk", CONTROLLERS[:1], 60, heal_ms=70, healed_ms=healed_ms)
        views = (*ALONE, BACK | {"since_ns": looked_ms * 10**6}, OLD_ISR[-1])
        kafka = kraft("3.9.2", **voters)
        two = hit("lose-disk", CONTROLLERS[1:2], 61)
        faults = [emptied, two, DEAD] if voters else [emptied, DEAD]
        return verdict(run(*views, faults=faults, kafka=kafka), "lost", 55, 60)

    assert judged(80, 85) == "forbidden"
    assert judged(80, 79) == "permitted"
    assert judged(95, 85) == "permitted"
    assert judged(80, 85, voters="dynamic") == "permitted"  # its disk has no vote


def test_who_was_in_the_isr_when_it_went_back_lacks_nothing() -> None:
    views = (ALONE[0], led(1, 50, (1, 2), elr=(), epoch=4), BACK, OLD_ISR[-1])
    eligible = (ALONE[0], led(1, 50, (1,), elr=(2,), epoch=4), BACK, OLD_ISR[-1])

    assert verdict(run(*views), "lost", 55, 60) == "forbidden"
    assert verdict(run(*eligible), "lost", 55, 60) == "forbidden"
    third = (*views[:3], led(3, 100, (2, 3), elr=(), epoch=5))
    assert verdict(run(*third), "lost", 55, 60) == "permitted"


def test_who_left_the_isr_and_came_back_since_has_copied_everything() -> None:
    came = (led(1, 92, (1, 3), elr=(), epoch=4), led(1, 94, elr=(), epoch=4))

    assert verdict(run(*ALONE, BACK, *came, OLD_ISR[-1]), "lost", 55, 60) == "forbidden"
    assert verdict(run(*ALONE, BACK, came[0], OLD_ISR[-1]), "lost", 55) == "permitted"


def test_who_followed_a_leader_of_a_new_epoch_for_long_enough_has_it_as_well() -> None:
    """One of an epoch that had been there before does not know that its ISR is another one."""

    def judged(epoch: int) -> str:
        follows = led(1, 1_000, elr=(), epoch=epoch)
        views = (*ALONE, BACK, follows, led(2, 9_000, (2, 3), elr=(), epoch=epoch + 1))
        server = {"replica.lag.time.max.ms": "1000"}
        found = seen_by(
            *views,
            faults=[EMPTIED | {"heal_ok_ns": 10**8}, hit("kill", [1], 8_000)],
            kafka=kraft("3.9.2"),
            server=server,
        )
        return verdict(found, "lost", 55, 60)

    assert judged(5) == "forbidden"
    assert judged(4) == "permitted"


def test_dynamic_voters_lose_nothing_while_a_majority_keeps_its_disks() -> None:
    """A voter is known by its disk: with an empty one it does not vote."""
    dynamic = kraft("4.3.1", voters="dynamic")
    two = hit("lose-disk", CONTROLLERS[1:2], 70)

    assert verdict(run(kafka=dynamic), "lost", 55, 60) == "forbidden"
    assert verdict(run(kafka=kraft("4.3.1")), "lost", 55, 60) == "permitted"
    assert verdict(run(kafka=dynamic, faults=[EMPTIED, two, DEAD]), "lost", 55, 60) == "permitted"


def test_a_combined_node_is_a_controller_too() -> None:
    combined = kraft("3.9.2", metadata="kraft-combined")

    assert verdict(run(kafka=combined, faults=[hit("lose-disk", [3], 60)]), "lost", 55) == (
        "permitted"
    )
    assert verdict(run(faults=[hit("lose-disk", [3], 60), DEAD]), "lost", 55) == "forbidden"


def test_what_is_not_known_leaves_doubt() -> None:
    power = hit("lose-power", CONTROLLERS[:1], 60)
    unproved = hit("lose-disk", CONTROLLERS[:1], 60) | {"ok_ns": None}
    unknown = hit("unheard-of", CONTROLLERS[:1], 60)

    for fault in (power, unproved, unknown):
        assert verdict(run(faults=[fault, DEAD]), "lost", 55, 60) == "in-doubt"


def test_what_nobody_saw_is_in_doubt_after_such_a_strike_only() -> None:
    views = (*ALONE, led(2, 100, (2, 3), elr=(), epoch=6))

    def judged(*faults: Any, **more: Any) -> str:
        found = seen_by(*views, faults=faults, blind=[(70, 99)], kafka=kraft("3.9.2"), **more)
        return verdict(found, "lost", 55, 60)

    assert judged(EMPTIED, DEAD) == "in-doubt"
    assert judged(DEAD) == "forbidden"
    assert judged(hit("lose-disk", CONTROLLERS[:1], 99.5), DEAD) == "forbidden"


def test_a_topic_that_was_forgotten_may_be_gone() -> None:
    gone = led(None, 90, (), elr=(), epoch=None, went_back=True)

    assert verdict(run(*ALONE, gone), "lost", 55, 60) == "permitted"
    assert verdict(run(*ALONE, gone), "lost", 90, 95) == "forbidden"
    assert verdict(run(*ALONE, gone, faults=[DEAD]), "lost", 55, 60) == "forbidden"


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_one_of_a_single_replica_too(anomaly: str) -> None:
    views = (led(1, 0, (1,), elr=()), led(None, 90, (), elr=(), epoch=None, went_back=True))

    def judged(*faults: Any) -> str:
        seen = seen_by(*views, faults=faults, kafka=kraft("3.9.2"), replicas=1)
        return verdict(seen, anomaly, 55, 60)

    assert judged(EMPTIED) == "permitted"
    assert judged(DEAD) == "forbidden"


def test_a_struck_broker_is_not_back_by_an_isr_of_before() -> None:
    """kafka2 lost its disk and was out; the ISR of before has it again, and so it leads."""
    emptied = hit("lose-disk", [2], 30)
    out = (led(1, 0, elr=(), epoch=4), led(1, 50, (1,), elr=(), epoch=4))
    came = (led(1, 80, (1, 2), elr=(), epoch=4), led(1, 85, (1,), elr=(), epoch=4))

    def judged(*views: Any) -> str:
        run_ = run(*out, *views, BACK, OLD_ISR[-1], faults=[emptied, EMPTIED, DEAD])
        return verdict(run_, "lost", 10, 15)

    assert judged() == "permitted"
    assert judged(*came) == "forbidden"


def test_a_stale_leader_is_not_back_by_an_isr_of_before() -> None:
    views = (
        *(led(1, 0, elr=(), epoch=4), led(2, 50, (2, 3), elr=(), epoch=5)),
        led(2, 90, elr=(), epoch=5, went_back=True),
        led(2, 190, (2, 3), elr=(), epoch=5),
    )

    def judged(*, went_back: bool) -> str:
        shown = views[2] | {"went_back": went_back or None}
        found = seen_by(*views[:2], shown, views[3], acks="1", kafka=kraft("3.9.2"))
        return verdict(found, "lost", 100, 110)

    assert judged(went_back=True) == "permitted"
    assert judged(went_back=False) == "forbidden"


def test_with_zookeeper_nothing_goes_back() -> None:
    found = seen_by(*OLD_ISR, faults=[hit("lose-disk", ["zk1"], 60), DEAD])

    assert verdict(found, "lost", 55, 60) == "forbidden"


# Internal topics, which nobody watches


def test_committed_offsets_are_in_doubt_until_some_metadata_is_seen_to_go_back() -> None:
    def judged(*views: Any, faults: Any) -> str:
        found = seen_by(
            *views, faults=faults, kafka=kraft("3.9.2"), commit="before", idempotent=True
        )
        return verdict(found, "reprocessed", 10, 15, shown_ns=200 * 10**6)

    assert judged(*ALONE, faults=[EMPTIED]) == "in-doubt"
    assert judged(*ALONE, BACK, faults=[EMPTIED]) == "permitted"
    assert judged(*ALONE, BACK, faults=[DEAD]) == "forbidden"
