"""ZooKeeper's view, and what is told of it while ZooKeeper cannot be asked."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError
from harness.cluster.view.coordinators import partition_of
from harness.cluster.view.state import PartitionState, View
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.nemesis.targets import Roles, resolve

NODES = local_nodes(3, 3)


class Tree:
    """A ZooKeeper of a few znodes, as kazoo's asynchronous calls see it."""

    def __init__(self) -> None:
        self.znodes: dict[str, Any] = {}
        self.blind = False

    def get_async(self, path: str) -> Tree:
        self._asked = path
        return self

    def get(self, timeout: float) -> tuple[bytes, None]:
        if self.blind:
            raise ConnectionLoss
        if self._asked not in self.znodes:
            raise NoNodeError
        return json.dumps(self.znodes[self._asked]).encode(), None


@pytest.fixture
def tree() -> Tree:
    made = Tree()
    made.znodes = {
        "/controller": {"brokerid": 2},
        "/brokers/topics/t": {"partitions": {"0": [3, 1], "1": [1, 2]}},
        "/brokers/topics/t/partitions/0/state": {"leader": 1, "isr": [1, 3], "leader_epoch": 4},
    }
    return made


@pytest.fixture
def view(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> ZooKeeperView:
    made = ZooKeeperView(NODES, "t", 1)
    monkeypatch.setattr(made, "_client", tree)
    return made


def roles(view: ZooKeeperView) -> Roles:
    return Roles(
        nodes=NODES,
        view=view.look_or_last(),
        ensemble_leader=lambda: None,
        random=Random(1),
        coordinator=lambda kind: view.coordinator(kind, "group-1"),
    )


def test_replicas_are_told_in_their_order_of_the_first_partitions_only(view):
    assert view.look().assignment == (("kafka3", "kafka1"),)
    assert view.assignment_of("t") == (("kafka3", "kafka1"), ("kafka1", "kafka2"))
    assert view.assignment_of("nothing") == ()


def test_an_ensemble_that_nobody_reaches_is_said_in_one_sentence():
    view = ZooKeeperView([replace(node, dialled=("127.0.0.1", 1)) for node in NODES], "t", 1)

    with pytest.raises(ClusterError, match=r"no ZooKeeper member answered in 0\.1 s"):
        view.connect(0.1)
    view.close()


def test_while_zookeeper_is_blind_targets_are_those_of_the_last_view_and_marked(view, tree):
    number = partition_of("group-1", 2)
    tree.znodes["/brokers/topics/__consumer_offsets"] = {"partitions": {"0": [1], "1": [1]}}
    state = f"/brokers/topics/__consumer_offsets/partitions/{number}/state"
    tree.znodes[state] = {"leader": 3, "isr": [3], "leader_epoch": 0}
    wanted = {
        "leader": "kafka1",
        "controller": "kafka2",
        "preferred-leader": "kafka3",
        "group-coordinator": "kafka3",
        "followers": "kafka3",
    }
    assert wanted == {target: resolve(target, roles(view))[0].name for target in wanted}
    assert roles(view).view.known
    tree.blind = True

    assert wanted == {target: resolve(target, roles(view))[0].name for target in wanted}
    assert not roles(view).view.known
    assert roles(view).view.as_record()["known"] is False


def test_without_the_internal_topic_there_is_no_coordinator(view):
    assert view.coordinator("transaction", "t-1") is None


@pytest.mark.parametrize(
    ("leader", "isr", "whole"),
    [
        ("kafka1", ("kafka1", "kafka3"), True),
        ("kafka1", ("kafka1",), False),
        (None, ("kafka1", "kafka3"), False),
        ("kafka1", ("kafka1", "kafka2"), False),
    ],
)
def test_a_view_is_whole_when_every_assigned_replica_is_in_the_isr(leader, isr, whole):
    state = PartitionState(leader=leader, isr=isr, leader_epoch=0)
    view = View(partitions=(state,), controller=None, assignment=(("kafka3", "kafka1"),))

    assert view.whole is whole
