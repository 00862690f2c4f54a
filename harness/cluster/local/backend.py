"""The local backend: a cluster on this machine, in namespaces of the run's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.cluster.backend import Backend
from harness.cluster.capabilities import (
    Clocks,
    Cluster,
    Companions,
    Disks,
    Dumps,
    Links,
    Netem,
    Operated,
    Preparable,
    Processes,
    Restarts,
    Syscalls,
)
from harness.cluster.local import launch_modes
from harness.cluster.local.cluster import LocalCluster
from harness.cluster.local.node_files import private_tmpfs
from harness.cluster.node_settings import settings_of
from harness.cluster.nodes import (
    CONTROLLER_IDS,
    CONTROLLER_PORT,
    Node,
    brokers,
    controllers,
    in_racks,
    zookeepers,
)
from harness.cluster.ownership import Orphan
from harness.distribution.kafka_home import KafkaHome, find_kafka
from harness.distribution.storage import Format, Voter, first_voter_disk
from harness.host.java import Java, find_java
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario
from harness.model.sections.cluster import ClusterPart


def local_nodes(zookeeper_count: int, broker_count: int) -> tuple[Node, ...]:
    """The nodes of a local cluster, ZooKeepers first."""
    members = (
        Node(name=f"zk{i}", role="zookeeper", id=i, address=f"10.77.0.{10 + i}", port=2181)
        for i in range(1, zookeeper_count + 1)
    )
    kafkas = (
        Node(name=f"kafka{i}", role="broker", id=i, address=f"10.77.0.{20 + i}", port=9092)
        for i in range(1, broker_count + 1)
    )
    return (*members, *kafkas)


def kraft_nodes(controller_count: int, broker_count: int, *, combined: bool) -> tuple[Node, ...]:
    """The nodes of a local cluster without ZooKeeper: controllers first, or the first brokers are
    the controllers."""
    alone = () if combined else range(1, controller_count + 1)
    of_quorum = (
        Node(
            name=f"controller{i}",
            role="controller",
            id=CONTROLLER_IDS + i,
            address=f"10.77.0.{10 + i}",
            port=CONTROLLER_PORT,
        )
        for i in alone
    )
    kafkas = (
        replace(node, combined=combined and node.id <= controller_count)
        for node in brokers(local_nodes(0, broker_count))
    )
    return (*of_quorum, *kafkas)


def nodes_of(wanted: ClusterPart) -> tuple[Node, ...]:
    """The nodes that a scenario asks for."""
    if wanted.has_zookeeper:
        nodes = local_nodes(wanted.zookeepers, wanted.brokers)
    else:
        combined = wanted.metadata == "kraft-combined"
        nodes = kraft_nodes(wanted.controllers, wanted.brokers, combined=combined)
    return in_racks(nodes, wanted.racks)


def make(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a run that is inside its namespaces already."""
    wanted = record.scenario.cluster
    home, java = home_of(record), find_java()
    nodes, zookeeper = nodes_of(wanted), {}
    if zookeepers(nodes):
        zookeeper["zookeeper"] = home.zookeeper_version or "unknown"
    return LocalCluster(
        nodes=nodes,
        home=home,
        java=java,
        scratch=private_tmpfs(),
        logs=folder.logs,
        keep_data_in=folder.path / "data" if record.keep else None,
        settings=settings_of(record.scenario),
        disk_bytes=wanted.disk_mib * 2**20,
        formatted=storage_of(home, java, wanted),
        versions={"kafka": home.version, **zookeeper, "java": java.version},
    )


def home_of(record: RunRecord) -> KafkaHome:
    """The Kafka of a run's nodes. Raises KafkaHomeError."""
    own = Path(record.kafka_home) if record.kafka_home else None
    return find_kafka(own, record.scenario.cluster.release)


def storage_of(home: KafkaHome, java: Java, wanted: ClusterPart) -> Path | None:
    """KRaft's storage for such a cluster, formatted first where nobody has; None for a cluster with
    ZooKeeper. Raises KafkaHomeError."""
    voters = [Voter(id=n.id, endpoint=n.quorum_endpoint) for n in controllers(nodes_of(wanted))]
    if not voters:
        return None
    dynamic = wanted.voters == "dynamic"
    return first_voter_disk(
        home, java, Format(voters=voters, dynamic=dynamic, features=wanted.features)
    )


def capabilities(_: Scenario) -> frozenset[type]:
    """Everything but pods; what this host lacks is found when a run is prepared there."""
    processes = {Processes, Restarts, Syscalls, Clocks, Preparable}
    return frozenset({*processes, Links, Netem, Companions, Dumps, Disks, Operated})


def heal(_: Orphan) -> list[str]:
    """There is never anything to do."""
    return ["nothing to heal: a local cluster ends with its harness"]


LOCAL = Backend(
    make=make, capabilities=capabilities, enclosed=True, heal=heal, exclusive=launch_modes.TRACED
)
