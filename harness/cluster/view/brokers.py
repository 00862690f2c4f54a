"""The view by all brokers' answers, where no ZooKeeper can be asked.

    kafka1 (cut off)   t-0: leader kafka1, epoch 4, ISR 1 2 3
    kafka2, kafka3     t-0: leader kafka2, epoch 5, ISR 2 3        => leader kafka2, ISR 2 3

One broker's metadata may be old: it may be cut off, or just started. So every broker is asked on a
connection of its own, and for each partition the answer with the highest leader epoch is believed
(KIP-320). Clients get no epoch of an ISR's change: among answers of the same epoch the controller's
counts, which learns of it first, else the one of most brokers. The controller is the one that most
brokers name; among as many, the new one. KRaft's brokers name any broker there (KIP-590), so the
quorum is asked for its leader (harness.cluster.view.quorum), which may be none of the brokers.

A broker that knows DescribeTopicPartitions (KIP-966: 3.7, and KRaft) is asked that for the topic:
its answer has the eligible leader replicas too. No answer has a partition's epoch.

A broker that hangs is waited for once, not in every look. What it cannot see: that *all* brokers
which answer are out of date. The leader epoch in metadata can be trusted from version 9 on (Kafka
2.4, KAFKA-9212).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from kafka.protocol.admin import DescribeTopicPartitionsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from harness.cluster.nodes import ClusterError, Node, brokers, controllers
from harness.cluster.view.askers import Asker
from harness.cluster.view.connection import Link, Unanswered
from harness.cluster.view.coordinators import TOPICS, Coordinated, partition_of
from harness.cluster.view.last_known import Memory, recovered
from harness.cluster.view.quorum import Claims, Description, Quorum, described
from harness.cluster.view.state import Blind, PartitionState, View
from harness.waiting import WaitTimeout, wait_until

VERSION = 9  # of Metadata
DESCRIBE_TOPIC_PARTITIONS = 75  # the request's number: ZooKeeper's brokers do not know it
FRESH_S = 0.1  # a controller is asked again after so long, however often somebody looks
LOOK_S = 2.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAnswer:
    """One partition as one broker knows it; numbers of brokers, None for no leader."""

    leader: int | None
    epoch: int
    isr: frozenset[int]
    replicas: tuple[int, ...]  # preferred leader first
    elr: frozenset[int] | None = None  # eligible leader replicas; None where it does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one broker said."""

    broker: int
    alive: frozenset[int]
    controller: int | None
    topics: Mapping[str, Mapping[int, PartitionAnswer]]
    generation: int = 0  # of the connection: a broker's new process answers on another one


def answer_of(broker: int, said: Any, generation: int = 0) -> Answer | None:
    """A Metadata response understood; None from a broker that does not know itself yet, as one
    that has just started, and so knows nothing."""
    alive = frozenset(broker.node_id for broker in said.brokers)
    if broker not in alive:
        return None
    return Answer(
        broker=broker,
        alive=alive,
        controller=said.controller_id if said.controller_id >= 0 else None,
        topics={
            topic.name: {p.partition_index: _partition_answer(p) for p in topic.partitions}
            for topic in said.topics
            if topic.error_code == 0
        },
        generation=generation,
    )


def _partition_answer(partition: Any) -> PartitionAnswer:
    return PartitionAnswer(
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        epoch=partition.leader_epoch,
        isr=frozenset(partition.isr_nodes),
        replicas=tuple(partition.replica_nodes),
    )


def with_elr(answer: Answer, said: Any) -> Answer:
    """The answer with its partitions as a DescribeTopicPartitions response of the same broker has
    them, as far as it goes."""
    topics = {name: dict(partitions) for name, partitions in answer.topics.items()}
    for topic in said.topics:
        for partition in topic.partitions if topic.error_code == 0 else ():
            elr = frozenset(partition.eligible_leader_replicas or ())
            state = replace(_partition_answer(partition), elr=elr)
            topics.setdefault(topic.name, {})[partition.partition_index] = state
    return replace(answer, topics=topics)


def controller_of(answers: Sequence[Answer], last: int | None) -> int | None:
    """The controller that most answers name; among as many, one that is not the `last` known."""
    votes = Counter(answer.controller for answer in answers if answer.controller is not None)
    return max(votes, key=lambda one: (votes[one], one != last), default=None)


def newest(
    answers: Sequence[Answer], topic: str, partition: int, controller: int | None
) -> PartitionAnswer | None:
    """The partition by the answer that is to be believed; None where no answer has it."""
    by_broker = {
        answer.broker: answer.topics[topic][partition]
        for answer in answers
        if partition in answer.topics.get(topic, {})
    }
    highest = max((answer.epoch for answer in by_broker.values()), default=None)
    believed = {broker: answer for broker, answer in by_broker.items() if answer.epoch == highest}
    if controller in believed:
        return believed[controller]
    return Counter(believed.values()).most_common(1)[0][0] if believed else None


