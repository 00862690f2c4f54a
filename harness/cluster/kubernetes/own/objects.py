"""The objects of one run in the API server: made from manifests, looked at, and removed again.

Services come first: they give the node ports that the brokers must tell their clients, and so the
settings that the nodes read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.cluster.kubernetes import manifests
from harness.cluster.kubernetes.pod_watch import Pod
from harness.cluster.node_settings import ClusterSettings
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.ownership import LABEL
from harness.waiting import wait_until

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

END_LIMIT_S = 90.0


@dataclass(kw_only=True)
class RunObjects:
    """What a run makes of its manifests, and finds again by its `labels`, which nothing else has.

    `own` says whether the namespace is made for the run, and goes with it; `inside`, whether the
    workers are in the cluster too. `ports` has each node's node port, once they are made.
    """

    api: Api
    nodes: Sequence[Node]
    manifests: Sequence[manifests.Manifest]
    labels: Mapping[str, str]
    own: bool
    inside: bool

    def __post_init__(self) -> None:
        self.ports: dict[str, int] = {}
        self._made = False  # whether there may be anything to remove

    def make(self, settings: ClusterSettings) -> None:
        """Make all of it; returns before its pods are there. Raises ClusterError."""
        made = manifests.of_run(
            self.manifests,
            namespace=self.api.namespace,
            labels=self.labels,
            counts=manifests.counts(self.nodes),
        )
        later = [m for m in made if m["kind"] == "StatefulSet" or _is_settings(m)]
        first = [m for m in made if m not in later and (self.own or m["kind"] != "Namespace")]
        for manifest in sorted(first, key=_namespace_first):
            self.api.create(manifest)
            self._made = True  # not before: a namespace that was there is somebody's
        self.ports = self._node_ports()
        data = manifests.settings(
            self.nodes,
            self.api.namespace,
            settings,
            {} if self.inside else self.ports,
        )
        for manifest in sorted(later, key=lambda m: not _is_settings(m)):
            self.api.create({**manifest, "data": data} if _is_settings(manifest) else manifest)

    def pods(self) -> dict[str, Pod]:
        """Every node's pod now, those left out that are about to go."""
        pods = self.api.pods(self._selector)
        return {
            node.name: pod
            for node in self.nodes
            if (pod := pods.get(manifests.pod_name(node))) and not pod.leaving
        }

    def all_have_addresses(self) -> bool:
        """Whether every node's pod has one. Raises ClusterError where a container never starts."""
        pods = self.pods()
        for name, pod in pods.items():
            if pod.trouble:
                raise ClusterError(f"{name} did not start: {pod.trouble}")
        return len(pods) == len(self.nodes) and all(p.ip and p.host_ip for p in pods.values())

    def remove(self) -> None:
        """Have all of it removed that was made, and wait until it is."""
        if self._made and self.own:
            remove_namespace(self.api)
        elif self._made:
            _remove_labelled(self.api, self._selector)

    @property
    def _selector(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.labels.items())

    def _node_ports(self) -> dict[str, int]:
        ports = self.api.node_ports(self._selector)
        return {
            node.name: ports[manifests.pod_name(node)]
            for node in self.nodes
            if manifests.pod_name(node) in ports
        }


def remove_namespace(api: Api) -> None:
    """Have the namespace removed, what is ours in it first, and wait until it is."""
    api.delete_all(LABEL)
    api.delete_namespace()
    wait_until(
        lambda: api.namespace_labels() is None,
        timeout_s=END_LIMIT_S,
        what=f"namespace {api.namespace} to be gone",
        every_s=0.2,
    )


def _remove_labelled(api: Api, selector: str) -> None:
    """Have what is labelled so removed from a namespace that stays, and wait until it is."""
    api.delete_all(selector)
    wait_until(
        lambda: not api.pods(selector),
        timeout_s=END_LIMIT_S,
        what=f"the pods in {api.namespace} to be gone",
        every_s=0.2,
    )


def _is_settings(manifest: manifests.Manifest) -> bool:
    return bool(
        manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] == manifests.SETTINGS
    )


def _namespace_first(manifest: manifests.Manifest) -> bool:
    return bool(manifest["kind"] != "Namespace")
