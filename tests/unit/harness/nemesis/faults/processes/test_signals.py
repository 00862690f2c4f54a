"""kill and pause: what proves that they took effect, and that they are healed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.nodes import ClusterError, Node
from harness.nemesis.faults.processes.signals import takes_part
from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import Nodes, at


def test_a_pause_is_proved_by_the_process_that_stands_still_and_undone_by_its_going_on(
    nodes: Nodes,
) -> None:
    injection, verb = at(nodes), VERBS["pause"]
    assert verb.proof_in_force(injection) is None

    verb.inject(injection)
    assert verb.proof_in_force(injection) == "process 11 of kafka1 is stopped"
    assert verb.healed(injection) is None

    verb.heal(injection)
    assert verb.proof_in_force(injection) is None
    assert "process 11 of kafka1 runs" in str(verb.healed(injection))


def test_a_process_that_ends_while_it_is_paused_is_no_pause(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["pause"]
    verb.inject(injection)
    nodes.pids["kafka1"] = None

    with pytest.raises(ClusterError, match="ended while it was paused"):
        verb.proof_in_force(injection)


def test_a_kill_is_proved_by_the_process_that_is_gone_and_undone_by_another(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["kill"]
    verb.inject(injection)

    assert ("SIGKILL", "kafka1") in nodes.done
    assert verb.proof_in_force(injection) == "process 11 of kafka1 is gone"
    verb.heal(injection)
    assert verb.healed(injection) is None  # not registered anew
    nodes.registered = 8
    assert verb.healed(injection) == "process 99 of kafka1 serves"


@pytest.mark.parametrize("name", ["kill", "stop", "crash-loop", "roll"])
def test_what_a_broker_has_on_disk_is_kept_before_it_is_started_again(
    nodes: Nodes, name: str
) -> None:
    """While it is down: started, it truncates."""
    kept = []
    injection, verb = at(nodes), VERBS[name]
    injection.keep = lambda kept_of: kept.append(([n.name for n in kept_of], nodes.pids["kafka1"]))
    injection.memo.update(left=[], now=None, pids={"kafka1": 11})
    nodes.pids["kafka1"] = 11
    if name in ("kill", "stop"):
        verb.inject(injection)
    nodes.pids["kafka1"] = None
    verb.heal(injection)

    assert kept == [(["kafka1"], None)]
    assert nodes.done[-1] == ("start", "kafka1")


def test_a_process_that_outlives_the_signal_is_not_gone(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["kill"]
    verb.inject(injection)
    nodes.pids["kafka1"] = 11

    assert verb.proof_in_force(injection) is None


@pytest.mark.parametrize("follows", [True, False])
def test_a_controller_of_somebody_s_is_back_when_its_leader_counts_it(follows: bool) -> None:
    """Nobody but its cluster's nodes may ask it."""
    node = Node(name="controller3", role="controller", id=3, address="10.0.0.3", port=9093)
    injection: Any = SimpleNamespace(
        cluster=SimpleNamespace(topic_config={}),
        view=SimpleNamespace(follows=lambda asked: follows and asked is node),
    )

    assert takes_part(injection, node) is follows
