"""The cluster and its one topic."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from harness.model.sections.kafka_releases import (
    DEFAULT,
    SHORTEST_SESSION_MS,
    Metadata,
    default_metadata,
    keeps_elr,
    release_of,
)
from harness.model.sections.part import Listed, Part, Value

_RELEASE: Final = r"^(\d+(\.\d+)+.*)?$"


class ClusterPart(Part):
    """Which Kafka, how many nodes, and their server.properties and zoo.cfg."""

    kafka: Annotated[
        str,
        Field(
            pattern=_RELEASE,
            description="the release, or a line, which means its newest pinned patch; "
            f"by default {DEFAULT}",
            examples=["4.4"],
        ),
    ] = ""
    metadata: Annotated[
        Metadata | None,
        Field(
            description="who keeps the metadata: `zookeeper`, the default below 4.0; `kraft`, "
            "controllers that are nodes of their own, the default from there; `kraft-combined`, "
            "the first brokers",
            examples=["kraft"],
        ),
    ] = None
    controllers: Annotated[
        int, Field(ge=1, le=9, description="how many controllers KRaft has", examples=[5])
    ] = 3
    voters: Annotated[
        Literal["static", "dynamic"],
        Field(
            description="where KRaft's voters are named: in every node's file, or in the quorum's "
            "own log (KIP-853)",
            examples=["dynamic"],
        ),
    ] = "static"
    session_ms: Annotated[
        int | None,
        Field(
            ge=SHORTEST_SESSION_MS,
            description="after how long without a word a broker counts as gone: ZooKeeper's "
            "session, or `broker.session.timeout.ms` with a heartbeat of two ninths of it; by "
            "default 6 s with ZooKeeper, and with KRaft Kafka's own 9 s",
            examples=[2000],
        ),
    ] = None
    features: dict[str, int] = Field(
        default={},
        description="levels of KRaft's features when the cluster is formatted; of the others "
        "the release's own",
        examples=[{"eligible.leader.replicas.version": 1}],
    )

    zookeepers: Annotated[
        int, Field(ge=1, le=9, description="how many ZooKeepers", examples=[1])
    ] = 3
    brokers: Annotated[
        int,
        Field(
            ge=1,
            le=9,
            description="how many brokers; of an existing cluster the fewest that it must have",
            examples=[4],
        ),
    ] = 3
    racks: Annotated[
        int,
        Field(
            ge=0,
            le=9,
            description="how many racks the brokers stand in, in turn (`broker.rack`: kafka1 in "
            "rack1, kafka2 in rack2, …); 0: each in one of its own",
            examples=[3],
        ),
    ] = 0
    disk_mib: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="how large each broker's disk is, of the host's memory (local backend); "
            "0: as large as what the run has",
            examples=[300],
            json_schema_extra={"unit": "MiB"},
        ),
    ] = 0
    server: dict[str, Value] = Field(
        default={},
        description="every broker's and controller's server.properties: Kafka's own keys. "
        "Ids, addresses and directories are the harness's",
        examples=[{"zookeeper.session.timeout.ms": 2000}],
    )
    broker: dict[str, Value] = Field(
        default={},
        description="what brokers alone have of it",
        examples=[{"log.flush.interval.messages": 1}],
    )
    controller: dict[str, Value] = Field(
        default={},
        description="what KRaft's controllers alone have of it",
        examples=[{"min.insync.replicas": 2}],
    )
    zoo: dict[str, Value] = Field(
        default={},
        description="every ZooKeeper's zoo.cfg: its own keys",
        examples=[{"tickTime": 500}],
    )
    allow_keys: Listed = Field(
        default=(),
        description="keys of brokers, ZooKeepers and the topic that pass though this Kafka does "
        "not know them",
        examples=[["my.plugin.key"]],
    )

    @field_validator("kafka", mode="before")
    @classmethod
    def _is_a_release(cls, release: object) -> object:
        if isinstance(release, str) and re.fullmatch(_RELEASE, release):
            return release
        raise ValueError('write a release or a line in quotes, as in "4.3.1" or "4.4"')

    @property
    def release(self) -> str:
        """The release that it runs."""
        return release_of(self.kafka)

    @property
    def of_brokers(self) -> dict[str, Value]:
        """What its brokers have of server.properties."""
        return {**self.server, **self.broker}

    @property
    def kept_by(self) -> Metadata:
        """Who keeps its metadata."""
        return self.metadata or default_metadata(self.release)

    @property
    def has_zookeeper(self) -> bool:
        """Whether ZooKeepers keep its metadata."""
        return self.kept_by == "zookeeper"

    @property
    def has_elr(self) -> bool:
        """Whether its partitions have eligible leader replicas."""
        return not self.has_zookeeper and keeps_elr(self.release, self.features)


class TopicPart(Part):
    """The one topic that is written to and read from."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-zA-Z0-9._-]{1,200}$",
            description="what it is called; on an existing cluster `-<run>` is appended",
            examples=["orders"],
        ),
    ] = "harness"
    partitions: Annotated[
        int, Field(ge=1, le=1000, description="how many partitions", examples=[3])
    ] = 1
    replication_factor: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="how many replicas each has, at most `cluster.brokers`",
            examples=[2],
        ),
    ] = 3
    leader: Annotated[
        str,
        Field(
            description="where the first partition's leader is placed: `any`, `controller`, "
            "`not-controller`, or a broker by its name (`kafka1`)",
            examples=["not-controller"],
        ),
    ] = "any"
    placement: Annotated[
        Literal["ring", "kafka"],
        Field(
            description="who says which brokers have the replicas: `ring`, partition i's replica j "
            "on the (i + j)-th broker from `leader` on; `kafka`, Kafka",
            examples=["kafka"],
        ),
    ] = "ring"
    config: dict[str, Value] = Field(
        default={},
        description="the topic's own configuration: Kafka's keys",
        examples=[{"min.insync.replicas": 2}],
    )
