"""A backend: how its cluster is made, and its properties that are known before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.cluster.capabilities import Cluster
from harness.cluster.nodes import Role
from harness.cluster.ownership import Orphan
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario

EVERY_NODE: frozenset[Role] = frozenset({"broker", "zookeeper", "controller", "client"})


def never(_: object) -> str | None:
    """Of a backend that refuses nothing, or is always available."""
    return None


def every_node(_: Scenario) -> frozenset[Role]:
    """Of a backend whose every node, and every worker, can be hit."""
    return EVERY_NODE


def no_containers(_: RunRecord) -> list[str]:
    """Of a backend without containers."""
    return []


def nothing_to_add(_: Scenario, __: type) -> str:
    """Of a backend whose cluster lacks a capability in any scenario."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """How to make a cluster, and the cluster's capabilities.

    An `enclosed` cluster ends with the private namespaces of its run. Any other may outlive its
    harness: `heal` then undoes what is left in force, by names and labels, and returns sentences.
    """

    make: Callable[[RunFolder, RunRecord], Cluster]
    capabilities: Callable[[Scenario], frozenset[type]]  # of harness.cluster.capabilities
    enclosed: bool
    heal: Callable[[Orphan], list[str]]
    hits: Callable[[Scenario], frozenset[Role]] = every_node  # whom faults may hit there
    because: Callable[[Scenario, type], str] = nothing_to_add  # after "which X does not have"
    refuses: Callable[[Scenario], str | None] = never  # why a scenario cannot be run there at all
    # Ways to start nodes for faults (`Verb.prepares`) of which a cluster can have one only.
    exclusive: frozenset[str] = frozenset()
    # Why there is no such backend here, from settings alone (`backend.X.KEY`).
    absent: Callable[[Mapping[str, Any]], str | None] = never
    # The image of its brokers, whose name tells their Kafka; empty where nobody knows it.
    # None: this host's jars. May raise ClusterError.
    image: Callable[[Scenario], str] | None = None
    # What the control groups of a run's containers have in their names, on the nodes' machines.
    containers: Callable[[RunRecord], list[str]] = no_containers
