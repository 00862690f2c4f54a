"""Administration by confluent_kafka: topics, log ends, settings.

While faults are in force only verbs that are an operator's commands use it; each makes an Admin of
its own, since an old client may know an old controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
)

from harness.cluster.admin.connection import CREATE_LIMIT_S, REQUEST_LIMIT_S, AdminConnection
from harness.cluster.admin.topics import Topics
from harness.cluster.nodes import Node

_KINDS = {"topic": ConfigResource.Type.TOPIC, "broker": ConfigResource.Type.BROKER}
# The sources of settings that were set at run time on the topic or broker itself.
_OWN = (ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that has settings of its own: a topic by name, a broker by id."""

    kind: Literal["topic", "broker"]
    name: str

    def named(self, entries: Sequence[ConfigEntry] = ()) -> ConfigResource:
        """The resource as confluent_kafka names it."""
        return ConfigResource(_KINDS[self.kind], self.name, incremental_configs=list(entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting's value in force, and what was set at run time on the resource itself."""

    value: str | None
    own: str | None


class Admin:
    """What an operator's tools do; `topics` makes and removes them."""

    def __init__(self, nodes: Sequence[Node], settings: Mapping[str, str] | None = None) -> None:
        """`settings` let it in: harness.cluster.capabilities.client_settings."""
        self._connection = AdminConnection(nodes, settings)
        self.topics = Topics(self._connection)

    # Log ends

    def log_ends(
        self, topic: str, partitions: int, *, though_open: bool = False
    ) -> tuple[int, ...] | None:
        """The high watermark of every partition; None while a broker cannot tell, or while an open
        transaction keeps read_committed readers from it (the last stable offset is less), unless
        they are wanted `though_open`.

        Each try uses a new client: a client that has asked a broker that had just started may never
        learn of any broker.
        """
        try:
            committed = self._ends(topic, partitions, IsolationLevel.READ_COMMITTED)
            uncommitted = self._ends(topic, partitions, IsolationLevel.READ_UNCOMMITTED)
        except KafkaException:
            self._connection.renew()
            return None
        return uncommitted if though_open or committed == uncommitted else None

    def _ends(self, topic: str, partitions: int, isolation: IsolationLevel) -> tuple[int, ...]:
        wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(partitions)}  # type: ignore[no-untyped-call]
        futures = self._connection.client.list_offsets(
            wanted, isolation_level=isolation, request_timeout=REQUEST_LIMIT_S
        )
        ends = {tp.partition: future.result().offset for tp, future in futures.items()}
        return tuple(ends[p] for p in range(partitions))

    # Settings

    def settings(self, resource: Resource) -> dict[str, Setting]:
        """Every setting of a topic or a broker. Raises ClusterError."""
        wanted, client = resource.named(), self._connection.client

        def ask() -> dict[str, Setting]:
            future = client.describe_configs([wanted], request_timeout=CREATE_LIMIT_S)
            return {name: _setting(entry) for name, entry in future[wanted].result().items()}

        return self._connection.insist(ask, f"the settings of {resource.kind} {resource.name}")

    def change(self, resource: Resource, settings: Mapping[str, str | None]) -> None:
        """Set keys of a topic or a broker; None removes what was set. Raises ClusterError."""
        wanted = resource.named([_change(name, value) for name, value in settings.items()])
        client = self._connection.client

        def alter() -> bool:
            client.incremental_alter_configs([wanted], request_timeout=CREATE_LIMIT_S)[
                wanted
            ].result()
            return True

        what = f"{', '.join(settings)} of {resource.kind} {resource.name} to be set"
        self._connection.insist(alter, what)


def _setting(entry: ConfigEntry) -> Setting:
    source: Any = entry.source
    own = int(getattr(source, "value", source)) in _OWN
    return Setting(value=entry.value, own=entry.value if own else None)


def _change(name: str, value: str | None) -> ConfigEntry:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    return ConfigEntry(name=name, value=value, incremental_operation=operation)
