"""The pods of a cluster that is there: which is whose, and where they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.cluster.kubernetes.attach.rules import numbered, pods_by_node, quorum_of
from harness.cluster.kubernetes.pod_watch import Pod
from harness.cluster.nodes import ClusterError, Node, brokers, role_by_name
from harness.model.scenario import SelectorsPart
from harness.waiting import wait_until

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

ZOOKEEPER_PORT = 2181
READY_LIMIT_S = 60.0


class FoundPods:
    """The pods of nodes, found by `selectors` ("brokers", "zookeepers", "controllers"); `names` has
    the name of each node's pod once they are found."""

    def __init__(self, api: Api, selectors: SelectorsPart) -> None:
        self._api, self._selectors = api, selectors
        self.names: dict[str, str] = {}

    def select(self, kafkas: Sequence[Node], ends: Collection[str]) -> tuple[Node, ...]:
        """The nodes, who keeps the metadata first, at their pods' addresses; all of them are ready.

        `ends` are the words by which faults name other ends of links. Raises ClusterError.
        """
        self.names = pods_by_node(brokers(kafkas), self._api.pods(self._selectors.brokers))
        nodes: tuple[Node, ...] = tuple(kafkas)
        if selector := self._selectors.zookeepers:
            kept = {f"zk{numbered(pod)}": pod for pod in sorted(self._api.pods(selector))}
            nodes = (*(_zookeeper(name, pod) for name, pod in kept.items()), *nodes)
            self.names |= kept
        elif selector := self._selectors.controllers:
            nodes, kept = quorum_of(nodes, self.names, self._api.pods(selector))
            self.names |= kept
        if unknown := sorted(end for end in ends if role_by_name(end) and end not in self.names):
            raise ClusterError(
                f"there is no node {unknown[0]}; the cluster has {', '.join(self.names)}"
            )
        ready = self._all_ready
        wait_until(ready, timeout_s=READY_LIMIT_S, what="every pod to be ready", every_s=0.5)
        pods = self.look()
        return tuple(_located(node, pods[node.name]) for node in nodes)

    def look(self) -> dict[str, Pod]:
        """Every node's pod now, those left out that are about to go."""
        by_name, pods = dict[str, Pod](), self._selectors
        for selector in filter(None, {pods.brokers, pods.zookeepers, pods.controllers}):
            by_name |= self._api.pods(selector)
        return {
            node: by_name[pod]
            for node, pod in self.names.items()
            if pod in by_name and not by_name[pod].leaving
        }

    def check_data_outlive_pods(self) -> None:
        """Raise ClusterError where a broker's or controller's data would go with its pod."""
        for selector in filter(None, (self._selectors.brokers, self._selectors.controllers)):
            for pod in self._api.pods(selector).values():
                if lost := [volume for volume in pod.volatile if volume.startswith("data")]:
                    raise ClusterError(
                        f"deleting pod {pod.name} would delete its node's data: "
                        f"its volume {lost[0]} is an emptyDir"
                    )

    def _all_ready(self) -> bool:
        pods = self.look()
        return pods.keys() == self.names.keys() and all(
            pod.ready and pod.ip and pod.host_ip for pod in pods.values()
        )


def _zookeeper(name: str, pod: str) -> Node:
    return Node(name=name, role="zookeeper", id=numbered(pod), address="", port=ZOOKEEPER_PORT)


def _located(node: Node, pod: Pod) -> Node:
    assert pod.ip
    if node.role == "broker":
        return replace(node, address=pod.ip, dialled=node.dial)
    return replace(node, address=pod.ip, dialled=(pod.ip, node.port))
