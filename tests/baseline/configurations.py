"""The classes of configurations that the baseline tells of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A class of configurations: what of it decides the promises."""

    producer: Row
    topic: Row = field(default_factory=dict)
    server: Row = field(default_factory=dict)
    consumer: Row = field(default_factory=dict)
    commit: str | None = None  # of the consumer group; None: there is no group
    transforms: bool = False  # it sends what it makes of records
    outputs: bool = False  # programs of the user's do
    members_died: bool = False
    replicas: int = 3
    zookeepers: int = 3
    cluster: Row = field(default_factory=dict)  # its Kafka, where that is not 3.9 with ZooKeeper
    controller: Row = field(default_factory=dict)  # KRaft's controllers' own settings

    @property
    def kraft(self) -> bool:
        """Whether it has no ZooKeeper."""
        return bool(self.cluster)

    @property
    def combined(self) -> bool:
        """Whether the brokers are the controllers."""
        return self.cluster.get("metadata") == "kraft-combined"

    @property
    def quorum(self) -> tuple[str, ...]:
        """Who keeps the metadata; the last one leads."""
        if self.combined:
            return ("kafka1", "kafka3", "kafka2")
        stem, count = ("controller", 3) if self.kraft else ("zk", self.zookeepers)
        return tuple(f"{stem}{number + 1}" for number in range(count))

    @property
    def stem(self) -> str:
        """What targets begin with that mean who keeps the metadata."""
        return "quorum" if self.kraft else "zk"

    @property
    def controls(self) -> str:
        """The controller."""
        return self.quorum[-1] if self.kraft else CONTROLLER


