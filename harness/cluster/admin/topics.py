"""Creates, changes and removes topics, and removes a topic's consumer group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]

from harness.cluster.admin.connection import (
    ASK_EVERY_S,
    CREATE_LIMIT_S,
    REQUEST_LIMIT_S,
    AdminConnection,
)
from harness.cluster.nodes import ClusterError, Node, NotInTime
from harness.model.kafka_text import kafka_text
from harness.waiting import WaitTimeout, wait_until

TOPIC_LIMIT_S = 60.0


class Topics:
    """The topics of a cluster."""

    def __init__(self, connection: AdminConnection) -> None:
        self._connection = connection

    def create(
        self, name: str, assignment: Sequence[Sequence[int]], config: Mapping[str, Any]
    ) -> None:
        """Create a topic whose partition i has the replicas assignment[i], preferred leader first.

        Raises ClusterError with the broker's own words when it is refused.
        """
        placed = [list(replicas) for replicas in assignment]
        self._create(
            NewTopic(
                name,
                num_partitions=len(placed),
                replica_assignment=placed,
                config=_texts(config),
            )
        )

    def create_anywhere(
        self, name: str, partitions: int, replicas: int, config: Mapping[str, Any]
    ) -> None:
        """Create a topic whose replicas Kafka places. Raises ClusterError as `create` does."""
        self._create(
            NewTopic(
                name,
                num_partitions=partitions,
                replication_factor=replicas,
                config=_texts(config),
            )
        )

    def _create(self, topic: NewTopic) -> None:
        what = f"topic {topic.topic} to be created"
        try:
            wait_until(
                partial(self._created, topic),
                timeout_s=TOPIC_LIMIT_S,
                what=what,
                every_s=ASK_EVERY_S,
            )
        except WaitTimeout as error:
            raise NotInTime(str(error)) from None

    def _created(self, topic: NewTopic) -> bool:
        if not self._connection.knows_controller():
            return False
        client, name = self._connection.client, topic.topic
        try:
            client.create_topics([topic], request_timeout=CREATE_LIMIT_S)[name].result()
        except KafkaException as error:
            problem = error.args[0]
            if problem.name() == "TOPIC_ALREADY_EXISTS":  # by a try whose answer was late
                return True
            if problem.code() < 0 or problem.retriable() or problem.name() == "NOT_CONTROLLER":
                return False  # the client does not know the cluster yet
            raise ClusterError(f"topic {name} was refused: {problem.str()}") from None
        return True

    def exists(self, name: str) -> bool:
        """Whether there is such a topic that we may see. Raises ClusterError."""
        client = self._connection.client
        metadata = self._connection.insist(
            lambda: client.list_topics(timeout=CREATE_LIMIT_S), "the list of topics"
        )
        return name in metadata.topics

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have `total` partitions. Raises ClusterError."""
        client = self._connection.client

        def add() -> bool:
            new = NewPartitions(topic, total)
            try:
                client.create_partitions([new], request_timeout=CREATE_LIMIT_S)[topic].result()
            except KafkaException:
                # An earlier try may have done it, with a late answer.
                if len(client.list_topics(topic, timeout=1).topics[topic].partitions) < total:
                    raise
            return True

        self._connection.insist(add, f"topic {topic} to have {total} partitions")

    def remove(self, topic: str, group: str | None) -> list[str]:
        """Remove a run's topic and group, and wait until the topic is gone; returns sentences.

        A group with a member that was killed cannot be removed; without its topic Kafka forgets it
        by itself soon after the member's session. Raises ClusterError.
        """
        done = [*self._remove_topic(topic), *(self._remove_group(group) if group else ())]
        return done or [f"there is no topic {topic}"]

    def _remove_topic(self, topic: str) -> list[str]:
        if not self.exists(topic):
            return []
        what, client = f"topic {topic} to be removed", self._connection.client
        ask = partial(client.delete_topics, [topic], request_timeout=REQUEST_LIMIT_S)
        self._remove(topic, ask, what, "UNKNOWN_TOPIC_OR_PART")
        self._connection.insist(lambda: not self.exists(topic), what)
        return [f"topic {topic} is removed"]

    def _remove_group(self, group: str) -> list[str]:
        client = self._connection.client
        ask = partial(client.delete_consumer_groups, [group], request_timeout=REQUEST_LIMIT_S)
        what = f"group {group} to be removed"
        why = self._remove(group, ask, what, "NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND")
        if why is None:
            return [f"group {group} is removed"]
        return [f"group {group} could not be removed: {why}"]

    def _remove(
        self, name: str, ask: Callable[[], Mapping[str, Any]], what: str, *excuses: str
    ) -> str | None:
        """Remove it; the broker's words where the error is one of `excuses`."""

        def removed() -> tuple[str | None]:
            try:
                ask()[name].result()
            except KafkaException as error:
                if error.args[0].name() not in excuses:
                    raise
                return (str(error.args[0].str()),)
            return (None,)

        return self._connection.insist(removed, what)[0]


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: kafka_text(value) for key, value in config.items()}


def others_from(nodes: Sequence[Node], one: Node) -> list[Node]:
    """All nodes but `one`, in the ring's order, beginning with the one after it."""
    at = nodes.index(one)
    return [*nodes[at + 1 :], *nodes[:at]]


def replica_assignment(
    broker_ids: Sequence[int], first_leader: int, partitions: int, replication_factor: int
) -> list[list[int]]:
    """Replicas of each partition: leaders go round the brokers, beginning with `first_leader`."""
    start = list(broker_ids).index(first_leader)
    count = len(broker_ids)
    return [
        [broker_ids[(start + p + r) % count] for r in range(replication_factor)]
        for p in range(partitions)
    ]
