"""Who a target can mean: what the targets themselves choose, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from random import Random

import pytest

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node, in_racks
from harness.cluster.view.state import PartitionState, View
from harness.model.target_roles import Moment, could_mean
from harness.model.worker_kinds import KINDS
from harness.nemesis.target import NoTarget, Roles
from harness.nemesis.targets import TARGETS, resolve


def _called(kind: str) -> str:
    return "payments" if kind == "program" else kind


NODES = local_nodes(3, 3)
ROLES = {node.name: node.role for node in NODES}
CLIENTS = tuple(
    Node(name=f"{_called(name)}-{number}", role="client", id=0, address="a", port=0, worker=name)
    for name in (*KINDS, "program")
    for number in (0, "1-2")
)
NAMES = [node.name for node in (*NODES, *CLIENTS) if node.worker != "program"]


def roles(leader: str, isr: tuple[str, ...], controller: str, seed: int) -> Roles:
    state = PartitionState(leader=leader, isr=isr, leader_epoch=0)
    return Roles(
        nodes=NODES,
        view=View(
            partitions=(state,), controller=controller, assignment=(("kafka3", "kafka1", "kafka2"),)
        ),
        ensemble_leader=lambda: "zk2",
        random=Random(seed),
        clients=CLIENTS,
        coordinator=lambda _: "kafka2",
    )


def test_what_a_target_chooses_it_can_have_meant() -> None:
    chosen = {target: [*chosen_at_some_moments(target)] for target in (*TARGETS, *NAMES)}

    assert [] == [target for target, each in chosen.items() if not each]
    assert [] == [
        f"{target} at {moment}: {names}"
        for target, each in chosen.items()
        for moment, names in each
        if could_mean(target, moment, names) is not True
    ]


def chosen_at_some_moments(target: str) -> Iterator[tuple[Moment, list[str]]]:
    isrs = (("kafka1",), ("kafka1", "kafka2"), ("kafka1", "kafka2", "kafka3"))
    views = product(("kafka1", "kafka2"), isrs, ("kafka1", "kafka3"))
    for seed, (leader, isr, controller) in enumerate(views):
        with suppress(NoTarget):
            nodes = resolve(target, roles(leader, isr, controller, seed))
            moment = Moment(leader=leader, isr=isr, controller=controller, nodes=ROLES)
            yield moment, [node.name for node in nodes]


def test_every_target_has_its_rule() -> None:
    """A new one that is none of a kind of workers is said in harness.model.target_roles."""
    nobody = Moment(leader="kafka1", isr=("kafka1",), controller="kafka1", nodes=ROLES)

    assert [] == [name for name in TARGETS if could_mean(name, nobody, ["nobody-0-x"]) is None]


def test_a_rack_is_the_leaders_and_the_whole_of_it() -> None:
    nodes = in_racks(local_nodes(1, 4), 2)
    racks = {node.name: node.rack for node in nodes if node.rack}
    roles_of_nodes = {node.name: node.role for node in nodes}
    moment = Moment(leader="kafka3", nodes=roles_of_nodes, racks=racks)

    assert could_mean("rack", moment, ["kafka1", "kafka3"]) is True
    assert could_mean("rack", moment, ["kafka3"]) is False
    assert could_mean("rack", moment, ["kafka2", "kafka4"]) is False
    assert could_mean("rack", Moment(nodes=roles_of_nodes, racks=racks), ["kafka3"]) is None


def test_of_what_is_not_known_nothing_can_be_told() -> None:
    assert could_mean("the-wall", Moment(nodes=ROLES), ["kafka1"]) is None


@pytest.mark.parametrize(
    ("target", "nodes"),
    [
        ("follower", ["kafka2", "kafka3"]),
        ("followers", ["kafka2"]),
        ("last-isr", ["kafka1"]),
        ("last-isr", ["kafka1", "kafka2", "kafka3"]),
        ("minority", ["kafka1", "kafka2"]),
        ("majority", ["kafka1"]),
        ("zk-all", ["zk1"]),
        ("one", ["kafka1", "kafka2"]),
        ("producer", ["producer-0", "producer-1"]),
        ("producer-0", ["producer-01"]),
        ("kafka1", ["kafka1", "kafka2"]),
    ],
)
def test_others_or_more_or_fewer_it_cannot_have_meant(target: str, nodes: list[str]) -> None:
    isr = ("kafka1", "kafka2", "kafka3")
    moment = Moment(leader="kafka1", isr=isr, controller="kafka1", nodes=ROLES)

    assert could_mean(target, moment, nodes) is False
