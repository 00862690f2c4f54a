"""The operator's verbs and the restarting ones: steps taken again until done, proved, undone."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, cast

import pytest
from kazoo.exceptions import ConnectionLoss

from harness.cluster.admin.admin import Admin, Resource, Setting
from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.state import PartitionState, View
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.nemesis.faults.admin import elections_and_reassignments
from harness.nemesis.faults.admin.replica_assignments import PATH
from harness.nemesis.options import Options
from harness.nemesis.targets import Roles
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until

NODES = local_nodes(3, 3)
KAFKA1, KAFKA2, _ = NODES[3:]


@dataclass
class Small:
    """One partition of one topic and three brokers, all in a few dicts: cluster and ZooKeeper."""

    nodes: tuple[Node, ...] = NODES
    topic: str = "t"
    replicas: tuple[str, ...] = ("kafka1", "kafka2")
    leader: str = "kafka1"
    blind: bool = False
    pids: dict[str, int | None] = field(default_factory=lambda: {n.name: n.id for n in NODES})
    registered: dict[str, int] = field(default_factory=dict)
    asked: dict[str, Any] | None = None
    signals: list[tuple[str, str]] = field(default_factory=list)
    starts: int = 0
    said: str | None = None  # by a process that ended itself

    # What ZooKeeper says

    def _see(self) -> None:
        if self.blind:
            raise ConnectionLoss

    def look(self) -> View:
        self._see()
        state = PartitionState(leader=self.leader, isr=self.replicas, leader_epoch=0)
        return View(partitions=(state,), controller="kafka3", assignment=(self.replicas,))

    def assignment_of(self, _: str) -> tuple[tuple[str, ...], ...]:
        self._see()
        return (self.replicas,)

    def znode(self, path: str) -> dict[str, Any] | None:
        self._see()
        return self.asked if path == PATH else None

    def create(self, path: str, text: str) -> bool:
        self._see()
        assert path == PATH
        self.asked = json.loads(text)
        return True

    def live_brokers(self) -> tuple[str, ...]:
        return tuple(n.name for n in NODES[3:] if self.pids[n.name])

    def registration(self, node: Node) -> int | None:
        return self.registered.get(node.name)

    # What the controller does

    def settle(self) -> None:
        assert self.asked is not None
        (wanted,) = self.asked["partitions"]
        self.replicas, self.asked = tuple(f"kafka{i}" for i in wanted["replicas"]), None

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        self.signals.append((node.name, number.name))
        self.pids[node.name] = None

    def start_node(self, node: Node) -> None:
        self.starts += 1
        self.pids[node.name] = self.registered[node.name] = 100 + self.starts

    def state(self, node: Node) -> NodeState:
        return NodeState(pid=self.pids[node.name], stopped=False)

    def exited_early(self, node: Node) -> str | None:
        return self.said if self.pids[node.name] is None else None


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Small:
    made = Small()

    def elect(admin: Admin, topic: str, partitions: list[int]) -> None:
        made.leader = made.replicas[0]

    monkeypatch.setattr(Admin, "__init__", lambda self, nodes, settings: None)
    monkeypatch.setattr(Admin, "elect_preferred", elect)
    monkeypatch.setattr(elections_and_reassignments, "ASK_EVERY_S", 0.0)
    return made


def injection(small: Small, *nodes: Node, **options: Any) -> Injection:
    roles = Roles(nodes=NODES, view=small.look(), ensemble_leader=lambda: None, random=Random(1))
    return Injection(
        fault=0,
        nodes=nodes,
        roles=roles,
        cluster=cast(Cluster, small),
        view=cast(ZooKeeperView, small),
        options=cast(Options, options),
        seed=1,
    )


def test_a_reassignment_is_proved_when_the_controller_is_done_and_not_before(small):
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    assert verb.bit(made) is None
    assert verb.bit(made) is None  # under way: not asked twice
    small.settle()

    assert verb.bit(made) == "now t-0 on kafka2+kafka3"


def test_a_reassignment_goes_back_even_when_zookeeper_was_blind_at_first(small):
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    small.replicas, small.blind = ("kafka2", "kafka3"), True
    verb.heal(made)
    assert verb.healed(made) is None
    small.blind = False
    assert verb.healed(made) is None
    small.settle()

    assert verb.healed(made) == "back to t-0 on kafka1+kafka2"


def test_a_replica_more_and_one_less_again(small):
    verb, made = VERBS["raise-replication"], injection(small, *NODES[3:])
    verb.inject(made)
    assert verb.bit(made) is None
    small.settle()
    assert small.replicas == ("kafka1", "kafka2", "kafka3")
    verb.heal(made)
    small.settle()

    assert verb.healed(made) == "back to t-0 on kafka1+kafka2"


def test_leadership_goes_to_a_follower_and_back(small):
    verb, made = VERBS["move-leader"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.bit(made) is None
    small.settle()
    wait_until(lambda: verb.bit(made) == "kafka2 leads t-0", timeout_s=2, what="the election")
    verb.heal(made)
    small.settle()

    wait_until(lambda: verb.healed(made) == "kafka1 leads t-0", timeout_s=2, what="the way back")


def idle(small: Small, verb: str, *names: str) -> str | None:
    found = VERBS[verb].idle
    assert found is not None
    return found(injection(small, KAFKA1).roles, frozenset(names))


def test_who_leads_nothing_or_has_no_successor_is_no_target_of_a_move(small):
    assert "kafka2 leads no partition that has another" in str(idle(small, "move-leader", "kafka2"))
    assert idle(small, "move-leader", "kafka1") is None
    assert idle(small, "move-leader", "kafka1", "kafka3") is None
    assert "kafka1, kafka2 leads no partition" in str(
        idle(small, "move-leader", "kafka1", "kafka2")
    )


def test_a_move_that_was_never_begun_is_healed(small):
    assert VERBS["move-leader"].healed(injection(small, KAFKA2)) == "nothing was moved"


def test_who_is_preferred_by_nothing_that_another_leads_is_no_target_of_an_election(small):
    assert "kafka1 would not become leader of any partition" in str(idle(small, "elect", "kafka1"))
    small.leader = "kafka2"

    assert idle(small, "elect", "kafka1") is None
    assert idle(small, "elect", "kafka2", "kafka1") is None
    assert idle(small, "elect", "kafka2")


def test_a_preferred_leader_outside_the_isr_cannot_be_elected(small):
    small.leader = "kafka2"
    made = injection(small, KAFKA1)
    state = PartitionState(leader="kafka2", isr=("kafka2",), leader_epoch=0)
    roles = replace(made.roles, view=replace(made.roles.view, partitions=(state,)))

    idle = VERBS["elect"].idle
    assert idle is not None
    assert idle(roles, frozenset({"kafka1"}))


def test_an_election_bites_only_where_another_led_before(small):
    verb, made = VERBS["elect"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.bit(made) is None
    small.leader = "kafka2"
    made = injection(small, KAFKA1)
    verb.inject(made)
    verb.bit(made)

    assert verb.bit(made) == "leader of t-0 was kafka2, is kafka1"


def rolled(small: Small, **options: Any) -> str:
    verb, made = VERBS["roll"], injection(small, *NODES[3:], **options)
    verb.inject(made)
    return str(wait_until(lambda: verb.bit(made), timeout_s=2, what="the roll", every_s=0))


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
        assert verb.bit(made) is None

    assert small.signals == []


def test_a_roll_that_is_broken_off_leaves_no_broker_down(small):
    verb, made = VERBS["roll"], injection(small, *NODES[3:])
    verb.inject(made)
    verb.bit(made)
    assert small.pids["kafka1"] is None
    verb.heal(made)

    assert small.pids["kafka1"] is not None


def test_a_crash_loop_kills_whoever_is_due_and_starts_whoever_is_gone(small):
    verb, made = VERBS["crash-loop"], injection(small, KAFKA2, every_s=0.01)
    verb.inject(made)
    evidence = wait_until(lambda: verb.bit(made), timeout_s=2, what="two kills", every_s=0)
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


@pytest.mark.parametrize(
    ("verb", "options", "told"),
    [
        ("roll", {"how": "gently"}, "how is 'gently'"),
        ("roll", {"hw": "hard"}, "'hw' is unknown"),
        ("crash-loop", {"every_s": 0}, "every_s is 0"),
        ("set-config", {}, "at least one Kafka key"),
        ("set-config", {"min.insync.replica": 2}, "did you mean 'min.insync.replicas'?"),
        ("set-config", {"cleanup.policy": "compact"}, "cannot be changed on topic"),
        ("set-config", {"on": "both", "segment.ms": 1}, "on is 'both'"),
        ("set-config", {"on": "brokers", "segment.ms": 1}, "cannot be changed on brokers"),
        ("add-partitions", {"count": 0}, "count is 0"),
        ("elect", {"how": "x"}, "'how' is unknown"),
    ],
)
def test_options_are_refused_with_the_one_that_is_wrong(verb, options, told):
    assert told in "; ".join(VERBS[verb].problems(options))


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("roll", {"how": "hard"}),
        ("crash-loop", {"every_s": 1.5}),
        ("add-partitions", {"count": 3}),
        ("set-config", {"on": "topic", "unclean.leader.election.enable": True}),
    ],
)
def test_options_that_are_right_pass(verb, options):
    assert VERBS[verb].problems(options) == []


def test_a_setting_that_brokers_do_not_list_is_set_and_removed_again(small, monkeypatch):
    """Of what has no default, as the throttle of replication, nobody tells before it is set."""
    key, there = "leader.replication.throttled.rate", dict[str, str | None]()

    def settings(_: Admin, __: Resource) -> dict[str, Setting]:
        return {name: Setting(value=value, own=value) for name, value in there.items()}

    def change(_: Admin, __: Resource, wanted: dict[str, str | None]) -> None:
        there.update(wanted)
        for name in [name for name, value in wanted.items() if value is None]:
            del there[name]

    monkeypatch.setattr(Admin, "settings", settings)
    monkeypatch.setattr(Admin, "change", change)
    verb, made = VERBS["set-config"], injection(small, KAFKA1, on="brokers", **{key: 50000})

    verb.inject(made)
    assert verb.bit(made) == f"broker 1: {key} is 50000, was unset"
    verb.heal(made)
    assert verb.healed(made) == f"{key} as before"
    assert there == {}
