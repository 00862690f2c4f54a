"""Requests of an operator's: who takes them, and what Kafka says to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsResponse,
    DescribeQuorumResponse,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.metadata import MetadataResponse

from harness.cluster.admin import requests
from harness.cluster.admin.requests import AddRaftVoterResponse, RemoveRaftVoterResponse, Requests
from harness.cluster.local.backend import kraft_nodes, local_nodes
from harness.cluster.nodes import NotInTime
from harness.cluster.view.connection import Unanswered
from harness.cluster.view.state import Blind

NODES = local_nodes(0, 3)
OK, NOT_CONTROLLER, NOT_NEEDED, NOT_AVAILABLE = 0, 41, 84, 80


class Brokers:
    """What each of three brokers says, by its address; `asked` is who was, in order."""

    def __init__(self) -> None:
        self.says: dict[str, Callable[[Any], Any]] = {}
        self.asked: list[str] = []
        self.last: Any = None

    def link(self, host: str, *_: object) -> Brokers:
        made = Brokers()
        made.says, made.asked, made.host, made.generation = self.says, self.asked, host, 1
        made.told = self
        return made

    def ask(self, request: Any) -> Any:
        request.with_header(correlation_id=1, client_id="test")
        assert request.encode(framed=True, header=True)
        name = next(node.name for node in NODES if node.address == self.host)
        self.asked.append(name)
        self.told.last = request
        return self.says[name](request)

    host: str
    generation: int
    told: Brokers


@pytest.fixture
def trio(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    made = Brokers()
    monkeypatch.setattr(requests, "Link", made.link)
    return made


def all_say(trio: Brokers, said: Callable[[Any], Any]) -> Requests:
    trio.says = dict.fromkeys((node.name for node in NODES), said)
    return Requests(NODES, {})


def elected(code: int, top: int = OK) -> Any:
    of_topic = ElectLeadersResponse.ReplicaElectionResult
    result = of_topic.PartitionResult(partition_id=0, error_code=code, error_message=None)
    return ElectLeadersResponse(
        error_code=top,
        replica_election_results=[of_topic(topic="t", partition_result=[result])],
        version=1,
    )


def reassigned(code: int = OK, why: str | None = None, top: int = OK) -> Any:
    of_topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    result = of_topic.ReassignablePartitionResponse(
        partition_index=0, error_code=code, error_message=why
    )
    return AlterPartitionReassignmentsResponse(
        error_code=top,
        error_message=None,
        responses=[of_topic(name="t", partitions=[result])],
        version=0,
    )


def silent(_: Any) -> Any:
    raise Unanswered("timed out")


@pytest.mark.parametrize("no", [lambda _: elected(NOT_CONTROLLER), lambda _: elected(OK, 41)])
def test_who_is_not_the_controller_is_passed_over_and_who_took_it_is_asked_first(trio, no):
    asking = all_say(trio, no)
    trio.says["kafka2"] = lambda _: elected(OK)

    asking.elect("t", [0], "preferred")
    asking.elect("t", [0], "preferred")

    assert trio.asked == ["kafka1", "kafka2", "kafka2"]


def test_where_no_broker_takes_it_the_sentence_says_what_each_said(trio):
    asking = all_say(trio, silent)
    trio.says["kafka3"] = lambda _: reassigned(top=NOT_CONTROLLER)

    with pytest.raises(Blind, match="timed out; timed out; kafka3 is not the controller"):
        asking.reassign({("t", 0): (1, 2)})


def test_kafkas_reason_is_told(trio):
    with pytest.raises(NotInTime, match="t-0: refused: no such broker"):
        all_say(trio, lambda _: reassigned(39, "no such broker")).reassign({("t", 0): (1, 9)})
    with pytest.raises(NotInTime, match="t-0: refused: PREFERRED_LEADER_NOT_AVAILABLE"):
        all_say(trio, lambda _: elected(NOT_AVAILABLE)).elect("t", [0], "preferred")


def test_an_election_that_is_not_needed_is_no_refusal(trio):
    all_say(trio, lambda _: elected(NOT_NEEDED)).elect("t", [0], "unclean")

    assert trio.last.election_type == 1


def test_replicas_go_to_brokers_by_their_ids(trio):
    all_say(trio, lambda _: reassigned()).reassign({("t", 0): (1, 2), ("u", 1): (3, 1)})

    asked = {each.name: each.partitions[0] for each in trio.last.topics}
    assert {name: (p.partition_index, list(p.replicas)) for name, p in asked.items()} == {
        "t": (0, [1, 2]),
        "u": (1, [3, 1]),
    }


def test_what_is_moved_is_listed(trio):
    of_topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    moved = of_topic.OngoingPartitionReassignment(
        partition_index=3, replicas=[1, 2], adding_replicas=[2], removing_replicas=[]
    )
    said = ListPartitionReassignmentsResponse(
        error_code=OK, error_message=None, topics=[of_topic(name="t", partitions=[moved])]
    )

    assert all_say(trio, lambda _: said).moving() == {("t", 3)}


def test_who_votes_is_asked_of_the_quorum_and_changed_there(trio):
    old, new = UUID(int=1), UUID(int=2)
    of_topic = DescribeQuorumResponse.TopicData
    state = of_topic.PartitionData.ReplicaState
    partition = of_topic.PartitionData(
        partition_index=0,
        error_code=OK,
        leader_id=102,
        current_voters=[state(replica_id=102, replica_directory_id=old)],
        observers=[state(replica_id=101, replica_directory_id=new)],
    )
    topic = of_topic(topic_name="__cluster_metadata", partitions=[partition])
    said = DescribeQuorumResponse(error_code=OK, topics=[topic], version=2)
    found = all_say(trio, lambda _: said).quorum()
    assert (found.voters, found.observers) == ({102: old}, {101: new})

    controller = kraft_nodes(3, 3, combined=False)[0]
    all_say(trio, lambda _: AddRaftVoterResponse(error_code=OK)).add_voter(controller, new)
    (listener,) = trio.last.listeners
    assert (trio.last.voter_id, listener.host, listener.port) == (101, "10.77.0.11", 9093)
    with pytest.raises(NotInTime, match="RemoveRaftVoterRequest: refused: one at a time"):
        all_say(
            trio, lambda _: RemoveRaftVoterResponse(error_code=7, error_message="one at a time")
        ).remove_voter(101, old)


def test_a_broker_that_has_just_started_and_knows_nothing_is_passed_over(trio):
    """It would list no topic."""

    def knows(*ids: int) -> Any:
        members = [
            MetadataResponse.MetadataResponseBroker(node_id=i, host="h", port=1, rack=None)
            for i in ids
        ]
        return MetadataResponse(brokers=members, controller_id=1, topics=[], version=9)

    asking = all_say(trio, lambda _: knows())
    trio.says["kafka2"] = lambda _: knows(1, 2)

    assert asking.metadata().broker == 2
