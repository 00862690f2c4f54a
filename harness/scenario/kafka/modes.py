"""Says which brokers' keys count in one of Kafka's metadata modes only, and with KRaft in the
brokers' file or the controllers' only.

    broker.session.timeout.ms     KRaft's, where controllers end sessions; does nothing with
                                  ZooKeeper
    zookeeper.session.timeout.ms  the other way round

Source: Kafka 3.9's broker configurations; KIP-500, KIP-595, KIP-631, KIP-848, KIP-858, KIP-966.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from harness.config_files.settings import reason_for
from harness.model.client_settings import of_classic_protocol
from harness.model.sections.cluster import ClusterPart
from harness.model.sections.kafka_releases import KRAFTS_SESSION

UNCLEAN, MINIMUM = "unclean.leader.election.enable", "min.insync.replicas"
Mode = Literal["zookeeper", "kraft"]

_NAMES = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}
# A final dot stands for all keys that begin so.
ONLY: dict[Mode, tuple[str, ...]] = {
    "kraft": (
        "broker.heartbeat.interval.ms",
        KRAFTS_SESSION,
        "controller.listener.names",
        "controller.quorum.",
        "group.consumer.",
        "group.coordinator.append.linger.ms",
        "group.coordinator.new.enable",
        "group.coordinator.rebalance.protocols",
        "group.coordinator.threads",
        "group.share.",
        "initial.broker.registration.timeout.ms",
        "log.dir.failure.timeout.ms",
        "metadata.log.",
        "metadata.max.idle.interval.ms",
        "metadata.max.retention.",
        "node.id",
        "process.roles",
        "sasl.mechanism.controller.protocol",
        "server.max.startup.time.ms",
        "share.coordinator.",
    ),
    "zookeeper": (
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "inter.broker.protocol.version",
        "password.encoder.",
        "reserved.broker.max.id",
        "zookeeper.",
    ),
}


def mode_of(cluster: ClusterPart) -> Mode:
    """The mode of a scenario's cluster."""
    return "zookeeper" if cluster.has_zookeeper else "kraft"


def without_effect(key: str, mode: Mode) -> str | None:
    """Why a broker's key does nothing in a cluster of that mode; None where it counts."""
    other: Mode = "kraft" if mode == "zookeeper" else "zookeeper"
    why = f"this cluster uses {_NAMES[mode]}, and the key belongs to {_NAMES[other]}"
    return reason_for(key, dict.fromkeys(ONLY[other], why))


def counts_in(section: str, key: str, cluster: ClusterPart) -> bool:
    """Whether a key counts in that section of [cluster]: controllers that are nodes of their own
    read their own file only."""
    if section == "server" or cluster.kept_by != "kraft":
        return True
    if key in (UNCLEAN, KRAFTS_SESSION) or (key == MINIMUM and cluster.has_elr):
        return section == "controller"
    return key != MINIMUM or section == "broker"


def group_problem(consumer: Mapping[str, Any], mode: Mode) -> str | None:
    """Why no group can form with that consumer in that mode, with the remedy (KIP-848); None if one
    can."""
    if mode == "kraft" or of_classic_protocol(consumer):
        return None
    return (
        "group.protocol=consumer needs brokers with KRaft, and this cluster uses ZooKeeper: add "
        "--set consumer.group.protocol=classic"
    )
