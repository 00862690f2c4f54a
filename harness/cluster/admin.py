"""What the harness asks of the brokers: topics made, log ends told, and an operator's changes.

Set-up may retry: a fresh cluster's controller can be unknown to a client for a moment. While faults
are in force only faults themselves come here, those that an operator's commands are; each makes an
Admin of its own, since an old client may know an old controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar, cast

from confluent_kafka import ElectionType, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from harness.cluster.nodes import ClusterError, Node, brokers
from harness.waiting import WaitTimeout, wait_until

REQUEST_LIMIT_S = 10.0
CREATE_LIMIT_S = 2.0  # a fresh client may wait in vain for a controller: ask again soon
CHANGE_LIMIT_S = 30.0
# Errors of a broker that has not heard yet: who is controller, or of a topic that was just made.
NOT_YET = ("NOT_CONTROLLER", "UNKNOWN_TOPIC_OR_PART")
T = TypeVar("T")

_KINDS = {"topic": ConfigResource.Type.TOPIC, "broker": ConfigResource.Type.BROKER}
# What somebody has set at run time on this very topic or broker: all else comes from elsewhere.
_OWN = (ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that has settings of its own: a topic by name, a broker by id."""

    kind: Literal["topic", "broker"]
    name: str

    def asked(self, entries: Sequence[ConfigEntry] = ()) -> ConfigResource:
        """The resource as confluent_kafka names it."""
        return ConfigResource(_KINDS[self.kind], self.name, incremental_configs=list(entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting's value in force, and what was set at run time on the resource itself."""

    value: str | None
    own: str | None


def _source(entry: ConfigEntry) -> int:
    source: Any = entry.source
    return int(getattr(source, "value", source))


class Admin:
    """One AdminClient for the whole run."""

    def __init__(self, nodes: Sequence[Node], settings: Mapping[str, str] | None = None) -> None:
        """`settings` let it in: harness.cluster.capabilities.client_settings."""
        bootstrap = ",".join(node.endpoint for node in brokers(nodes))
        self._config: dict[str, Any] = {
            **(settings or {}),
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }
        self._client = self._connect()

    def _connect(self) -> AdminClient:
        return AdminClient(dict(self._config))

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
            config={
                key: str(value).lower() if isinstance(value, bool) else str(value)
                for key, value in config.items()
            },
        )

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

    def has_topic(self, name: str) -> bool:
        """Whether there is such a topic that we may see. Raises ClusterError."""
        found = self._insist(lambda: self._client.list_topics(timeout=CREATE_LIMIT_S), "the topics")
        return name in found.topics

    def remove(self, topic: str, group: str | None) -> list[str]:
        """Remove what a run has made, and wait until the topic is gone; says what came of it.

        A group with a member that was killed cannot be removed; without its topic Kafka forgets it
        by itself soon after the member's session. Raises ClusterError.
        """
        told, what = list[str](), f"topic {topic} to be removed"
        if self.has_topic(topic):
            asked = partial(self._client.delete_topics, [topic], request_timeout=REQUEST_LIMIT_S)
            self._remove(topic, asked, what, "UNKNOWN_TOPIC_OR_PART")
            self._insist(lambda: not self.has_topic(topic), what)
            told.append(f"topic {topic} is removed")
        if group:
            asked = partial(
                self._client.delete_consumer_groups, [group], request_timeout=REQUEST_LIMIT_S
            )
            why = self._remove(
                group,
                asked,
                f"group {group} to be removed",
                "NON_EMPTY_GROUP",
                "GROUP_ID_NOT_FOUND",
            )
            told.append(
                f"group {group} is removed"
                if why is None
                else f"group {group} is left to Kafka: {why}"
            )
        return told or [f"there is no topic {topic}"]

    def _remove(
        self, name: str, ask: Callable[[], Mapping[str, Any]], what: str, *excuses: str
    ) -> str | None:
        """Ask once it can be answered; the broker's words where it has one of these excuses."""

        def removed() -> tuple[str | None]:
            try:
                ask()[name].result()
            except KafkaException as error:
                if error.args[0].name() not in excuses:
                    raise
                return (str(error.args[0].str()),)
            return (None,)

        return self._insist(removed, what)[0]

    def _knows_controller(self) -> bool:
        """Ask for fresh metadata: a client that met the cluster too early waits for it in vain."""
        try:
            return int(self._client.list_topics(timeout=CREATE_LIMIT_S).controller_id) >= 0
        except KafkaException:
            return False

    def log_ends(self, topic: str, partitions: int) -> tuple[int, ...] | None:
        """The high watermark of every partition; None while a broker cannot tell, or while an open
        transaction keeps read_committed readers from it (the last stable offset is less).

        The next try is a fresh client's: a broker that has just started tells of no brokers at all,
        and a client that asked it then knows nobody for good (librdkafka issue 5301).
        """
        wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(partitions)}  # type: ignore[no-untyped-call]

        def ends(isolation: IsolationLevel) -> tuple[int, ...]:
            futures = self._client.list_offsets(
                wanted, isolation_level=isolation, request_timeout=REQUEST_LIMIT_S
            )
            told = {tp.partition: future.result().offset for tp, future in futures.items()}
            return tuple(told[p] for p in range(partitions))

        try:
            committed = ends(IsolationLevel.READ_COMMITTED)
            uncommitted = ends(IsolationLevel.READ_UNCOMMITTED)
        except KafkaException:
            self._client = self._connect()
            return None
        return uncommitted if committed == uncommitted else None

    # An operator's changes

    def elect_preferred(self, topic: str, partitions: Sequence[int]) -> None:
        """Ask for a preferred election; whether it happened shows in ZooKeeper alone.

        A refusal (no controller yet, the preferred leader not in the ISR) is passed over.
        """
        wanted = [TopicPartition(topic, number) for number in partitions]
        # Without time limits of its own: confluent-kafka 2.16 raises SystemError over both of them.
        asked = self._client.elect_leaders(ElectionType.PREFERRED, wanted)
        with suppress(KafkaException, TimeoutError):
            asked.result(timeout=CREATE_LIMIT_S)

    def settings(self, resource: Resource) -> dict[str, Setting]:
        """Every setting of a topic or a broker. Raises ClusterError."""
        wanted = resource.asked()

        def ask() -> dict[str, Setting]:
            future = self._client.describe_configs([wanted], request_timeout=CREATE_LIMIT_S)
            found = future[wanted].result()
            return {
                name: Setting(
                    value=entry.value, own=entry.value if _source(entry) in _OWN else None
                )
                for name, entry in found.items()
            }

        return self._insist(ask, f"the settings of {resource.kind} {resource.name}")

    def change(self, resource: Resource, settings: Mapping[str, str | None]) -> None:
        """Set keys of a topic or a broker; None removes what was set. Raises ClusterError."""
        entries = [
            ConfigEntry(
                name=name,
                value=value,
                incremental_operation=AlterConfigOpType.DELETE
                if value is None
                else AlterConfigOpType.SET,
            )
            for name, value in settings.items()
        ]
        wanted = resource.asked(entries)

        def alter() -> bool:
            self._client.incremental_alter_configs([wanted], request_timeout=CREATE_LIMIT_S)[
                wanted
            ].result()
            return True

        self._insist(alter, f"{', '.join(settings)} of {resource.kind} {resource.name} to be set")

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have `total` partitions. Raises ClusterError."""

        def add() -> bool:
            new = NewPartitions(topic, total)
            try:
                self._client.create_partitions([new], request_timeout=CREATE_LIMIT_S)[
                    topic
                ].result()
            except KafkaException:
                # An earlier try may have done it, its answer late.
                if len(self._client.list_topics(topic, timeout=1).topics[topic].partitions) < total:
                    raise
            return True

        self._insist(add, f"topic {topic} to have {total} partitions")

    def _insist(self, ask: Callable[[], T], what: str) -> T:
        """Ask again while brokers cannot tell; ClusterError when they refuse or time is over."""

        def asked() -> T | None:
            try:
                return ask()
            except KafkaException as error:
                problem = error.args[0]
                if problem.code() < 0 or problem.retriable() or problem.name() in NOT_YET:
                    return None
                raise ClusterError(f"{what}: refused: {problem.str()}") from None

        try:
            return cast(T, wait_until(asked, timeout_s=CHANGE_LIMIT_S, what=what, every_s=0.1))
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None


def others_from(nodes: Sequence[Node], one: Node) -> list[Node]:
    """All nodes but `one`, in their order round, beginning with the one after it."""
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
