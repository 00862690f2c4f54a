"""The operator's verbs and the restarting ones: steps taken again until done, proved, undone."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kazoo.exceptions import ConnectionLoss

from harness.cluster.admin import requests
from harness.cluster.admin.admin import Admin, Resource, Setting
from harness.cluster.admin.topics import Topics
from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError, Node, NotInTime
from harness.cluster.view.state import Blind, PartitionState, View
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.model.effects import Effects
from harness.nemesis.faults.admin import reassignments
from harness.nemesis.faults.admin.settings import SetConfigOptions
from harness.nemesis.options import Options
from harness.nemesis.target import Setting as SettingOfScenario
from harness.nemesis.targets import Roles, target_of
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until

NODES = local_nodes(3, 3)
KAFKA1, KAFKA2, _ = NODES[3:]
SETTING = SettingOfScenario(
    brokers=3, zookeepers=3, partitions=1, replicas=3, workers={}, transactions=False
)


@dataclass
class Small:
    """One partition of one topic and three brokers, all in a few dicts: cluster, view, and who
    takes requests."""

    nodes: tuple[Node, ...] = NODES
    topic: str = "t"
    replicas: tuple[str, ...] = ("kafka1", "kafka2")
    leader: str | None = "kafka1"
    blind: bool = False
    pids: dict[str, int | None] = field(default_factory=lambda: {n.name: n.id for n in NODES})
    registered: dict[str, int] = field(default_factory=dict)
    asked: tuple[str, ...] | None = None  # the replicas that are on their way
    asks: int = 0
    deaf: bool = False  # no broker takes a request
    elections: list[str] = field(default_factory=list)
    signals: list[tuple[str, str]] = field(default_factory=list)
    starts: int = 0
    added: dict[int, Any] = field(default_factory=dict)
    said: str | None = None  # by a process that ended itself

    # What the view says

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

    def live_brokers(self) -> tuple[str, ...]:
        return tuple(n.name for n in NODES[3:] if self.pids[n.name])

    def registration(self, node: Node) -> int | None:
        return self.registered.get(node.name)

    # Requests

    def _listen(self) -> None:
        if self.deaf:
            raise Blind("no broker takes the request: kafka1: timed out")

    def reassign(self, wanted: Mapping[tuple[str, int], Sequence[int]]) -> None:
        self._listen()
        self.asks += 1
        self.asked = tuple(f"kafka{i}" for i in wanted["t", 0])
        self.replicas = tuple(dict.fromkeys((*self.asked, *self.replicas)))

    def moving(self) -> frozenset[tuple[str, int]]:
        self._listen()
        return frozenset({("t", 0)} if self.asked else ())

    def elect(self, topic: str, partitions: Sequence[int], how: str) -> None:
        self._listen()
        assert (topic, list(partitions)) == ("t", [0])
        self.elections.append(how)
        self.leader = self.replicas[0]

    def metadata(self) -> Any:
        self._listen()
        known = {0: SimpleNamespace(leader=1)} | self.added
        return SimpleNamespace(topics={"t": known})

    # What the controller does

    def settle(self) -> None:
        assert self.asked is not None
        self.replicas, self.asked = self.asked, None

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

    def admin(self: Admin, _: object, __: object) -> None:
        self.topics = Topics(cast(Any, None))

    monkeypatch.setattr(Admin, "__init__", admin)
    monkeypatch.setattr(requests, "Requests", lambda _, __: made)
    monkeypatch.setattr(reassignments, "ASK_EVERY_S", 0.0)
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
    assert verb.bit(made) is None
    small.settle()

    assert verb.bit(made) == "now t-0 on kafka2+kafka3"


def test_what_is_under_way_is_asked_for_again_only_after_a_while(small, monkeypatch):
    monkeypatch.setattr(reassignments, "ASK_EVERY_S", 60.0)
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    for _ in range(3):
        assert verb.bit(made) is None
    assert small.asks == 1
    small.settle()
    verb.heal(made)

    assert small.asks == 2


def test_replicas_that_are_listed_and_still_copied_prove_nothing(small):
    """A replica more stands in the assignment from the first moment on."""
    verb, made = VERBS["raise-replication"], injection(small, *NODES[3:])
    verb.inject(made)
    verb.bit(made)
    assert small.replicas == ("kafka1", "kafka2", "kafka3")

    assert verb.bit(made) is None


@pytest.mark.parametrize("verb", ["reassign", "move-leader", "add-partitions", "decommission"])
def test_where_no_broker_takes_a_request_the_proof_says_so(small, verb, monkeypatch):
    def nobody(*_: object) -> None:
        raise NotInTime("no broker takes the request")

    monkeypatch.setattr(Topics, "add_partitions", nobody)
    small.deaf = True
    made = injection(small, KAFKA1)
    VERBS[verb].inject(made)

    with pytest.raises((Blind, NotInTime), match="no broker takes the request"):
        VERBS[verb].bit(made)


def test_partitions_that_came_have_leaders(small, monkeypatch):
    totals = list[int]()

    def add(_: Topics, topic: str, total: int) -> None:
        assert topic == "t"
        totals.append(total)

    monkeypatch.setattr(Topics, "add_partitions", add)
    verb, made = VERBS["add-partitions"], injection(small, KAFKA1, count=2)
    verb.inject(made)
    small.added = {1: SimpleNamespace(leader=2)}
    assert verb.bit(made) is None
    small.added[2] = SimpleNamespace(leader=None)
    assert verb.bit(made) is None
    small.added[2] = SimpleNamespace(leader=3)

    assert verb.bit(made) == "topic t has 3 partitions, had 1; each has a leader"
    assert totals == [3]


def test_a_broker_is_emptied_before_it_is_stopped(small):
    small.registered = {"kafka1": 1}
    verb, made = VERBS["decommission"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.bit(made) is None
    assert small.signals == []
    small.settle()
    assert verb.bit(made) is None
    assert small.signals == [("kafka1", "SIGTERM")]

    assert verb.bit(made) == "kafka1 is empty (t-0 on kafka3+kafka2), its process 1 is gone"


def test_a_reassignment_goes_back_even_when_the_view_was_blind_at_first(small):
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    small.replicas, small.blind = ("kafka2", "kafka3"), True
    verb.heal(made)
    with pytest.raises(ConnectionLoss):
        verb.healed(made)
    small.blind = False
    assert verb.healed(made) is None
    small.settle()

    assert verb.healed(made) == "back to t-0 on kafka1+kafka2"


def test_a_replica_more_and_one_less_again(small):
    verb, made = VERBS["raise-replication"], injection(small, *NODES[3:])
    verb.inject(made)
    assert verb.bit(made) is None
    small.settle()
    assert verb.bit(made) == "now t-0 on kafka1+kafka2+kafka3"
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


def idle(small: Small, verb: str, *names: str, **options: Any) -> str | None:
    found, given = VERBS[verb].idle, VERBS[verb].options.of(options)
    assert found is not None
    return found(injection(small, KAFKA1).roles, frozenset(names), given)


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
    assert idle(roles, frozenset({"kafka1"}), VERBS["elect"].options())


def test_an_election_bites_only_where_another_led_before(small):
    verb, made = VERBS["elect"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.bit(made) is None
    small.leader = "kafka2"
    made = injection(small, KAFKA1)
    verb.inject(made)
    verb.bit(made)

    assert verb.bit(made) == "leader of t-0 was kafka2, is kafka1"


def test_an_unclean_election_is_for_partitions_that_nobody_leads(small):
    assert "kafka2 has no replica of a partition without" in str(
        idle(small, "elect", "kafka2", how="unclean")
    )
    small.leader = None
    assert "kafka3 has no replica" in str(idle(small, "elect", "kafka3", how="unclean"))
    assert idle(small, "elect", "kafka2", how="unclean") is None


def test_an_unclean_election_is_proved_by_a_leader_where_there_was_none(small):
    small.leader = None
    verb, made = VERBS["elect"], injection(small, KAFKA2, how="unclean")
    verb.inject(made)
    assert verb.bit(made) is None

    assert verb.bit(made) == "t-0 had no leader, is led by kafka1"
    assert small.elections == ["unclean"]


def test_an_unclean_election_permits_what_the_topic_s_setting_would():
    at = target_of("kafka2", SETTING)
    assert at is not None

    told = VERBS["elect"].effects_at(at, {"how": "unclean"})

    assert told == Effects(
        leadership="anywhere", topic_settings={"unclean.leader.election.enable": "true"}
    )


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
        ("elect", {"how": "x"}, "how is 'x', must be one of preferred, unclean"),
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


@pytest.mark.parametrize(
    ("elr", "options", "refused"),
    [
        (True, {"on": "brokers", "min.insync.replicas": 2}, True),
        (True, {"min.insync.replicas": 2}, False),
        (True, {"on": "brokers", "num.io.threads": 2}, False),
        (False, {"on": "brokers", "min.insync.replicas": 2}, False),
    ],
)
def test_brokers_with_eligible_replicas_have_no_minimum_of_their_own(elr, options, refused):
    """KIP-966: Kafka answers INVALID_CONFIG."""
    setting, at = replace(SETTING, elr=elr), target_of("leader", SETTING)
    assert at is not None

    why = VERBS["set-config"].impossible(setting, at, SetConfigOptions.of(options))

    assert (why is not None and 'on = "topic"' in why) is refused


def settings_of(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, str | None]
) -> list[dict[str, str | None]]:
    """Whoever is asked has these, but where "deaf" is one of them; returns the changes to come."""
    changes = list[dict[str, str | None]]()

    def settings(_: Admin, __: Resource) -> dict[str, Setting]:
        if "deaf" in there:
            raise NotInTime("waited 30 s for the settings of topic t")
        return {name: Setting(value=value, own=value) for name, value in there.items()}

    def change(_: Admin, __: Resource, wanted: dict[str, str | None]) -> None:
        changes.append(wanted)
        there.update(wanted)
        for name in [name for name, value in wanted.items() if value is None]:
            del there[name]

    monkeypatch.setattr(Admin, "settings", settings)
    monkeypatch.setattr(Admin, "change", change)
    return changes


def test_a_setting_that_nobody_could_be_asked_for_at_first_is_set_later(small, monkeypatch):
    there: dict[str, str | None] = {"deaf": ""}
    changes = settings_of(monkeypatch, there)
    verb, made = VERBS["set-config"], injection(small, KAFKA1, **{"min.insync.replicas": 2})
    verb.inject(made)
    with pytest.raises(NotInTime, match="the settings of topic t"):
        verb.bit(made)
    there.pop("deaf")

    for _ in range(2):
        assert verb.bit(made) == "topic t: min.insync.replicas is 2, was unset"
    assert len(changes) == 1
    verb.heal(made)
    assert verb.healed(made) == "min.insync.replicas as before"


def test_a_setting_that_brokers_do_not_list_is_set_and_removed_again(small, monkeypatch):
    """Of what has no default, as the throttle of replication, nobody tells before it is set."""
    key, there = "leader.replication.throttled.rate", dict[str, str | None]()
    settings_of(monkeypatch, there)
    verb, made = VERBS["set-config"], injection(small, KAFKA1, on="brokers", **{key: 50000})

    verb.inject(made)
    assert verb.bit(made) == f"broker 1: {key} is 50000, was unset"
    verb.heal(made)
    assert verb.healed(made) == f"{key} as before"
    assert there == {}
