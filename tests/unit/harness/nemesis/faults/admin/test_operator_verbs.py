"""Replicas and leaderships moved by an operator: asked for until done, proved, undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from harness.cluster.admin.topics import Topics
from harness.cluster.nodes import NotInTime
from harness.cluster.view.state import Blind, PartitionState
from harness.model.effects import Effects
from harness.nemesis.faults.admin import reassignments
from harness.nemesis.target import Setting
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until
from tests.support.labs.small_cluster import KAFKA1, KAFKA2, NODES, Small, injection

SETTING = Setting(brokers=3, zookeepers=3, partitions=1, replicas=3, workers={}, transactions=False)


def test_a_reassignment_is_proved_when_the_controller_is_done_and_not_before(small):
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    assert verb.proof_in_force(made) is None
    assert verb.proof_in_force(made) is None
    small.settle()

    assert verb.proof_in_force(made) == "now t-0 on kafka2+kafka3"


def test_what_is_under_way_is_asked_for_again_only_after_a_while(small, monkeypatch):
    monkeypatch.setattr(reassignments, "ASK_EVERY_S", 60.0)
    verb, made = VERBS["reassign"], injection(small, *NODES[3:])
    verb.inject(made)
    for _ in range(3):
        assert verb.proof_in_force(made) is None
    assert small.asks == 1
    small.settle()
    verb.heal(made)

    assert small.asks == 2


def test_replicas_that_are_listed_and_still_copied_prove_nothing(small):
    """A replica more stands in the assignment from the first moment on."""
    verb, made = VERBS["raise-replication"], injection(small, *NODES[3:])
    verb.inject(made)
    verb.proof_in_force(made)
    assert small.replicas == ("kafka1", "kafka2", "kafka3")

    assert verb.proof_in_force(made) is None


@pytest.mark.parametrize("verb", ["reassign", "move-leader", "add-partitions", "decommission"])
def test_where_no_broker_takes_a_request_the_proof_says_so(small, verb, monkeypatch):
    def nobody(*_: object) -> None:
        raise NotInTime("no broker takes the request")

    monkeypatch.setattr(Topics, "add_partitions", nobody)
    small.deaf = True
    made = injection(small, KAFKA1)
    VERBS[verb].inject(made)

    with pytest.raises((Blind, NotInTime), match="no broker takes the request"):
        VERBS[verb].proof_in_force(made)


def test_a_broker_is_emptied_before_it_is_stopped(small):
    small.registered = {"kafka1": 1}
    verb, made = VERBS["decommission"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.proof_in_force(made) is None
    assert small.signals == []
    small.settle()
    assert verb.proof_in_force(made) is None
    assert small.signals == [("kafka1", "SIGTERM")]

    assert (
        verb.proof_in_force(made) == "kafka1 is empty (t-0 on kafka3+kafka2), its process 1 is gone"
    )


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
    assert verb.proof_in_force(made) is None
    small.settle()
    assert verb.proof_in_force(made) == "now t-0 on kafka1+kafka2+kafka3"
    verb.heal(made)
    small.settle()

    assert verb.healed(made) == "back to t-0 on kafka1+kafka2"


def test_leadership_goes_to_a_follower_and_back(small):
    verb, made = VERBS["move-leader"], injection(small, KAFKA1)
    verb.inject(made)
    assert verb.proof_in_force(made) is None
    small.settle()
    wait_until(
        lambda: verb.proof_in_force(made) == "kafka2 leads t-0", timeout_s=2, what="the election"
    )
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
    assert verb.proof_in_force(made) is None
    small.leader = "kafka2"
    made = injection(small, KAFKA1)
    verb.inject(made)
    verb.proof_in_force(made)

    assert verb.proof_in_force(made) == "leader of t-0 was kafka2, is kafka1"


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
    assert verb.proof_in_force(made) is None

    assert verb.proof_in_force(made) == "t-0 had no leader, is led by kafka1"
    assert small.elections == ["unclean"]


def test_an_unclean_election_permits_what_the_topic_s_setting_would():
    at = target_of("kafka2", SETTING)
    assert at is not None

    told = VERBS["elect"].effects_at(at, {"how": "unclean"})

    assert told == Effects(
        leadership="anywhere",
        permanent=True,
        topic_settings={"unclean.leader.election.enable": "true"},
    )