CONTROLLER = "kafka2"
ALL = {"acks": "all"}
ONE = {"acks": "1"}
IDEMPOTENT = ALL | {"enable.idempotence": True}
NO_RETRIES = {"retries": 0}
ONE_IN_FLIGHT = {"max.in.flight.requests.per.connection": 1}
UNCLEAN = {"unclean.leader.election.enable": True}
FLUSHED = {"flush.messages": 1}
NO_EPOCHS = {"inter.broker.protocol.version": "0.10.2-IV0"}
TRANSACTIONAL = IDEMPOTENT | {"transactional.id": "t"}
LATEST = {"auto.offset.reset": "latest"}
UNCOMMITTED = {"isolation.level": "read_uncommitted"}
SAFE_KRAFT = partial(Configuration, producer=IDEMPOTENT, topic={"min.insync.replicas": 2})
TRANSFORMERS = partial(Configuration, producer=TRANSACTIONAL, transforms=True)
CONFIGURATIONS: dict[str, Configuration] = {
    "acks=0": Configuration(producer={"acks": "0"}),
    "acks=0, unclean elections": Configuration(producer={"acks": "0"}, topic=UNCLEAN),
    "acks=1": Configuration(producer=ONE),
    "acks=1, no retries": Configuration(producer=ONE | NO_RETRIES),
    "acks=1, one in flight": Configuration(producer=ONE | ONE_IN_FLIGHT),
    "acks=1, flush.messages=1": Configuration(producer=ONE, topic=FLUSHED),
    "acks=1, one replica": Configuration(producer=ONE, replicas=1),
    "acks=1, one ZooKeeper": Configuration(producer=ONE, zookeepers=1),
    "acks=1, five ZooKeepers": Configuration(producer=ONE, zookeepers=5),
    "acks=all": Configuration(producer=ALL),
    "acks=all, no retries": Configuration(producer=ALL | NO_RETRIES),
    "acks=all, one in flight": Configuration(producer=ALL | ONE_IN_FLIGHT),
    "idempotent": Configuration(producer=IDEMPOTENT),
    "idempotent, check.crcs": Configuration(producer=IDEMPOTENT, consumer={"check.crcs": True}),
    "idempotent, flush.messages=1": Configuration(producer=IDEMPOTENT, topic=FLUSHED),
    "idempotent, one replica": Configuration(producer=IDEMPOTENT, replicas=1),
    "idempotent, one replica, flush.messages=1 of the brokers": Configuration(
        producer=IDEMPOTENT, replicas=1, server={"log.flush.interval.messages": "1"}
    ),
    "idempotent, unclean elections": Configuration(producer=IDEMPOTENT, topic=UNCLEAN),
    "idempotent, unclean elections of the brokers, one replica": Configuration(
        producer=IDEMPOTENT, server=UNCLEAN, replicas=1
    ),
    "idempotent, no leader epochs": Configuration(producer=IDEMPOTENT, server=NO_EPOCHS),
    "transactions": Configuration(producer=TRANSACTIONAL),
    "transactions, read_uncommitted": Configuration(producer=TRANSACTIONAL, consumer=UNCOMMITTED),
    "transactions, unclean elections": Configuration(producer=TRANSACTIONAL, topic=UNCLEAN),
    "programs with outputs": Configuration(producer=IDEMPOTENT, outputs=True),
    "group, committed by the client": Configuration(producer=IDEMPOTENT, commit="auto"),
    "group, committed by the client, a member died": Configuration(
        producer=IDEMPOTENT, commit="auto", members_died=True
    ),
    "group, committed before processing": Configuration(producer=IDEMPOTENT, commit="before"),
    "group, committed after processing": Configuration(producer=IDEMPOTENT, commit="after"),
    "group, committed after processing, from the end": Configuration(
        producer=IDEMPOTENT, commit="after", consumer=LATEST
    ),
    "group, committed before processing, unclean elections": Configuration(
        producer=IDEMPOTENT, commit="before", topic=UNCLEAN
    ),
    "group, committed after processing, no leader epochs": Configuration(
        producer=IDEMPOTENT, commit="after", server=NO_EPOCHS
    ),
    "transformers, at most once": TRANSFORMERS(commit="before"),
    "transformers, at least once, from the end": TRANSFORMERS(commit="after", consumer=LATEST),
    "transformers, exactly once": TRANSFORMERS(commit="transaction"),
    "transformers, unclean elections": TRANSFORMERS(commit="transaction", topic=UNCLEAN),
    "transformers, read_uncommitted": TRANSFORMERS(commit="transaction", consumer=UNCOMMITTED),
    "KRaft 3.9, idempotent": SAFE_KRAFT(cluster={"kafka": "3.9.2", "metadata": "kraft"}),
    "KRaft 3.7, idempotent, unclean elections, which nobody asks": Configuration(
        producer=IDEMPOTENT, topic=UNCLEAN, cluster={"kafka": "3.7.2", "metadata": "kraft"}
    ),
    "KRaft 4.4, acks=1": Configuration(
        producer=ONE, cluster={"kafka": "4.4.0", "metadata": "kraft"}
    ),
    "KRaft 4.4, idempotent": SAFE_KRAFT(cluster={"kafka": "4.4.0", "metadata": "kraft"}),
    "KRaft 4.4, idempotent, dynamic voters": SAFE_KRAFT(
        cluster={"kafka": "4.4.0", "metadata": "kraft", "voters": "dynamic"}
    ),
    "KRaft 4.4, idempotent, combined": SAFE_KRAFT(
        cluster={"kafka": "4.4.0", "metadata": "kraft-combined"}
    ),
    "KRaft 4.4, idempotent, unclean elections of the controllers": SAFE_KRAFT(
        cluster={"kafka": "4.4.0", "metadata": "kraft"}, controller=UNCLEAN
    ),
    "KRaft 4.4, transactions, combined": Configuration(
        producer=TRANSACTIONAL, cluster={"kafka": "4.4.0", "metadata": "kraft-combined"}
    ),
    "KRaft 4.4, group, committed before processing": Configuration(
        producer=IDEMPOTENT, commit="before", cluster={"kafka": "4.4.0", "metadata": "kraft"}
    ),
}
