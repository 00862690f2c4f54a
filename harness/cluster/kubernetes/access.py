"""The way to a run's cluster, and to one whose harness is gone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.checkout import MANIFESTS
from harness.cluster.exec import sidecar as holders
from harness.cluster.external import backend as external
from harness.cluster.kubernetes.attach import ephemeral_containers, rules
from harness.cluster.kubernetes.backend import remove
from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import LABEL, Orphan, guard

if TYPE_CHECKING:
    from harness.cluster.kubernetes.api import Api


def refuses(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario cannot be run there."""
    if why := without_client():
        return why
    if attaches(scenario):
        return rules.refuses(scenario)
    source = manifests_of(scenario)
    if not source.exists():
        return f"backend.kubernetes.manifests: there is no {source}"
    return None


def absent(settings: Mapping[str, Any]) -> str | None:
    """Why there is no Kubernetes to be had. Raises ClusterError with the same."""
    if why := without_client():
        return why
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    Api(configuration(str(settings.get("backend.kubernetes.context", ""))), "default").version()
    return None


def attaches(scenario: Mapping[str, Any]) -> bool:
    """Whether its cluster is there already: anything said of one means that."""
    part = scenario["backend"]["kubernetes"]["attach"]
    return any((*(part[key] for key in part if key != "selectors"), *part["selectors"].values()))


def without_client() -> str | None:
    """The sentence that says that the client is missing, if it is."""
    if find_spec("kubernetes") is None:
        return "the Python package kubernetes is missing: pip install 'kafka-harness[kubernetes]'"
    return None


def manifests_of(scenario: Mapping[str, Any]) -> Path:
    """The kustomization that a scenario asks for."""
    named = scenario["backend"]["kubernetes"]["manifests"]
    return Path(named).expanduser().absolute() if named else MANIFESTS / "minikube"


def namespace_of(run_id: str) -> str:
    """The namespace of a run: RFC 1123 allows small letters, digits and dashes, 63 of them."""
    name = re.sub(r"[^a-z0-9]+", "-", f"kafka-harness-{run_id}".lower()).strip("-")
    return name[-63:].strip("-")


def heal(orphan: Orphan) -> list[str]:
    """Undo in every pod what was left in force, and start what was held down."""
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    name = orphan.name or orphan.cluster.get("namespace")
    if not name:
        return ["nothing to heal: the run had not come to its namespace"]
    api = Api(configuration(str(orphan.cluster.get("context") or "")), name)
    labels = api.namespace_labels()
    if labels is None:
        return [f"nothing to heal: there is no namespace {name}"]
    if orphan.record and attaches(orphan.record["scenario"]):
        return _heal_attached(orphan, api)
    if LABEL not in labels and any(ephemeral_containers.ours(api.pods(""))):
        return _heal_guests(api)
    guard(name, ours=LABEL in labels, named=None, allowed=())
    said = [line for pod in sorted(api.pods(LABEL)) for line in heal_pod(api, pod)]
    for machine in api.cordoned_by_us():
        api.uncordon(machine)
        said.append(f"machine {machine}: was cordoned: takes pods again")
    if orphan.down and labels[LABEL] != name:
        raise ClusterError(
            f"namespace {name} was not made by a run, so it stays: remove by hand "
            "what you no longer want in it"
        )
    if orphan.down:
        remove(api)
        return [*said, f"namespace {name} is removed"]
    return [
        *said,
        f"namespace {name} stays: `kafka-harness heal --backend kubernetes --cluster "
        f"{name} --down` removes it",
    ]


def _heal_attached(orphan: Orphan, api: Api) -> list[str]:
    """What a run has left in a cluster that it did not make; with `down` its topic goes too."""
    part = orphan.record["scenario"]["backend"]["kubernetes"]["attach"]
    said = _heal_guests(api, ephemeral_containers.of_run(orphan.record["run_id"]))
    return [*said, *external.heal_topic(orphan, part)]


def _heal_guests(api: Api, prefix: str = ephemeral_containers.PREFIX) -> list[str]:
    """Heal what is left in somebody's pods. The namespace stays in any case."""
    return ephemeral_containers.heal(api, prefix) or [
        f"nothing is left in force in the pods of {api.namespace}"
    ]


def heal_pod(api: Api, pod: str) -> list[str]:
    """What was done in one pod. Raises ClusterError while a harness is at work there."""
    try:
        said = api.run_in(pod, "holder", holders.command("undo")).splitlines()
        start = "cd /run/kafka-harness && [ -e held ] && rm held && echo was held down: started"
        said += api.run_in(pod, "holder", ["sh", "-c", f"{start} || :"]).splitlines()
    except ClusterError as error:
        raise ClusterError(f"{pod} could not be healed: {error}") from None
    return [f"{pod}: {line}" for line in said]
