"""delete-pod, delete-pod-now: the node's pod is deleted, and Kubernetes makes another.

    delete-pod        graceful: SIGTERM, the time that the manifest gives (30 s), then SIGKILL
    delete-pod-now    `--force --grace-period=0`: the cluster forgets the pod at once. The kubelet
                      still sends SIGTERM first and SIGKILL some 2 s later: a crash is `kill`

The StatefulSet makes a pod of the same name, with the same volume and another address, as soon as
the old one is gone, so nothing is held down: the fault's time is only waited for. It has bitten
when the pod is gone or another one is there (its uid), and is healed when the node serves from a
pod of another uid.
"""

from __future__ import annotations

from typing import cast

from harness.cluster import Pods, Processes
from harness.nemesis.faults.process import remember, takes_part
from harness.nemesis.faults.verb import Injection, Verb


def _delete(injection: Injection) -> None:
    _begin(injection, force=False)


def _delete_now(injection: Injection) -> None:
    _begin(injection, force=True)


def _begin(injection: Injection, *, force: bool) -> None:
    remember(injection, injection.node)
    pods = cast(Pods, injection.cluster)
    injection.memo["uid"] = pods.pod(injection.node)
    pods.delete_pod(injection.node, force=force)


def _gone(injection: Injection) -> str | None:
    uid = injection.memo["uid"]
    now = cast(Pods, injection.cluster).pod(injection.node)
    return None if now == uid else f"pod {uid} of {injection.node.name} is gone"


def _await_another(_: Injection) -> None:
    """Kubernetes makes one; nobody else could."""


def _another_serves(injection: Injection) -> str | None:
    uid = cast(Pods, injection.cluster).pod(injection.node)
    if uid in (None, injection.memo["uid"]) or not takes_part(injection, injection.node):
        return None
    return f"pod {uid} of {injection.node.name} serves"


DELETE_POD = Verb(
    name="delete-pod", undo="await", needs=(Processes, Pods), holds="process",
    prepares="lasting-data",
    inject=_delete, bit=_gone, heal=_await_another, healed=_another_serves,
)  # fmt: skip
DELETE_POD_NOW = Verb(
    name="delete-pod-now", undo="await", needs=(Processes, Pods), holds="process",
    prepares="lasting-data",
    inject=_delete_now, bit=_gone, heal=_await_another, healed=_another_serves,
)  # fmt: skip
