"""The backends: name -> what it is. Adding a backend is one folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.cluster.backend import Backend
from harness.cluster.capabilities import Cluster, Foreign, client_settings
from harness.cluster.docker.backend import DOCKER
from harness.cluster.external.backend import EXTERNAL
from harness.cluster.kubernetes.backend import KUBERNETES
from harness.cluster.local.backend import LOCAL
from harness.cluster.nodes import ClusterError, zookeepers
from harness.cluster.view.state import ClusterView
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord

BACKENDS: dict[str, Backend] = {
    "local": LOCAL,
    "docker": DOCKER,
    "kubernetes": KUBERNETES,
    "external": EXTERNAL,
}


def build(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a prepared run, not yet started."""
    return BACKENDS[record.backend].make(folder, record)


def view_of(cluster: Cluster, topic: str, partitions: int) -> ClusterView:
    """ZooKeeper's view where the ensemble is ours to ask, else what the cluster's brokers say."""
    if zookeepers(cluster.nodes) and not isinstance(cluster, Foreign):
        return ZooKeeperView(cluster.nodes, topic, partitions)
    # Takes a tenth of a second to import, and few runs need it.
    from harness.cluster.view.brokers import AskedView  # noqa: PLC0415

    return AskedView(cluster.nodes, topic, partitions, client_settings(cluster))


def absent(backend: str, settings: Mapping[str, Any]) -> str | None:
    """Why a backend is not available here, if it is not: asked before a campaign or a benchmark,
    where one whose engine does not answer would fail run after run."""
    if backend not in BACKENDS:
        return "there is no such backend"
    try:
        return BACKENDS[backend].absent(settings)
    except ClusterError as error:
        return str(error)
