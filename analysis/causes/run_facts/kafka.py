"""Which Kafka a run was made with, as far as its promises depend on that.

    kafka = ""                             3.9.2 with ZooKeeper
    kafka = "4.4.0", metadata = "kraft"    controllers keep the metadata, and remember who is
                                           eligible to lead

What a release has, and where it decides:

- **Eligible leader replicas** (KIP-966): who left an ISR that then was below min.insync.replicas
  has all that is committed, since the high watermark stood still from then on (KAFKA-15583, since
  3.7). With KRaft; in 4.0 where it is asked for (`eligible.leader.replicas.version`), and from 4.1
  on for each fresh format. Where the brokers were asked for their finalized features
  (`features` in run.json), that is what counts.
- **min.insync.replicas** of a topic that sets none: with eligible leaders the active controller's
  own file, whose value becomes the cluster's (KIP-966), else the brokers' files.
- **Unclean elections by configuration**: with ZooKeeper by the brokers' setting; with KRaft by the
  controllers', from 3.9 on (KAFKA-12670). Before, the key does nothing there. Asked for by an
  operator (ElectLeaders, KIP-460), on every release.
- **A session**: how long a broker that is gone may be taken to be there. With KRaft each new active
  controller begins all of them anew (KIP-631), after its own election.
- **Voters**: static ones are known by their ids, so a controller with an empty disk votes; dynamic
  ones by the id of their disk too, so it does not (KIP-853).

An unknown release (an existing cluster, an imported history) is judged as 3.9.2 with ZooKeeper,
unless its features are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.model.sections.image_names import line_in
from harness.model.sections.kafka_releases import (
    DEFAULT,
    ELR,
    KRAFTS_SESSION,
    SESSION_MS,
    UNCLEAN_SINCE,
    ZOOKEEPERS_SESSION,
    default_metadata,
    keeps_elr,
    numbers,
    release_of,
)

METADATA: Final = "metadata.version"  # which KRaft alone has
MIN_ISR: Final = "min.insync.replicas"
_RELEASE: Final = re.compile(r"\d+(\.\d+){1,2}([-.].*)?")
_FETCH, _ELECTION = "controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms"
_QUORUM: Final = {_FETCH: 2_000, _ELECTION: 1_000}  # Kafka's defaults, in ms

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kafka:
    """A release, where it keeps its metadata, and what follows."""

    release: str = DEFAULT
    zookeeper: bool = True
    combined: bool = False  # the first brokers are KRaft's controllers
    dynamic: bool = False  # voters are known by their disks, too
    elr: bool = False  # eligible leaders are remembered
    quorum: frozenset[str] = frozenset()  # the nodes that keep the metadata
    controllers: Row = field(default_factory=dict)  # KRaft's controllers' settings

    @property
    def keeper(self) -> str:
        """What keeps the metadata, as reports call it."""
        return "ZooKeeper" if self.zookeeper else "KRaft"

    @property
    def configures_unclean(self) -> bool:
        """Whether unclean.leader.election.enable does anything."""
        return self.zookeeper or numbers(self.release) >= UNCLEAN_SINCE

    def deciding(self, server: Row) -> Row:
        """The settings of who elects leaders and ends sessions, by those of the brokers: with KRaft
        the controllers do, as far as their settings are told."""
        return server if self.zookeeper else self.controllers or server

    def session_ms(self, server: Row) -> float:
        """How long a broker that is gone may still be taken to be there."""
        key = ZOOKEEPERS_SESSION if self.zookeeper else KRAFTS_SESSION
        return float(self.deciding(server).get(key, SESSION_MS[key]))

    def new_controller_ms(self) -> float:
        """How long KRaft may be without an active controller while enough of them run."""
        if self.zookeeper:
            return 0.0
        return sum(float(self.controllers.get(key, ms)) for key, ms in _QUORUM.items())

    def min_isr(self, server: Row, topic: Row) -> int:
        """min.insync.replicas of a topic."""
        default = (self.deciding(server) if self.elr else server).get(MIN_ISR, 1)
        return int(str(topic.get(MIN_ISR, default)))

    def eligible_below(self, server: Row, topic: Row, changed: Iterable[Row] = ()) -> int:
        """Below how many members of an ISR others may be eligible to lead: of a topic with its
        replication factor, and the settings of its that faults changed; 0: there never are any."""
        if not self.elr:
            return 0
        most = [self.min_isr(server, {**topic["config"], **change}) for change in ({}, *changed)]
        return min(int(topic["replication_factor"]), max(most))


def kafka_of(record: Row) -> Kafka:
    """The Kafka of a run, by its run.json."""
    cluster: Row = (record.get("scenario") or {}).get("cluster") or {}
    nodes: Mapping[str, Row] = record.get("nodes") or {}
    features: Mapping[str, int] = record.get("features") or {}
    release = _release(record, cluster)
    metadata = cluster.get("metadata") or _metadata(release, cluster, nodes, features)
    beside_zookeeper = metadata == "zookeeper"
    settings: Row = record.get("node_settings") or {}
    if features:
        elr = int(features.get(ELR, 0)) > 0
    else:
        elr = not beside_zookeeper and keeps_elr(release, cluster.get("features") or {})
    return Kafka(
        release=release,
        zookeeper=beside_zookeeper,
        combined=metadata == "kraft-combined",
        dynamic=not beside_zookeeper and cluster.get("voters") == "dynamic",
        elr=elr,
        quorum=_quorum(nodes, cluster, combined=metadata == "kraft-combined"),
        controllers=settings.get("controller") or {},
    )


def kraft_of(record: Row) -> dict[str, Any]:
    """What report.json has of a KRaft run: the quorum, and the controllers' settings; empty with
    ZooKeeper."""
    kafka = kafka_of(record)
    if kafka.zookeeper:
        return {}
    kraft = {
        "metadata": "kraft-combined" if kafka.combined else "kraft",
        "voters": "dynamic" if kafka.dynamic else "static",
        "eligible_leaders": kafka.elr,
        "configures_unclean": kafka.configures_unclean,
        "features": dict(record.get("features") or {}),
    }
    return {"controller": dict(kafka.controllers), "kraft": kraft}


def _release(record: Row, cluster: Row) -> str:
    """The release that ran, if its version is a number (a user's folder may hold any), else the one
    of the scenario, else the one in its image's name."""
    ran = str((record.get("versions") or {}).get("kafka") or "")
    if _RELEASE.fullmatch(ran):
        return ran
    return release_of(str(cluster.get("kafka") or line_in(ran) or ""))


def _metadata(release: str, cluster: Row, nodes: Mapping[str, Row], features: Row) -> str:
    """The metadata mode of a scenario that does not say it: by its nodes, else the default."""
    if any(node.get("role") == "controller" for node in nodes.values()) or METADATA in features:
        return "kraft"
    return default_metadata(release if cluster.get("kafka") else DEFAULT)


def _quorum(nodes: Mapping[str, Row], cluster: Row, *, combined: bool) -> frozenset[str]:
    if combined:
        brokers = {name: node for name, node in nodes.items() if node.get("role") == "broker"}
        in_order = sorted(brokers, key=lambda name: int(brokers[name].get("id") or 0))
        return frozenset(in_order[: int(cluster.get("controllers", 3))])
    return keepers(nodes)


def keepers(nodes: Mapping[str, Row]) -> frozenset[str]:
    """The nodes that keep the metadata and nothing else: ZooKeepers, or controllers."""
    roles = ("zookeeper", "controller")
    return frozenset(name for name, node in nodes.items() if node.get("role") in roles)
