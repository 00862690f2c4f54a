"""What faults wait for: triggers, one another, and what two of them would both hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.nemesis.verbs import VERBS
from harness.waiting import WaitTimeout, wait_until
from tests.support.conducted_plans import FakeCluster, conductor, finish, step


def test_series_overlap(world):
    world.sent = 100
    made = conductor(
        world, step(0, target="kafka1", for_s=1000.0), step(1, series=1, target="kafka2")
    )
    wait_until(
        lambda: "kafka2" in str(world.lines_of("inject", "ok")), timeout_s=10, what="the second"
    )
    made.stop()

    assert not world.down


def test_a_trigger_is_awaited_and_the_step_counts_from_there(world):
    world.sent = 1000
    made = conductor(world, step(when="isr-alone", unit="acks", at=5.0))
    assert not made.done()
    world.isr = ("kafka1",)

    def sending() -> bool:
        world.sent += 1
        return made.done()

    wait_until(sending, timeout_s=10, what="the step to come")

    assert 1006 < world.sent
    assert world.lines_of("inject", "ok")


def test_a_trigger_that_never_comes_is_a_fault_that_did_not_happen(world):
    finish(conductor(world, step(when="isr-alone", unit="seconds", at=0.0)))

    assert "alone in its ISR" in world.lines_of("inject", "info")[0]["error"]
    assert not world.lines_of("inject", "invoke")


def test_healed_waits_for_every_step_of_the_entry_before(world):
    world.sent = 31
    last = step(2, series=1, when="healed", unit="seconds", at=0.0, target="kafka2")
    finish(conductor(world, step(0), step(1, at=30.0), last))
    order = [(line["event"], line["fault"]) for line in world.lines if line["type"] == "ok"]

    assert order == [(event, n) for n in range(3) for event in ("inject", "heal")]


def test_two_faults_that_hold_the_same_of_a_node_are_never_in_force_together(world):
    assert "is using the process of kafka1" in given_up(world, "fell-alone", "kafka1")


def test_reassignments_wait_for_each_other(world, monkeypatch):
    """Whatever they hit: there is one assignment."""
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], alone=True))

    assert "is using the assignment" in given_up(world, "fell", "kafka2")


def given_up(world: FakeCluster, verb: str, target: str) -> str:
    """Why a fault gives up whose moment comes while one at kafka1 is in force."""
    world.sent = 11
    first = step(0, verb=verb, target="kafka1", for_s=1000.0)
    second = step(1, series=1, verb=verb, target=target, when="in-force", unit="seconds", at=0.0)
    made = conductor(world, first, second)
    try:
        wait_until(
            lambda: world.lines_of("inject", "info"), timeout_s=10, what="the second to give up"
        )
    finally:
        made.stop()

    assert [line["fault"] for line in world.lines_of("inject", "invoke")] == [0]
    return str(world.lines_of("inject", "info")[0]["error"])


def test_a_chain_of_faults_may_take_longer_than_a_trigger_may(world):
    """What waits for "healed" counts its patience from when those before are over."""
    world.limits = replace(world.limits, trigger_s=0.2)
    world.sent = 11
    finish(
        conductor(
            world, step(0, for_s=0.5), step(1, series=1, when="healed", unit="seconds", at=0.0)
        )
    )

    assert len(world.lines_of("inject", "ok")) == 2


def test_a_fault_may_wait_until_the_one_before_is_in_force(world):
    """Not until it is healed: the two overlap."""
    world.limits = replace(world.limits, heal_s=5.0)
    world.sent = 11
    second = step(1, series=1, when="in-force", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(for_s=0.5), second)
    finish(made)

    told = [(line["event"], line["fault"]) for line in world.lines if line["type"] == "ok"]
    assert told.index(("inject", 1)) < told.index(("heal", 0))
    assert told.index(("inject", 0)) < told.index(("inject", 1))


def test_an_isr_that_was_small_before_is_no_answer_to_the_fault_before(world):
    """At the load's begin it may be, for a moment, on a busy host."""
    world.sent, world.isr = 5, ("kafka1",)
    second = step(1, series=1, when="isr-alone", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(), second)
    with pytest.raises(WaitTimeout):
        wait_until(lambda: world.lines_of("inject", "invoke"), timeout_s=0.5, what="nothing")
    world.sent, world.isr = 11, ("kafka3",)  # who leads after the first
    finish(made)

    order = [line["fault"] for line in world.lines_of("inject", "ok")]
    assert order == [0, 1]


def test_what_never_was_in_force_keeps_nobody_waiting(world):
    """It did not bite; the next one comes once it is over."""
    world.sent, world.bites = 11, False
    second = step(1, series=1, when="in-force", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(), second)
    finish(made)

    assert [line["fault"] for line in world.lines_of("inject", "info")] == [0, 1]
    assert made.failure is None
