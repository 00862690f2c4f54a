"""An operator's requests that confluent_kafka has no call for, or not on every release.

    Requests(nodes, settings).reassign({("t", 0): (2, 3)})      replicas of partition 0 of topic t

Any of KRaft's brokers passes these requests on to the active controller (KIP-590). Beside ZooKeeper
only the controller takes them: another broker answers NOT_CONTROLLER, and the next is asked. The
broker that took the last request is asked first. If no broker takes it, Blind is raised; if Kafka
refuses, NotInTime with its words, since it may accept later.

Every broker from 2.4 on knows them: elections have types (KIP-460), replicas are moved by requests
(KIP-455); from 3.9 on the voters of KRaft's quorum can be changed (KIP-853).

The library takes a tenth of a second to import, so import this module late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID

from kafka.errors import for_code
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import MetadataRequest

from harness.cluster.nodes import Node, NotInTime, brokers
from harness.cluster.view.brokers import VERSION, Answer, answer_of
from harness.cluster.view.connection import Link, Unanswered
from harness.cluster.view.quorum import metadata_log
from harness.cluster.view.state import Blind

# kafka-python makes its classes of JSON files, and has none for the voters of KRaft's quorum
# (KIP-853). These are Kafka 3.9's, clients/src/main/resources/common/message.
_FOLDER = "harness.cluster.admin.messages"


class AddRaftVoterRequest(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """Make a controller that follows the quorum's log a voter."""


class AddRaftVoterResponse(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """What came of it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """Let a controller vote no more."""


class RemoveRaftVoterResponse(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """What came of it."""


Election = Literal["preferred", "unclean"]
_ELECTIONS: Mapping[Election, int] = {"preferred": 0, "unclean": 1}
WITHIN_MS = 2000  # less than a link waits
NOT_CONTROLLER, ELECTION_NOT_NEEDED = 41, 84
LISTENER = "CONTROLLER"  # of controllers among themselves, as harness.cluster.node_settings has it
T = TypeVar("T")
Directories = Mapping[int, UUID]  # by the controller's id


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The voters of KRaft's quorum and the observers of its log, with their directories."""

    voters: Directories
    observers: Directories


class Requests:
    """Asks the brokers among `nodes`, one after the other, until one takes it."""

    def __init__(self, nodes: Sequence[Node], settings: Mapping[str, str]) -> None:
        """`settings` let it in: harness.cluster.capabilities.client_settings."""
        self._links = [(node, Link(*node.dial, settings)) for node in brokers(nodes)]

    def metadata(self) -> Answer:
        """What one broker knows of all topics. Raises Blind."""

        def ask(node: Node, link: Link) -> Answer:
            wanted = MetadataRequest(topics=None, allow_auto_topic_creation=False, version=VERSION)
            answer = answer_of(node.id, link.ask(wanted), link.generation)
            if answer is None:
                raise Unanswered(f"{node.name} has just started, and knows nothing yet")
            return answer

        return self._taken(ask)

    def elect(self, topic: str, partitions: Sequence[int], how: Election) -> None:
        """Ask for an election; whether it happened is for the view to say. Raises Blind,
        NotInTime."""
        wanted = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(partitions))
        request = ElectLeadersRequest(
            election_type=_ELECTIONS[how],
            topic_partitions=[wanted],
            timeout_ms=WITHIN_MS,
            version=1,
        )

        def results(said: Any) -> Iterator[tuple[str, Any]]:
            for result in said.replica_election_results:
                for partition in result.partition_result:
                    yield f"{result.topic}-{partition.partition_id}", partition

        self._carried_out(request, results)

    def reassign(self, wanted: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Ask for replicas on brokers of these ids, instead of what is under way. Raises Blind,
        NotInTime."""
        topic_of = AlterPartitionReassignmentsRequest.ReassignableTopic
        topics = [
            topic_of(
                name=topic,
                partitions=[
                    topic_of.ReassignablePartition(partition_index=number, replicas=list(replicas))
                    for (name, number), replicas in sorted(wanted.items())
                    if name == topic
                ],
            )
            for topic in sorted({name for name, _ in wanted})
        ]
        request = AlterPartitionReassignmentsRequest(timeout_ms=WITHIN_MS, topics=topics, version=0)

        def results(said: Any) -> Iterator[tuple[str, Any]]:
            for topic in said.responses:
                for partition in topic.partitions:
                    yield f"{topic.name}-{partition.partition_index}", partition

        self._carried_out(request, results)

    def moving(self) -> frozenset[tuple[str, int]]:
        """The partitions whose replicas are under way. Raises Blind, NotInTime."""
        request = ListPartitionReassignmentsRequest(timeout_ms=WITHIN_MS, topics=None, version=0)
        said = self._carried_out(request, lambda _: ())
        return frozenset(
            (topic.name, part.partition_index) for topic in said.topics for part in topic.partitions
        )

    def quorum(self) -> Members:
        """The voters and observers. Raises Blind, NotInTime."""
        request = DescribeQuorumRequest(topics=[metadata_log()], version=2)

        def results(said: Any) -> Iterator[tuple[str, Any]]:
            yield "the quorum", said.topics[0].partitions[0]

        (partition,) = self._carried_out(request, results).topics[0].partitions
        return Members(
            voters={r.replica_id: r.replica_directory_id for r in partition.current_voters},
            observers={r.replica_id: r.replica_directory_id for r in partition.observers},
        )

    def add_voter(self, node: Node, directory: UUID) -> None:
        """Let a controller vote that follows the log. Raises Blind, NotInTime."""
        host, _, port = node.quorum_endpoint.rpartition(":")
        listener = AddRaftVoterRequest.Listener(name=LISTENER, host=host, port=int(port))
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=WITHIN_MS,
            voter_id=node.id,
            voter_directory_id=directory,
            listeners=[listener],
            version=0,
        )
        self._carried_out(request, lambda _: ())

    def remove_voter(self, voter: int, directory: UUID) -> None:
        """Let a controller vote no more. Raises Blind, NotInTime."""
        request = RemoveRaftVoterRequest(
            cluster_id=None, voter_id=voter, voter_directory_id=directory, version=0
        )
        self._carried_out(request, lambda _: ())

    def _carried_out(
        self, request: Any, results: Callable[[Any], Iterable[tuple[str, Any]]]
    ) -> Any:
        """The answer of the broker that takes it. Raises NotInTime, in Kafka's words."""

        def ask(node: Node, link: Link) -> Any:
            said = link.ask(request)
            parts = [("", said), *results(said)]
            if any(part.error_code == NOT_CONTROLLER for _, part in parts):
                raise Unanswered(f"{node.name} is not the controller")
            return said

        said = self._taken(ask)
        for what, part in [(type(request).__name__, said), *results(said)]:
            if part.error_code not in (0, ELECTION_NOT_NEEDED):
                why = getattr(part, "error_message", None) or for_code(part.error_code).message
                raise NotInTime(f"{what}: refused: {why}")
        return said

    def _taken(self, ask: Callable[[Node, Link], T]) -> T:
        said = []
        for place, (node, link) in enumerate(self._links):
            try:
                answer = ask(node, link)
            except Unanswered as problem:
                said.append(str(problem))
                continue
            self._links.insert(0, self._links.pop(place))
            return answer
        raise Blind(f"no broker takes the request: {'; '.join(said)}")
