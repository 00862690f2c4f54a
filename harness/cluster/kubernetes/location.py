"""Where in Kubernetes a run's cluster is, and whether there is a Kubernetes at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.host.python_packages import install_command
from harness.model.scenario import AttachPart, Scenario
from harness.release import MANIFESTS

CLIENT = "kubernetes>=31,<38"  # as pyproject.toml asks for it


def attaches(scenario: Scenario) -> bool:
    """Whether the run uses a cluster that is there already."""
    return scenario.backend.kubernetes.attach != AttachPart()


def manifests_of(scenario: Scenario) -> Path:
    """The kustomization that a scenario asks for."""
    if named := scenario.backend.kubernetes.manifests:
        return Path(named).expanduser().absolute()
    return MANIFESTS / ("minikube" if scenario.cluster.has_zookeeper else "minikube-kraft")


def namespace_of(run_id: str) -> str:
    """The namespace of a run: RFC 1123 allows small letters, digits and dashes, 63 of them."""
    name = re.sub(r"[^a-z0-9]+", "-", f"kafka-harness-{run_id}".lower()).strip("-")
    return name[-63:].strip("-")


def absent(settings: Mapping[str, Any]) -> str | None:
    """Why Kubernetes is not available. May raise ClusterError with the reason instead."""
    if why := without_client():
        return why
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    Api(configuration(str(settings.get("backend.kubernetes.context", ""))), "default").version()
    return None


def without_client() -> str | None:
    """The sentence that says that the client is missing, if it is."""
    if find_spec("kubernetes") is None:
        return f"the Python package kubernetes is missing: {install_command(CLIENT)}"
    return None
