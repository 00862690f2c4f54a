"""delete-pod, delete-pod-now, drain: the node's pod is removed, and Kubernetes makes another.

    delete-pod        graceful: SIGTERM, the time that the manifest gives (30 s), then SIGKILL
    delete-pod-now    `--force --grace-period=0`: the cluster forgets the pod at once. The kubelet
                      still sends SIGTERM first and SIGKILL some 2 s later: a crash is `kill`
    drain             the Kubernetes node of the pod is cordoned and the pod evicted, in order and
                      as PodDisruptionBudgets allow, like `kubectl drain` for this one pod

The StatefulSet makes a pod of the same name, with the same volume and another address, as soon as
the old one is gone. `delete-pod` does not keep it down for the fault's time. After `drain` the new
pod starts on another Kubernetes node where its volume can be attached; where there is none, it
stays down until the Kubernetes node is uncordoned. A fault is in force when the pod of that uid is
gone, and is healed when the node serves from a pod of another uid.
"""

from __future__ import annotations

from typing import cast

from harness.cluster.capabilities import Machines, Pods, Preparable
from harness.cluster.nodes import ClusterError
from harness.nemesis.faults.processes.signals import RESTARTED, remember, takes_part
from harness.nemesis.verb import Injection, Verb
from harness.waiting import wait_until

BUDGET_LIMIT_S = 30.0


def _delete(injection: Injection) -> None:
    _begin(injection, force=False)


def _delete_now(injection: Injection) -> None:
    _begin(injection, force=True)


def _begin(injection: Injection, *, force: bool) -> None:
    remember(injection, injection.node)
    pods = cast(Pods, injection.cluster)
    injection.memo["uid"] = pods.pod(injection.node)
    pods.delete_pod(injection.node, force=force)


def _drain(injection: Injection) -> None:
    machines, node = cast(Machines, injection.cluster), injection.node
    machine = injection.memo["machine"] = machines.machine(node)
    if machine is None:
        raise ClusterError(f"the pod of {node.name} is not scheduled on any Kubernetes node")
    remember(injection, node)
    injection.memo["uid"] = cast(Pods, injection.cluster).pod(node)
    machines.cordon(machine)
    wait_until(
        lambda: machines.evict(node),
        timeout_s=BUDGET_LIMIT_S,
        every_s=0.5,
        what=f"a PodDisruptionBudget to allow the eviction of {node.name}",
    )


def _drained(injection: Injection) -> str | None:
    machine = injection.memo["machine"]
    gone = _gone(injection)
    if gone is None or not cast(Machines, injection.cluster).cordoned(machine):
        return None
    return f"{gone}, and Kubernetes node {machine} is cordoned"


def _use_again(injection: Injection) -> None:
    if machine := injection.memo.get("machine"):
        cast(Machines, injection.cluster).uncordon(machine)


def _gone(injection: Injection) -> str | None:
    uid = injection.memo["uid"]
    now = cast(Pods, injection.cluster).pod(injection.node)
    return None if now == uid else f"pod {uid} of {injection.node.name} is gone"


def _await_another(_: Injection) -> None:
    """Do nothing: Kubernetes makes the new pod."""


def _another_serves(injection: Injection) -> str | None:
    uid = cast(Pods, injection.cluster).pod(injection.node)
    if uid in (None, injection.memo["uid"]) or not takes_part(injection, injection.node):
        return None
    return f"pod {uid} of {injection.node.name} serves"


def _in_use_again(injection: Injection) -> str | None:
    machine, serves = injection.memo["machine"], _another_serves(injection)
    if serves is None or cast(Machines, injection.cluster).cordoned(machine):
        return None
    return f"{serves}, and Kubernetes node {machine} is uncordoned"


DELETE_POD = Verb(
    name="delete-pod",
    undo="await",
    done="shut down by pod deletion",
    effects=RESTARTED,
    needs=(Pods, Preparable),
    holds="process",
    prepares="lasting-data",
    inject=_delete,
    proof_in_force=_gone,
    heal=_await_another,
    healed=_another_serves,
)
DELETE_POD_NOW = Verb(
    name="delete-pod-now",
    undo="await",
    done="shut down by forced pod deletion",
    effects=RESTARTED,
    needs=(Pods, Preparable),
    holds="process",
    prepares="lasting-data",
    inject=_delete_now,
    proof_in_force=_gone,
    heal=_await_another,
    healed=_another_serves,
)
DRAIN = Verb(
    name="drain",
    undo="uncordon",
    done="evicted by a Kubernetes node drain",
    effects=RESTARTED,
    needs=(Pods, Machines, Preparable),
    holds="process",
    prepares="lasting-data",
    inject=_drain,
    proof_in_force=_drained,
    heal=_use_again,
    healed=_in_use_again,
)
