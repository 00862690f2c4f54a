"""The backends by name. A new backend is one folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.cluster.backend import Backend
from harness.cluster.capabilities import Cluster, Disks, Foreign, client_settings
from harness.cluster.docker.backend import DOCKER
from harness.cluster.external.backend import EXTERNAL
from harness.cluster.kubernetes.backend import KUBERNETES
from harness.cluster.local.backend import LOCAL
from harness.cluster.nodes import ClusterError, controllers, zookeepers
from harness.cluster.view.state import ClusterView
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario

BACKENDS: dict[str, Backend] = {
    "local": LOCAL,
    "docker": DOCKER,
    "kubernetes": KUBERNETES,
    "external": EXTERNAL,
}


def build(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a prepared run, not yet started."""
    return BACKENDS[record.backend].make(folder, record)


def view_of(cluster: Cluster, scenario: Scenario) -> ClusterView:
    """ZooKeeper's view where the ensemble is ours to ask; that of the metadata log where the
    controllers' disks can be read; else what the cluster's brokers say."""
    topic, partitions = scenario.topic.name, scenario.topic.partitions
    if zookeepers(cluster.nodes) and not isinstance(cluster, Foreign):
        return ZooKeeperView(cluster.nodes, topic, partitions)
    # They take a tenth of a second to import, and few runs need them.
    of_quorum = controllers(cluster.nodes)
    if of_quorum and isinstance(cluster, Disks):
        from harness.cluster.view.metadata_log.disk import TOPIC_FOLDER  # noqa: PLC0415
        from harness.cluster.view.metadata_log.view import MetadataLogView  # noqa: PLC0415

        folders = {n.name: cluster.data_folder(n) / TOPIC_FOLDER for n in of_quorum}
        static = None if scenario.cluster.voters == "dynamic" else list(folders)
        return MetadataLogView(cluster.nodes, topic, partitions, folders, static)
    from harness.cluster.view.brokers import AskedView  # noqa: PLC0415

    return AskedView(
        cluster.nodes,
        topic,
        partitions,
        client_settings(cluster),
        # Controllers that are not ours accept only the nodes of their cluster.
        of_quorum=() if isinstance(cluster, Foreign) else of_quorum,
        now=lambda: cluster.nodes,
    )


def absent(backend: str, settings: Mapping[str, Any]) -> str | None:
    """Why a backend is not available here, if it is not: checked before a campaign or a benchmark,
    where otherwise run after run would fail."""
    if backend not in BACKENDS:
        return "there is no such backend"
    try:
        return BACKENDS[backend].absent(settings)
    except ClusterError as error:
        return str(error)
