"""Targets resolve from ZooKeeper's view at the moment of injection."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node, in_racks
from harness.cluster.view.state import PartitionState, View
from harness.model.worker_kinds import KINDS, WorkerKind
from harness.nemesis.targets import (
    TARGETS,
    NoTarget,
    Roles,
    Setting,
    Target,
    resolve,
    roles_of,
    target_of,
    worker_targets,
)

NODES = local_nodes(3, 3)
WORKERS = (
    ("producer", "producer-0"),
    ("producer", "producer-1-2"),
    *((name, f"{name}-0") for name in KINDS if KINDS[name].hit_alone and name != "producer"),
    ("program", "payments-0"),
)
COORDINATORS = {"group": "kafka3", "transaction": "kafka1"}


def roles(  # noqa: PLR0917
    leader: str | None = "kafka2",
    isr: tuple[str, ...] = ("kafka1", "kafka2", "kafka3"),
    controller: str | None = "kafka1",
    ensemble_leader: str | None = "zk3",
    preferred: tuple[str, ...] = ("kafka3", "kafka1", "kafka2"),
    workers: tuple[tuple[str, str], ...] = WORKERS,
    seed: int = 1,
) -> Roles:
    state = PartitionState(leader=leader, isr=isr, leader_epoch=0)
    return Roles(
        nodes=NODES,
        view=View(partitions=(state,), controller=controller, assignment=(preferred,)),
        ensemble_leader=lambda: ensemble_leader,
        random=Random(seed),
        clients=tuple(
            Node(name=name, role="client", id=0, address="a", port=0, worker=kind)
            for kind, name in workers
        ),
        coordinator=lambda kind: COORDINATORS[kind],
    )


def names(target: str, **view: Any) -> list[str]:
    return [node.name for node in resolve(target, roles(**view))]


@pytest.mark.parametrize(
    ("target", "view", "expected"),
    [
        ("leader", {}, ["kafka2"]),
        ("followers", {}, ["kafka1", "kafka3"]),
        ("controller", {}, ["kafka1"]),
        ("leader-and-controller", {"controller": "kafka2"}, ["kafka2"]),
        ("leader-not-controller", {}, ["kafka2"]),
        ("preferred-leader", {}, ["kafka3"]),
        ("last-isr", {"isr": ("kafka3",), "leader": None}, ["kafka3"]),
        ("group-coordinator", {}, ["kafka3"]),
        ("transaction-coordinator", {}, ["kafka1"]),
        ("all", {}, ["kafka1", "kafka2", "kafka3"]),
        ("zk-leader", {}, ["zk3"]),
        ("zk-followers", {}, ["zk1", "zk2"]),
        ("zk-all", {}, ["zk1", "zk2", "zk3"]),
        ("producers", {}, ["producer-0", "producer-1-2"]),
        ("consumers", {}, ["consumer-0"]),
        ("consumer", {}, ["consumer-0"]),
        ("group-consumers", {}, ["group-consumer-0"]),
        ("kafka3", {}, ["kafka3"]),
        ("zk1", {}, ["zk1"]),
        ("producer-0", {}, ["producer-0"]),
        ("producer-1", {}, ["producer-1-2"]),  # its successor
    ],
)
def test_a_target_is_who_plays_the_role_now(target, view, expected):
    assert expected == names(target, **view)


def test_one_follower_is_never_the_leader_and_always_in_the_isr():
    chosen = {names("follower", isr=("kafka2", "kafka3"), seed=seed)[0] for seed in range(20)}

    assert chosen == {"kafka3"}


@pytest.mark.parametrize(
    ("target", "among"),
    [
        ("random", {"kafka1", "kafka2", "kafka3"}),
        ("one", {"kafka1", "kafka2", "kafka3"}),
        ("zk-one", {"zk1", "zk2", "zk3"}),
        ("zk-follower", {"zk1", "zk2"}),
        ("producer", {"producer-0", "producer-1-2"}),
    ],
)
def test_random_choices_depend_on_the_seed_alone(target, among):
    chosen = [names(target, seed=seed)[0] for seed in range(20)]

    assert chosen == [names(target, seed=seed)[0] for seed in range(20)]
    assert set(chosen) == among


def test_a_worker_is_of_its_kind_and_not_of_one_whose_name_begins_its_own():
    there = (("consumer-slow", "consumer-slow-0"), ("consumer", "consumer-0"))

    assert ["consumer-0"] == names("consumers", workers=there)


@pytest.mark.parametrize(
    ("target", "size"), [("minority", 1), ("majority", 2), ("zk-minority", 1), ("zk-majority", 2)]
)
def test_so_many_are_drawn_by_the_seed_each_once(target, size):
    drawn = [names(target, seed=seed) for seed in range(20)]

    assert {len(set(each)) for each in drawn} == {size}
    assert len({tuple(each) for each in drawn}) == 3


@pytest.mark.parametrize(
    ("target", "view"),
    [
        ("leader", {"leader": None}),
        ("controller", {"controller": None}),
        ("leader-and-controller", {}),
        ("leader-not-controller", {"controller": "kafka2"}),
        ("follower", {"isr": ("kafka2",)}),
        ("last-isr", {}),
        ("zk-leader", {"ensemble_leader": None}),
        ("zk-follower", {"ensemble_leader": None}),
        ("producer", {"workers": ()}),
        ("consumer-0", {"workers": (("consumer", "consumer-00"), ("consumer", "consumer-1"))}),
    ],
)
def test_a_role_that_nobody_plays_is_said_not_guessed(target, view):
    with pytest.raises(NoTarget, match=target):
        names(target, **view)


def test_before_zookeeper_ever_answered_nobody_plays_a_role():
    blank = Roles(
        nodes=NODES,
        view=View(partitions=(), controller=None, known=False),
        ensemble_leader=lambda: None,
        random=Random(1),
    )

    for target in ("leader", "followers", "last-isr", "preferred-leader", "group-coordinator"):
        with pytest.raises(NoTarget):
            resolve(target, blank)
    assert roles_of("kafka1", blank) == []


def test_the_history_says_every_role_of_who_was_hit():
    now = roles(controller="kafka2", isr=("kafka2", "kafka3"))

    assert roles_of("kafka2", now) == ["leader", "controller"]
    assert roles_of("kafka3", now) == ["follower", "preferred-leader", "group-coordinator"]
    assert roles_of("kafka1", now) == ["transaction-coordinator"]
    assert roles_of("zk3", now) == ["zk-leader"]
    assert roles_of("zk1", now) == ["zk-follower"]
    assert roles_of("producer-0", now) == []
    assert "last-isr" in roles_of("kafka2", roles(isr=("kafka2",)))


# --- what can never be


def setting(without: str | None = None, **changes: Any) -> Setting:
    workers = {name: 1 for name, kind in KINDS.items() if kind.hit_alone and name != without}
    given: dict[str, Any] = {
        "brokers": 3,
        "zookeepers": 3,
        "partitions": 1,
        "replicas": 3,
        "workers": workers | ({} if without == "producer" else {"producer": 2}),
        "transactions": False,
        "programs": {} if without == "program" else {"payments": 1},
    }
    return Setting(**{**given, **changes})


@pytest.mark.parametrize(
    ("target", "changes", "remedy"),
    [
        ("follower", {"replicas": 1}, "topic.replication_factor"),
        ("group-consumer", {"without": "group-consumer"}, "workload.group_consumers"),
        ("followers", {"replicas": 1}, "topic.replication_factor"),
        ("programs", {"without": "program"}, "[[programs]]"),
        ("leader-not-controller", {"brokers": 1}, "cluster.brokers"),
        ("minority", {"brokers": 2}, "cluster.brokers"),
        ("rack", {}, "cluster.racks"),
        ("zk-minority", {"zookeepers": 2}, "cluster.zookeepers"),
        ("zk-leader", {"zookeepers": 1}, "cluster.zookeepers"),
        ("zk-follower", {"zookeepers": 1}, "cluster.zookeepers"),
        ("transaction-coordinator", {}, "transactional.id"),
        ("producers", {"without": "producer"}, '"stream"'),
        ("consumer", {"without": "consumer"}, "workload.consumers"),
    ],
)
def test_what_can_never_be_is_refused_with_its_remedy(target, changes, remedy):
    assert remedy in str(TARGETS[target].impossible(setting(**changes)))


def test_everything_else_can_be():
    possible = setting(transactions=True, racks=3)

    assert [] == [t for t in TARGETS if TARGETS[t].impossible(possible)]


def test_a_rack_is_all_brokers_that_stand_where_the_leader_does():
    stand = replace(roles(leader="kafka2"), nodes=in_racks(local_nodes(1, 6), 3))

    assert ["kafka2", "kafka5"] == [node.name for node in resolve("rack", stand)]
    assert ["kafka2"] == names("rack", leader="kafka2")
    with pytest.raises(NoTarget):
        names("rack", leader=None)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("leader", True),
        ("zk3", True),
        ("producer-1", True),
        ("producer-2", False),
        ("payments-0", True),
        ("payments-1", False),
        ("program-0", False),
        ("consumer-0", True),
        ("consumer-1", False),
        ("kafka3", True),
        ("kafka4", False),
        ("zk1", True),
        ("zk0", False),
        ("producer-01", False),
    ],
)
def test_known_names_end_with_the_cluster_and_the_workload(name, known):
    assert known == (target_of(name, setting()) is not None)


def test_every_target_says_what_kind_of_node_it_means():
    for target in TARGETS:
        view: dict[str, Any] = {"controller": "kafka2"} if target == "leader-and-controller" else {}
        if target == "last-isr":
            view = {"isr": ("kafka2",)}
        assert {node.role for node in resolve(target, roles(**view))} == {TARGETS[target].kind}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("kafka3", "broker"), ("zk1", "zookeeper"), ("group-consumer-0", "client")],
)
def test_a_node_and_a_worker_are_targets_by_their_own_names_and_kinds(name, kind):
    target = target_of(name, setting())

    assert target is not None
    assert (target.kind, target.who, target.many) == (kind, name, False)
    assert target.certain(setting()) == {name}
    assert [node.name for node in target_nodes(target)] == [name]


def target_nodes(target: Target) -> list[Node]:
    now = roles()
    return [node for node in (*now.nodes, *now.clients) if node.name in target.choose(now)]


def test_a_broker_of_somebody_s_cluster_has_an_id_that_is_not_known_yet():
    target = target_of("kafka1001", setting(any_broker=True))

    assert target is not None
    assert target.kind == "broker"
    assert target_of("zk1001", setting(any_broker=True)) is None
    assert target_of("controller1001", setting(any_broker=True)) is None


def test_so_has_a_controller_of_somebody_s_cluster():
    theirs = setting(any_broker=True, zookeepers=0, controllers=3)
    target = target_of("controller1001", theirs)

    assert target is not None
    assert target.kind == "controller"
    assert target_of("controller1001", replace(theirs, any_broker=False)) is None
    assert target_of("controller1001", replace(theirs, combined=True)) is None


def test_one_and_random_are_the_same():
    assert (
        replace(TARGETS["one"], name="random", choose=TARGETS["random"].choose)
        == (TARGETS["random"])
    )


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("followers", True),
        ("zk-followers", True),
        ("producers", True),
        ("consumers", True),
        ("group-consumers", True),
        ("all", False),  # "every broker was"
        ("minority", False),
        ("leader", False),
    ],
)
def test_a_target_says_whether_it_is_many_in_a_sentence(name, many):
    assert TARGETS[name].many == many


def test_every_target_has_words_and_no_two_the_same_but_one_and_random():
    words = [target.who for name, target in TARGETS.items() if name != "random"]

    assert all(words)
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("name", "certain"),
    [
        ("all", {"kafka1", "kafka2", "kafka3"}),
        ("zk-all", {"zk1", "zk2", "zk3"}),
        ("producers", {"producer-0", "producer-1"}),
        ("leader", set()),
        ("majority", set()),
    ],
)
def test_a_target_says_whom_it_means_for_certain(name, certain):
    assert certain == TARGETS[name].certain(setting())


# --- of a kind of workers that is new


PROBER = WorkerKind(name="prober", count=lambda _: 2, sends=True)


def test_the_targets_of_a_kind_of_workers_follow_from_the_kind():
    one, every = worker_targets(PROBER)
    there = roles(workers=(("prober", "prober-0"), ("prober", "prober-1"), ("producer", "p-0")))

    assert ("prober", "a prober", "client", False) == (one.name, one.who, one.kind, one.many)
    assert ("probers", "all probers", "client", True) == (
        every.name,
        every.who,
        every.kind,
        every.many,
    )
    assert one.choose(there)[0] in every.choose(there)
    assert ["prober-0", "prober-1"] == every.choose(there)


def test_what_they_mean_for_certain_and_why_they_can_not_be_follow_too():
    one, every = worker_targets(PROBER)
    two = setting(workers={"prober": 2})

    assert (None, None) == (one.impossible(two), every.impossible(two))
    assert {"prober-0", "prober-1"} == every.certain(two)
    none = setting(without="prober")
    assert one.impossible(none) == every.impossible(none) == PROBER.lacking
    assert frozenset() == every.certain(none)


def test_every_kind_that_a_fault_may_name_has_its_targets_and_no_other():
    workers = [target.name for target in TARGETS.values() if target.kind == "client"]

    assert workers == [
        *(name for kind in KINDS for name in (kind, f"{kind}s") if KINDS[kind].hit_alone),
        *("program", "programs"),
    ]
