"""The KRaft clusters that containers and pods cannot run, and this machine can.

There each node formats its own disk, by a start script that names the voters as the file does, and
compose file and manifests have controllers of their own.
"""

from __future__ import annotations

from harness.model.sections.cluster import ClusterPart

INSTEAD = "or use the backend local"


def not_in_containers(cluster: ClusterPart) -> str | None:
    """Why the cluster cannot run in containers, with the remedy; None where it can."""
    if cluster.kept_by == "kraft-combined":
        return (
            'cluster.metadata = "kraft-combined": the nodes of this backend are brokers or '
            f'controllers, not both: set it to "kraft", {INSTEAD}'
        )
    if not cluster.has_zookeeper and cluster.voters == "dynamic":
        return (
            'cluster.voters = "dynamic": the nodes of this backend format their disks for voters '
            f'that their files name: set it to "static", {INSTEAD}'
        )
    return None
