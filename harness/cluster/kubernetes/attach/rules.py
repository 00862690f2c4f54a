"""What a run in somebody's pods may be asked for, and whose pod is whose; pure.

The number at the end of a pod's name is its broker's id, as in StatefulSets and Strimzi's node
pools. See harness.cluster.kubernetes.attach.cluster for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from harness.cluster.capabilities import (
    Foreign,
    Links,
    Pods,
    Preparable,
    Processes,
    Restarts,
    Secured,
)
from harness.cluster.external.backend import there_already
from harness.cluster.external.cluster import faults_of
from harness.cluster.nodes import CONTROLLER_PORT, ClusterError, Node
from harness.model.scenario import FaultPart, Scenario

WHERE = "backend.kubernetes.attach"


# Nodes and pods


def numbered(pod: str) -> int:
    """The number at the end of a pod's name. Raises ClusterError."""
    if not (match := re.search(r"-(\d+)$", pod)):
        raise ClusterError(
            f"pod {pod} has no number at its end, by which its node is known: "
            f"narrow {WHERE}.selectors"
        )
    return int(match[1])


def pods_by_node(nodes: Sequence[Node], pods: Collection[str]) -> dict[str, str]:
    """The name of each broker's pod, by the broker's. Raises ClusterError."""
    by_id: dict[int, list[str]] = {}
    for pod in sorted(pods):
        by_id.setdefault(numbered(pod), []).append(pod)
    where = f"{WHERE}.selectors.brokers"
    for node in nodes:
        if node.id not in by_id:
            raise ClusterError(
                f"no pod of {where} is that of {node.name}: the pods are "
                f"{', '.join(sorted(pods)) or 'none'}"
            )
    for number, same in by_id.items():
        if number not in {node.id for node in nodes}:
            raise ClusterError(
                f"pod {same[0]} is not a broker of this cluster: narrow "
                f"{where}, or wait until it has joined"
            )
        if len(same) > 1:
            raise ClusterError(f"pods {' and '.join(same)} have the same number: narrow {where}")
    return {node.name: by_id[node.id][0] for node in nodes}


def quorum_of(
    nodes: Sequence[Node], names: Mapping[str, str], pods: Collection[str]
) -> tuple[tuple[Node, ...], dict[str, str]]:
    """KRaft's controllers, whose pods are these, and then the brokers, `names` of whose pods are
    known: who is both is a combined broker. With the names of the controllers' pods. Raises
    ClusterError."""
    of_brokers = {pod: broker for broker, pod in names.items()}
    both = {of_brokers[pod] for pod in pods if pod in of_brokers}
    alone = {f"controller{numbered(pod)}": pod for pod in sorted(pods) if pod not in of_brokers}
    if len(alone) + len(both) < len(pods):
        raise ClusterError(
            f"two pods of {WHERE}.selectors.controllers have the same number: narrow it"
        )
    controllers = (
        Node(name=name, role="controller", id=numbered(pod), address="", port=CONTROLLER_PORT)
        for name, pod in alone.items()
    )
    brokers = (replace(node, combined=True) if node.name in both else node for node in nodes)
    return (*controllers, *brokers), alone


# What can be asked for


def capabilities(scenario: Scenario) -> frozenset[type]:
    """What our containers in the pods can do, if there is an image to make them of."""
    by_containers = {Links, Processes} if scenario.backend.kubernetes.attach.image else set()
    return frozenset({Secured, Foreign, Pods, Preparable, *by_containers})


def because(scenario: Scenario, capability: type) -> str:
    """Why such a cluster lacks a capability, where there is more to say."""
    if capability in (Links, Processes) and not scenario.backend.kubernetes.attach.image:
        return f" without {WHERE}.image, an image with sh, iptables, ip, ss, tc and python3"
    whose = " in pods that are not the harness's own"
    if capability is Restarts:
        return f"{whose}, where the kubelet restarts a stopped container at once"
    return whose


def refuses(scenario: Scenario) -> str | None:
    """Why a scenario cannot be run there, before anything starts."""
    part = scenario.backend.kubernetes.attach
    return next(chain(_problems(scenario), there_already(scenario, part, WHERE)), None)


def _problems(scenario: Scenario) -> Iterator[str]:
    wanted = scenario.backend.kubernetes
    if not wanted.attach.namespace:
        yield f"{WHERE}.namespace: name the namespace of the cluster"
    if wanted.namespace:
        yield (
            "backend.kubernetes.namespace is for clusters that the harness makes: "
            f"use {WHERE}.namespace"
        )
    if not wanted.attach.selectors.brokers:
        yield f"{WHERE}.selectors.brokers: give the labels of the brokers' pods"
    pods, named = wanted.attach.selectors, set[str]().union(*map(_from, faults_of(scenario)))
    if pods.zookeepers and pods.controllers:
        yield (
            f"{WHERE}.selectors has ZooKeepers and controllers, of which a cluster has one kind: "
            "remove the other"
        )
    if "zookeepers" in named and not pods.zookeepers:
        yield f'from = "zookeepers": give the labels of their pods in {WHERE}.selectors.zookeepers'
    if "quorum" in named and not (pods.zookeepers or pods.controllers):
        yield (
            f'from = "quorum": give the labels of its pods in {WHERE}.selectors.controllers or '
            f"{WHERE}.selectors.zookeepers"
        )


def _from(fault: FaultPart) -> set[str]:
    return {word.strip() for word in str(fault.options.get("from", "")).split(",")}
