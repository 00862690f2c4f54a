"""Heals what a killed harness left in Kubernetes: by the sidecars; machines are uncordoned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.cluster.external.cluster import heal_topic
from harness.cluster.kubernetes.attach import ephemeral_containers
from harness.cluster.kubernetes.location import attaches, namespace_of
from harness.cluster.kubernetes.own.machines import CordonedMachines
from harness.cluster.kubernetes.own.objects import remove_namespace
from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import LABEL, Orphan, check_own, guard
from harness.cluster.sidecar import heartbeat

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api


def heal(orphan: Orphan) -> list[str]:
    """Heal every pod in which a fault is in force, and start what was kept stopped."""
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    name = orphan.name or orphan.cluster.namespace
    if not name:
        return ["nothing to heal: the run ended before it made its namespace"]
    run_id = orphan.run_id
    attached = orphan.record is not None and attaches(orphan.record.scenario)
    own = run_id is None or attached or _is_own(orphan, name, run_id)
    remedy = f"if it is to be healed, name it: `heal --backend kubernetes --cluster {name}`"
    check_own(f"namespace {name}", own=own, remedy=remedy)
    api = Api(configuration(orphan.cluster.context or ""), name)
    labels = api.namespace_labels()
    if labels is None:
        return [f"nothing to heal: there is no namespace {name}"]
    if attached:
        return _heal_attached(orphan, api)
    if run_id is None and LABEL not in labels and any(ephemeral_containers.ours(api.pods(""))):
        return _heal_ephemeral(api)
    guard(name, ours=LABEL in labels, named=None, allowed=())
    marked = LABEL if run_id is None else f"{LABEL}={namespace_of(run_id)}"
    pods, machines = sorted(api.pods(marked)), CordonedMachines(api)
    done = [line for pod in pods for line in heal_pod(api, pod)]
    its_own = run_id is None or name == namespace_of(run_id)
    for machine in machines.ours() if its_own or pods else ():
        machines.uncordon(machine)
        done.append(f"Kubernetes node {machine}: uncordoned")
    if orphan.down and (labels[LABEL] != name or not its_own):
        raise ClusterError(
            f"namespace {name} was not created by a run and is kept: delete what you no longer "
            "need in it"
        )
    if orphan.down:
        remove_namespace(api)
        return [*done, f"namespace {name} is removed"]
    return [
        *done,
        f"namespace {name} stays: `kafka-harness heal --backend kubernetes --cluster "
        f"{name} --down` removes it",
    ]


def _is_own(orphan: Orphan, name: str, run_id: str) -> bool:
    """Whether the namespace is named after the run, or the one that its scenario names, where only
    pods with the run's label are touched."""
    assert orphan.record is not None
    return name in (namespace_of(run_id), orphan.record.scenario.backend.kubernetes.namespace)


def _heal_attached(orphan: Orphan, api: Api) -> list[str]:
    """What a run has left in a cluster that it did not make; with `down` its topic goes too."""
    assert orphan.record is not None
    done = _heal_ephemeral(api, ephemeral_containers.of_run(orphan.run_id or ""))
    return [*done, *heal_topic(orphan, orphan.record.scenario.backend.kubernetes.attach)]


def _heal_ephemeral(api: Api, prefix: str = ephemeral_containers.PREFIX) -> list[str]:
    """Heal what is left in somebody's pods. The namespace stays in any case."""
    return ephemeral_containers.heal(api, prefix) or [
        f"nothing to heal: no fault is in force in the pods of {api.namespace}"
    ]


def heal_pod(api: Api, pod: str) -> list[str]:
    """What was done in one pod. Raises ClusterError while a harness is at work there."""
    try:
        done = api.run_in(pod, "holder", heartbeat.command("undo")).splitlines()
        start = "cd /run/kafka-harness && [ -e held ] && rm held && echo had been stopped: started"
        done += api.run_in(pod, "holder", ["sh", "-c", f"{start} || :"]).splitlines()
    except ClusterError as error:
        raise ClusterError(f"{pod} could not be healed: {error}") from None
    return [f"{pod}: {line}" for line in done]
