"""What a run in somebody's pods may be asked for, and whose pod is whose; pure.

The number at the end of a pod's name is its broker's id, as in StatefulSets and Strimzi's node
pools. See harness.cluster.kubernetes.attach.backend for the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from harness.cluster.external import backend as external
from harness.cluster.external.backend import faults_of
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.nodes import ClusterError, Node

WHERE = "backend.kubernetes.attach"
# The verbs that can be done there, with the kind of container that each needs in every pod.
HANDS: Mapping[str, str | None] = {
    "cut": LINKS,
    "lose": LINKS,
    "cut-answers": LINKS,
    "throttle": LINKS,
    "pause": PROCESS,
    "delete-pod": None,
    "delete-pod-now": None,
    "command": None,
}
_WORKERS = ("producer", "consumer", "group-consumer")


# Who is who


def numbered(pod: str) -> int:
    """The number at the end of a pod's name. Raises ClusterError."""
    if not (match := re.search(r"-(\d+)$", pod)):
        raise ClusterError(
            f"pod {pod} has no number at its end, by which its node is known: "
            f"narrow {WHERE}.selectors"
        )
    return int(match[1])


def placed(nodes: Sequence[Node], pods: Collection[str]) -> dict[str, str]:
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
                f"pod {same[0]} is no broker that the cluster knows of: narrow "
                f"{where}, or wait until it has joined"
            )
        if len(same) > 1:
            raise ClusterError(f"pods {' and '.join(same)} have one number: narrow {where}")
    return {node.name: by_id[node.id][0] for node in nodes}


def is_node(word: str) -> bool:
    """Whether a fault's option names a node by it, not a group of them."""
    return re.fullmatch(r"(kafka|zk)\d+", word) is not None


def ends_of(listing: str) -> Counter[tuple[str, int]]:
    """How many connections there are by the other end's address and the own port (ss -tnH)."""
    own, other = r"\S*[\d.a-f]\]?:(\d+)", r"\[?(?:::ffff:)?([\d.]+|[\da-f:]+)\]?:\d+"
    found = re.findall(rf"{own}\s+{other}\s*$", listing, re.MULTILINE)
    return Counter((address, int(port)) for port, address in found)


# What can be asked for


def refuses(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario cannot be run there, before anything starts."""
    part = scenario["backend"]["kubernetes"]["attach"]
    already = external.there_already(scenario, part, WHERE)
    return next(chain(_problems(scenario, part), already), None)


def _problems(scenario: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[str]:
    if not part["namespace"]:
        yield f"{WHERE}.namespace: say where it is"
    if scenario["backend"]["kubernetes"]["namespace"]:
        yield f"backend.kubernetes.namespace is for a cluster of the harness's own: {WHERE} has one"
    if not part["selectors"]["brokers"]:
        yield f"{WHERE}.selectors.brokers: say by which labels the brokers' pods are known"
    for fault in faults_of(scenario):
        verb, target = fault["verb"], fault["target"]
        if target.startswith(_WORKERS):
            continue
        if verb in ("kill", "stop", "roll", "crash-loop"):
            yield (
                f"{verb} cannot be done to pods that are not the harness's own, whose kubelet "
                "begins an ended container again at once: take delete-pod-now"
            )
        if verb not in HANDS:
            yield (
                f"{verb} cannot be done to pods that are not the harness's own: only "
                f"{', '.join(HANDS)} can"
            )
        elif HANDS[verb] and not part["image"]:
            yield f"{WHERE}.image: {verb} needs one, with sh, iptables, ip, ss, tc and python3"
        if target.startswith("zk"):
            yield f"{target}: ZooKeepers are known there as other ends of cuts only"
        if not part["selectors"]["zookeepers"] and {"zookeepers"} & set(_from(fault)):
            yield f'from = "zookeepers": say which they are by {WHERE}.selectors.zookeepers'


def _from(fault: Mapping[str, Any]) -> list[str]:
    return [word.strip() for word in str(fault["options"].get("from", "")).split(",")]


def hands_for(plan: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The kinds of containers that a plan's faults need in the pods."""
    hit = (step for step in plan if not step["target"].startswith(_WORKERS))
    return frozenset(hand for step in hit if (hand := HANDS.get(step["verb"])))


def named(plan: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The words by which a plan's faults name other ends: groups (`clients`, …) and nodes."""
    answers = {"clients"} if any(step["verb"] == "cut-answers" for step in plan) else set()
    return frozenset(answers.union(*map(_from, plan)) - {""})
