"""The local backend: a cluster on this machine, in namespaces of the run's own."""

from __future__ import annotations

from pathlib import Path

from harness.cluster.backend import Backend
from harness.cluster.capabilities import (
    Clocks,
    Cluster,
    Companions,
    Disks,
    Dumps,
    Ensemble,
    Links,
    Netem,
    Preparable,
    Processes,
    Restarts,
    Syscalls,
)
from harness.cluster.local import launch_modes
from harness.cluster.local.cluster import LocalCluster
from harness.cluster.local.node_files import private_tmpfs
from harness.cluster.node_settings import server_settings
from harness.cluster.nodes import Node, in_racks
from harness.cluster.ownership import Orphan
from harness.distribution.kafka_home import find_kafka
from harness.host.java import find_java
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario


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


def make(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a run that is inside its namespaces already."""
    wanted = record.scenario.cluster
    home, java = find_kafka(Path(record.kafka_home) if record.kafka_home else None), find_java()
    return LocalCluster(
        nodes=in_racks(local_nodes(wanted.zookeepers, wanted.brokers), wanted.racks),
        home=home,
        java=java,
        scratch=private_tmpfs(),
        logs=folder.logs,
        keep_data_in=folder.path / "data" if record.keep else None,
        server=server_settings(record.scenario),
        zoo=wanted.zoo,
        versions={
            "kafka": home.version,
            "zookeeper": home.zookeeper_version,
            "java": java.version,
        },
    )


def capabilities(_: Scenario) -> frozenset[type]:
    """Everything but pods; what this host lacks is found when a run is prepared there."""
    processes = {Processes, Restarts, Syscalls, Clocks, Preparable, Ensemble}
    return frozenset({*processes, Links, Netem, Companions, Dumps, Disks})


def heal(_: Orphan) -> list[str]:
    """There is never anything to do."""
    return ["nothing to heal: a local cluster ends with its harness"]


LOCAL = Backend(
    make=make, capabilities=capabilities, enclosed=True, heal=heal, exclusive=launch_modes.TRACED
)
