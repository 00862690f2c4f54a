"""The containers of one run in pods that are not ours: which kinds of them, in which pods."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.cluster.capabilities import Links, Processes, Requirements
from harness.cluster.kubernetes.attach import ephemeral_containers
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.pod_watch import Pod
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.sidecar import heartbeat

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

# The kind of container by which such a cluster is capable of something.
KINDS: Mapping[type, str] = {Links: LINKS, Processes: PROCESS}


def kinds_for(requirements: Requirements) -> frozenset[str]:
    """The kinds of containers that a plan's faults need in the pods."""
    return frozenset(kind for need, kind in KINDS.items() if need in requirements.capabilities)


def runs_kafka(node: Node) -> bool:
    """Whether faults may have to do with its process; ZooKeepers are other ends of links only."""
    return node.role in ("broker", "controller")


@dataclass(frozen=True, kw_only=True)
class RunContainers:
    """Puts a run's containers into pods. They end after `limit_s` in any case; `container` is the
    node's own in a pod of Kafka's, empty for the pod's first."""

    api: Api
    run_id: str
    image: str
    container: str
    limit_s: float

    @property
    def prefix(self) -> str:
        """With what their names begin; the kind follows."""
        return ephemeral_containers.of_run(self.run_id)

    def put_into(self, pods: Collection[tuple[Node, Pod]], kinds: Collection[str]) -> None:
        """Have those of these kinds run that each node needs. Raises ClusterError."""
        ephemeral_containers.put_into(
            self.api, {pod.name: self._manifests(node, pod, kinds) for node, pod in pods}
        )

    def end(self) -> None:
        """Have them end, and wait until they have. Raises ClusterError."""
        ephemeral_containers.end(self.api, self.prefix)

    def _manifests(self, node: Node, pod: Pod, kinds: Collection[str]) -> list[Mapping[str, Any]]:
        if self.container and self.container not in pod.containers and runs_kafka(node):
            raise ClusterError(
                f"pod {pod.name} has no container {self.container}, only "
                f"{', '.join(pod.containers)}"
            )
        command = heartbeat.command("stay", f"{self.limit_s:.0f}")
        targets = {LINKS: None, PROCESS: self.container or pod.containers[0]}
        return [
            ephemeral_containers.manifest(
                f"{self.prefix}{kind}", self.image, command, targets[kind]
            )
            for kind in sorted(kinds)
            if kind == LINKS or runs_kafka(node)
        ]