def alive_of(answers: Sequence[Answer], controller: int | None) -> frozenset[int]:
    """The brokers that live, as the controller says, else most of those that answer."""
    for answer in answers:
        if answer.broker == controller:
            return answer.alive
    return Counter(a.alive for a in answers).most_common(1)[0][0] if answers else frozenset()


def metadata_request(topics: Sequence[str]) -> MetadataRequest:
    """A question for these topics that makes none of them."""
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False, version=VERSION)


def elr_request(topic: str) -> DescribeTopicPartitionsRequest:
    """A question for a topic's partitions with their eligible leader replicas."""
    wanted = DescribeTopicPartitionsRequest.TopicRequest(name=topic)
    return DescribeTopicPartitionsRequest(topics=[wanted], version=0)


class AskedView:
    """The cluster's view of itself by its brokers, who ask for `settings` to authenticate by.

    `of_quorum` are the controllers that can be asked for their quorum, each at its own listener;
    with none of them the brokers pass that question on. `now` tells where nodes are by now, for
    clusters whose nodes move.
    """

    def __init__(  # noqa: PLR0913  of what, and whom it asks
        self,
        nodes: Sequence[Node],
        topic: str,
        partitions: int,
        settings: Mapping[str, str],
        *,
        of_quorum: Sequence[Node] = (),
        now: Callable[[], Sequence[Node]] = tuple,
    ) -> None:
        self.topic, self.partitions, self.follows_added = topic, partitions, False
        self._nodes = {node.id: node for node in brokers(nodes)}
        self._names = {node.id: node.name for node in (*brokers(nodes), *controllers(nodes))}
        self._topics: tuple[str, ...] = (topic,)
        self._heard = threading.Condition()
        self._now = now

        def asker(node: Node, question: Callable[[Node, Link], T]) -> Asker[T]:
            return Asker(node, Link(*node.dial, settings), partial(question, node), self._heard)

        self._askers = [asker(node, self._ask) for node in self._nodes.values()]
        self._controllers = [asker(node, self._ask_controller) for node in of_quorum]
        self._voters, self._settings = controllers(nodes), settings
        self._claims = Claims()
        passing_on = () if of_quorum else self._nodes.values()
        self._quorum = Quorum([Link(*node.dial, settings) for node in passing_on])
        self._memory = Memory()
        self._last_controller: int | None = None

    def _everybody(self) -> Iterator[Asker[Any]]:
        yield from self._askers
        yield from self._controllers

    def connect(self, timeout_s: float) -> None:
        """Begin to ask. Raises ClusterError when no broker answers."""
        for asker in self._everybody():
            asker.start()
        try:
            wait_until(self.look, timeout_s=timeout_s, what="a broker's answer", ignoring=(Blind,))
        except WaitTimeout:
            said = [str(asker.problem) for asker in self._askers if asker.problem]
            raise ClusterError("; ".join(said) or "no broker answers") from None
        self._quorum.start()

    def close(self) -> None:
        """Ask no more."""
        self._quorum.close()
        for asker in self._everybody():
            asker.end()

    def live_brokers(self) -> tuple[str, ...]:
        """Names of the brokers that are members of the cluster now. Raises Blind."""
        answers = self._answers()
        alive = alive_of(answers, self._controller(answers))
        return tuple(sorted(self._name(number) for number in alive))

    def registration(self, broker: Node) -> int | None:
        """Which connection it answers on, while it is a member: a new process answers on another;
        None while it does not. Raises Blind."""
        answers = self._answers()
        alive = alive_of(answers, self._controller(answers))
        own = next((answer for answer in answers if answer.broker == broker.id), None)
        return own.generation if own and broker.id in alive else None

    def controller(self) -> str | None:
        """The controller's name; None while there is none, or where it is no broker."""
        return self.look().controller

    def follows(self, controller: Node) -> bool:
        """Whether a controller has all that its quorum has committed, as whoever leads told it or
        the brokers just now."""
        if not self._controllers:
            return self._quorum.follows(controller.id)
        with self._heard:
            answers = [a.answer for a in self._controllers if a.id == self._claims.leader]
        return any(answer.has_all(controller.id) for answer in answers if answer)

    def coordinator(self, kind: Coordinated, name: str, *, ask: bool = True) -> str | None:
        """The coordinator of a group.id or transactional.id; the last known one while blind, or
        when nobody is to be asked."""
        question = partial(self._coordinator, TOPICS[kind], name) if ask else None
        return self._memory.coordinator(kind, name, question)

    def _coordinator(self, topic: str, name: str) -> str | None:
        partitions = self._partitions(topic)
        if not partitions:
            return None
        return self._named(partitions[partition_of(name, len(partitions))].leader)

    def assignment_of(self, topic: str) -> tuple[tuple[str, ...], ...]:
        """Each partition's assigned replicas, preferred leader first; empty without such a topic.

        Raises Blind.
        """
        return tuple(
            tuple(self._name(i) for i in partition.replicas)
            for partition in self._partitions(topic)
        )

    def look(self) -> View:
        """The view now. Raises Blind when no broker answers."""
        answers = self._answers()
        controller = self._last_controller = self._controller(answers)
        partitions = [
            newest(answers, self.topic, number, controller) for number in range(self.partitions)
        ]
        return self._memory.keep(
            View(
                partitions=tuple(self._state(partition) for partition in partitions),
                controller=self._named(controller),
                assignment=tuple(
                    tuple(self._name(i) for i in partition.replicas)
                    for partition in partitions
                    if partition
                ),
            )
        )

    def agreed(self) -> tuple[PartitionState, ...]:
        """Every partition's state as it is now or later: who answers is asked after the call."""
        return self.look().partitions

    def look_or_last(self) -> View:
        """The view now, or the last one marked as not known."""
        return self._memory.look_or_last(self.look)

    def recovered(self, replicas: int) -> str | None:
        """The sentence that says so once leaders, ISRs and brokers are all there, and every
        controller that is known has what is committed; else None."""
        names = [node.name for node in self._nodes.values()]
        said = recovered(self, names, replicas, "a member")
        if not said or not self._voters:
            return said
        return f"{said}, every voter is level" if all(map(self.follows, self._voters)) else None

    def features(self) -> dict[str, int]:
        """The finalized features and their levels. Raises Blind."""
        question = ApiVersionsRequest(
            client_software_name="kafka-harness", client_software_version="1", version=3
        )
        for node in self._nodes.values():
            with suppress(Unanswered), closing(Link(*node.dial, self._settings)) as link:
                said = link.ask(question)
                return {f.name: f.max_version_level for f in said.finalized_features}
        raise Blind("no broker answers")

    # Parts

    def _ask(self, node: Node, link: Link) -> Answer | None:
        """What a broker says of the topics. Raises Unanswered."""
        self._follow(node, link)
        answer = answer_of(node.id, link.ask(metadata_request(self._topics)), link.generation)
        if answer is None or link.newest(DESCRIBE_TOPIC_PARTITIONS) < 0:
            return answer
        return with_elr(answer, link.ask(elr_request(self.topic)))

    def _ask_controller(self, node: Node, link: Link) -> Description:
        """What a controller says of its quorum. Raises Unanswered."""
        self._follow(node, link)
        return described(link)

    def _follow(self, node: Node, link: Link) -> None:
        """Ask the node where it is now."""
        current = next((now for now in self._now() if now.name == node.name), node)
        link.reach(*current.dial)

    def _answers(self) -> list[Answer]:
        """What every broker says that answers, asked after this call began; what controllers say is
        at most FRESH_S older. Raises Blind."""
        since_s = time.monotonic()
        with self._heard:
            due = [asker for asker in self._controllers if asker.asked_s < since_s - FRESH_S]
            askers: list[Asker[Any]] = [*self._askers, *due]
            for asker in askers:
                asker.want(since_s)
            self._heard.notify_all()
            while not all(a.settled(since_s) for a in askers):
                self._heard.wait(0.05)
                if time.monotonic() > since_s + LOOK_S:
                    break
            self._claims.hear({a.id: a.answer.epoch for a in self._controllers if a.answer})
            answers = [a.answer for a in self._askers if a.answer and a.asked_s >= since_s]
        if not answers:
            raise Blind("no broker answers")
        return answers

    def _partitions(self, topic: str) -> list[PartitionAnswer]:
        """Every partition of any topic, in order; none without such a topic. Raises Blind."""
        if topic not in self._topics:
            self._topics = (*self._topics, topic)
        answers = self._answers()
        controller = self._controller(answers)
        numbers = {number for answer in answers for number in answer.topics.get(topic, {})}
        partitions = (newest(answers, topic, number, controller) for number in sorted(numbers))
        return [partition for partition in partitions if partition]

    def _controller(self, answers: Sequence[Answer]) -> int | None:
        if self._controllers:
            return self._claims.leader
        if self._quorum.exists():
            return self._quorum.leader
        return controller_of(answers, self._last_controller)

    def _state(self, answer: PartitionAnswer | None) -> PartitionState:
        if answer is None:
            return PartitionState(leader=None, isr=(), leader_epoch=None)
        return PartitionState(
            leader=self._named(answer.leader),
            isr=self._sorted(answer.isr),
            leader_epoch=answer.epoch,
            elr=None if answer.elr is None else self._sorted(answer.elr),
        )

    def _sorted(self, ids: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted(self._name(i) for i in ids))

    def _named(self, broker: int | None) -> str | None:
        return None if broker is None else self._names.get(broker)

    def _name(self, broker: int) -> str:
        return self._names.get(broker, f"kafka{broker}")  # one that joined later
