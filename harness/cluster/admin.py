"""What the harness asks of the brokers: create the topic where it is wanted, and tell log ends.

Set-up may retry (a fresh cluster's controller can be unknown to a client for a moment); nothing
here is used while faults are in force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    OffsetSpec,
)

from harness.cluster import ClusterError, Node, brokers
from harness.waiting import WaitTimeout, wait_until

REQUEST_LIMIT_S = 10.0
CREATE_LIMIT_S = 2.0  # a fresh client may wait in vain for a controller: ask again soon


class Admin:
    """One AdminClient for the whole run."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        bootstrap = ",".join(node.endpoint for node in brokers(nodes))
        self._client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create_topic(
        self, name: str, assignment: Sequence[Sequence[int]], config: Mapping[str, Any]
    ) -> None:
        """Create a topic whose partition i has the replicas assignment[i], preferred leader first.

        Raises ClusterError with the broker's own words when it is refused.
        """
        topic = NewTopic(
            name,
            num_partitions=len(assignment),
            replica_assignment=[list(replicas) for replicas in assignment],
            config={key: str(value).lower() if isinstance(value, bool) else str(value)
                    for key, value in config.items()},
        )  # fmt: skip

        def create() -> bool:
            if not self._knows_controller():
                return False
            future = self._client.create_topics([topic], request_timeout=CREATE_LIMIT_S)[name]
            try:
                future.result()
            except KafkaException as error:
                problem = error.args[0]
                if problem.name() == "TOPIC_ALREADY_EXISTS":  # by a try whose answer was late
                    return True
                if problem.code() < 0 or problem.retriable() or problem.name() == "NOT_CONTROLLER":
                    return False  # a client that has not met the cluster yet
                raise ClusterError(f"topic {name} was refused: {problem.str()}") from None
            return True

        try:
            wait_until(create, timeout_s=60, what=f"topic {name} to be created", every_s=0.1)
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None

    def _knows_controller(self) -> bool:
        """Ask for fresh metadata: a client that met the cluster too early waits for it in vain."""
        try:
            return int(self._client.list_topics(timeout=CREATE_LIMIT_S).controller_id) >= 0
        except KafkaException:
            return False

    def log_ends(self, topic: str, partitions: int) -> tuple[int, ...] | None:
        """The high watermark of every partition; None while a broker cannot tell."""
        wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(partitions)}  # type: ignore[no-untyped-call]
        futures = self._client.list_offsets(
            wanted,
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=REQUEST_LIMIT_S,
        )
        try:
            ends = {tp.partition: future.result().offset for tp, future in futures.items()}
        except KafkaException:
            return None
        return tuple(ends[p] for p in range(partitions))


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
