"""Who votes in KRaft's quorum: removed and added again, and one in the place of a lost disk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from harness.cluster.admin import requests
from harness.cluster.admin.requests import Members
from harness.cluster.capabilities import Cluster
from harness.cluster.local.backend import kraft_nodes
from harness.cluster.nodes import Node, NotInTime
from harness.cluster.view.state import ClusterView, View
from harness.nemesis.faults.admin import reassignments
from harness.nemesis.options import Options
from harness.nemesis.target import Roles, Setting
from harness.nemesis.targets import target_of
from harness.nemesis.verb import DoesNothing, Injection
from harness.nemesis.verbs import VERBS

NODES = kraft_nodes(3, 3, combined=False)
CONTROLLER = NODES[0]
OLD, NEW = UUID(int=1), UUID(int=2)
SETTING = Setting(
    brokers=3,
    zookeepers=0,
    controllers=3,
    partitions=1,
    replicas=3,
    workers={},
    transactions=False,
    dynamic=True,
)


@dataclass
class Quorum:
    """Takes requests, and does at once what it is asked to."""

    voters: dict[int, UUID] = field(default_factory=lambda: {101: OLD, 102: OLD, 103: OLD})
    observers: dict[int, UUID] = field(default_factory=dict)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def quorum(self) -> Members:
        return Members(voters=dict(self.voters), observers=dict(self.observers))

    def add_voter(self, node: Node, directory: UUID) -> None:
        self.asked.append(("add", node.id, directory))
        self.voters[node.id] = directory
        self.observers.pop(node.id)

    def remove_voter(self, voter: int, directory: UUID) -> None:
        assert self.voters.pop(voter) == directory
        self.asked.append(("remove", voter, directory))
        self.observers.setdefault(voter, directory)


@pytest.fixture
def quorum(monkeypatch: pytest.MonkeyPatch) -> Quorum:
    made = Quorum()
    monkeypatch.setattr(requests, "Requests", lambda _, __: made)
    monkeypatch.setattr(reassignments, "ASK_EVERY_S", 0.0)
    return made


def injection() -> Injection:
    view = View(partitions=(), controller=None)
    return Injection(
        fault=0,
        nodes=(CONTROLLER,),
        roles=Roles(nodes=NODES, view=view, ensemble_leader=lambda: None, random=Random(1)),
        cluster=cast(Cluster, SimpleNamespace(nodes=NODES)),
        view=cast(ClusterView, None),
        options=Options(),
        seed=1,
    )


def test_a_controller_is_removed_and_votes_again(quorum: Quorum) -> None:
    verb, made = VERBS["remove-controller"], injection()
    verb.inject(made)
    assert verb.proof_in_force(made) is None
    assert (
        verb.proof_in_force(made) == "controller1 votes no more; voters: controller2, controller3"
    )
    verb.heal(made)
    assert verb.healed(made) is None

    assert verb.healed(made) == "controller1 votes; voters: controller1, controller2, controller3"
    assert quorum.asked == [("remove", 101, OLD), ("add", 101, OLD)]


def test_who_does_not_vote_cannot_be_removed(quorum: Quorum) -> None:
    del quorum.voters[101]
    verb, made = VERBS["remove-controller"], injection()
    verb.inject(made)
    with pytest.raises(DoesNothing, match="controller1 does not vote"):
        verb.proof_in_force(made)
    verb.heal(made)

    assert verb.healed(made) == "controller1 was not removed"


def test_one_whose_disk_was_replaced_votes_in_the_place_of_the_lost_one(quorum: Quorum) -> None:
    quorum.observers[101] = NEW
    verb, made = VERBS["add-controller"], injection()
    verb.inject(made)
    assert verb.proof_in_force(made) is None
    assert verb.proof_in_force(made) is None

    assert (
        verb.proof_in_force(made)
        == "controller1 votes; voters: controller1, controller2, controller3"
    )
    assert quorum.asked == [("remove", 101, OLD), ("add", 101, NEW)]


def test_who_votes_is_not_added_but_may_be_heard_of_with_another_disk(quorum: Quorum) -> None:
    verb, made = VERBS["add-controller"], injection()
    verb.inject(made)
    with pytest.raises(NotInTime, match="controller1 does not follow the log; voters: controller1"):
        verb.proof_in_force(made)
    assert quorum.asked == []
    quorum.observers[101] = NEW
    verb.proof_in_force(made)

    assert quorum.asked == [("remove", 101, OLD)]


@pytest.mark.parametrize(
    ("verb", "target", "changes", "remedy"),
    [
        ("remove-controller", "controller1", {"dynamic": False}, 'cluster.voters = "dynamic"'),
        ("add-controller", "controller1", {"dynamic": False}, 'cluster.voters = "dynamic"'),
        ("remove-controller", "quorum-all", {}, "use quorum-one"),
        ("remove-controller", "controller1", {"controllers": 1}, "raise cluster.controllers"),
        ("add-controller", "quorum-majority", {}, "use quorum-follower"),
        ("add-controller", "quorum-minority", {}, None),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    verb: str, target: str, changes: dict[str, Any], remedy: str | None
) -> None:
    setting = replace(SETTING, **changes)
    at = target_of(target, setting)
    assert at is not None

    why = VERBS[verb].impossible(setting, at, Options())

    assert (remedy is None and why is None) or str(remedy) in str(why)


@pytest.mark.parametrize(
    ("observers", "hit", "why"),
    [
        (("controller1",), {"controller1"}, None),
        (("controller1",), {"controller1", "controller2"}, "controller2 votes already"),
        ((), {"controller1"}, "controller1 votes already"),
        (None, {"controller1"}, None),  # nobody tells
    ],
)
def test_whoever_votes_already_is_no_target_of_add_controller(
    observers: tuple[str, ...] | None, hit: set[str], why: str | None
) -> None:
    view = View(partitions=(), controller=None, observers=observers)
    roles = replace(injection().roles, view=view)
    idle = VERBS["add-controller"].idle
    assert idle is not None

    said = idle(roles, frozenset(hit), Options())

    assert (why is None and said is None) or str(why) in str(said)
