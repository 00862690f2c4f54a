"""Nodes that go and come again: in order, again and again, and until they stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.nodes import ClusterError
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until
from tests.support.labs.small_cluster import KAFKA2, NODES, Small, injection


def rolled(small: Small, **options: Any) -> str:
    verb, made = VERBS["roll"], injection(small, *NODES[3:], **options)
    verb.inject(made)
    return str(
        wait_until(lambda: verb.proof_in_force(made), timeout_s=2, what="the roll", every_s=0)
    )


@pytest.mark.parametrize(("how", "number"), [("clean", "SIGTERM"), ("hard", "SIGKILL")])
def test_a_roll_restarts_each_broker_once_in_order(small, how, number):
    evidence = rolled(small, how=how)

    assert small.signals == [(f"kafka{i}", number) for i in (1, 2, 3)]
    assert "kafka1 (process 1, now 101)" in evidence


def test_a_roll_waits_until_every_isr_is_full(small):
    verb, made = VERBS["roll"], injection(small, *NODES[3:])
    verb.inject(made)
    full = replace(small.look(), assignment=(("kafka1", "kafka2", "kafka3"),))
    small.look = lambda: full
    for _ in range(5):
        assert verb.proof_in_force(made) is None

    assert small.signals == []


def test_a_roll_that_is_broken_off_leaves_no_broker_down(small):
    verb, made = VERBS["roll"], injection(small, *NODES[3:])
    verb.inject(made)
    verb.proof_in_force(made)
    assert small.pids["kafka1"] is None
    verb.heal(made)

    assert small.pids["kafka1"] is not None


def test_a_crash_loop_kills_whoever_is_due_and_starts_whoever_is_gone(small):
    verb, made = VERBS["crash-loop"], injection(small, KAFKA2, every_s=0.01)
    verb.inject(made)
    evidence = wait_until(
        lambda: verb.proof_in_force(made), timeout_s=2, what="two kills", every_s=0
    )
    assert evidence == "kafka2 was killed 2 times so far"
    during = verb.during
    assert during is not None
    wait_until(lambda: during(made) or len(small.signals) > 3, timeout_s=2, what="two more")
    verb.heal(made)

    assert str(verb.healed(made)).startswith("kafka2 was killed 4 times in all; process ")


def test_a_node_is_not_back_as_long_as_its_old_registration_is_what_is_seen(small):
    small.registered["kafka2"] = 7
    verb, made = VERBS["kill"], injection(small, KAFKA2)
    verb.inject(made)
    verb.heal(made)
    small.registered["kafka2"] = 7  # its old session still lives
    assert verb.healed(made) is None
    small.registered["kafka2"] = 8

    assert "serves" in str(verb.healed(made))


def test_a_broker_that_ends_itself_for_a_reason_that_passes_is_started_again(small):
    verb, made = VERBS["kill"], injection(small, KAFKA2)
    verb.inject(made)
    verb.heal(made)
    small.pids["kafka2"], small.said = None, "KeeperErrorCode = Session expired for /brokers/ids\n"
    small.said += "org.apache.zookeeper.KeeperException$SessionExpiredException"
    assert verb.healed(made) is None
    assert "serves" in str(verb.healed(made))
    small.pids["kafka2"], small.said = None, "java.io.IOException: No space left on device"

    with pytest.raises(ClusterError, match="No space left"):
        verb.healed(made)
