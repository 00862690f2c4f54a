"""Targets resolve from ZooKeeper's view at the moment of injection."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.local import local_nodes
from harness.cluster.view import PartitionState, View
from harness.nemesis.targets import TARGETS, NoTarget, Roles, is_node_name, resolve

NODES = local_nodes(3, 3)


def roles(
    leader: str | None = "kafka2",
    isr: tuple[str, ...] = ("kafka1", "kafka2", "kafka3"),
    controller: str | None = "kafka1",
    ensemble_leader: str | None = "zk3",
    seed: int = 1,
) -> Roles:
    state = PartitionState(leader=leader, isr=isr, leader_epoch=0)
    return Roles(
        nodes=NODES,
        view=View(partitions=(state,), controller=controller),
        ensemble_leader=lambda: ensemble_leader,
        random=Random(seed),
    )


def names(target: str, **view: object) -> list[str]:
    return [node.name for node in resolve(target, roles(**view))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("leader", ["kafka2"]),
        ("followers", ["kafka1", "kafka3"]),
        ("controller", ["kafka1"]),
        ("zk-leader", ["zk3"]),
        ("all", ["kafka1", "kafka2", "kafka3"]),
        ("kafka3", ["kafka3"]),
        ("zk1", ["zk1"]),
    ],
)
def test_a_target_is_who_plays_the_role_now(target, expected):
    assert expected == names(target)


def test_one_follower_is_never_the_leader_and_always_in_the_isr():
    chosen = {names("follower", isr=("kafka2", "kafka3"), seed=seed)[0] for seed in range(20)}

    assert chosen == {"kafka3"}


def test_random_choices_depend_on_the_seed_alone():
    chosen = [names("random", seed=seed)[0] for seed in range(20)]

    assert chosen == [names("random", seed=seed)[0] for seed in range(20)]
    assert set(chosen) == {"kafka1", "kafka2", "kafka3"}


@pytest.mark.parametrize(
    ("target", "view"),
    [
        ("leader", {"leader": None}),
        ("controller", {"controller": None}),
        ("follower", {"isr": ("kafka2",)}),
        ("zk-leader", {"ensemble_leader": None}),
    ],
)
def test_a_role_that_nobody_plays_is_said_not_guessed(target, view):
    with pytest.raises(NoTarget, match=target):
        names(target, **view)


def test_every_target_resolves_on_a_healthy_cluster():
    for target in TARGETS:
        assert names(target)


@pytest.mark.parametrize(
    ("name", "known"),
    [("kafka3", True), ("kafka4", False), ("zk1", True), ("zk0", False), ("leader", False)],
)
def test_node_names_end_with_the_cluster(name, known):
    assert known == is_node_name(name, broker_count=3, zookeeper_count=3)
