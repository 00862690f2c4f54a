"""Starts a broker again that a fault of its disk has ended, or will end.

Kafka takes a log directory offline at the first error, and a broker without any halts. So healing
undoes what was done to the disk, then starts the broker. If the broker ends itself once more, it
is started again where the reason is transient: one of any start (nodes.TRANSIENT_EXITS), or the
failure that it had met before the disk was healed.
"""

from __future__ import annotations

from typing import cast

from harness.cluster import nodes
from harness.cluster.capabilities import Disks
from harness.cluster.nodes import Node
from harness.nemesis.faults.processes import signals
from harness.nemesis.faults.processes.signals import processes
from harness.nemesis.verb import Injection

TRANSIENT_EXITS = (*nodes.TRANSIENT_EXITS, "log dirs in")


def disks(injection: Injection) -> Disks:
    """The cluster, as the capability to read and change nodes' disks."""
    return cast(Disks, injection.cluster)


def note_pids(injection: Injection) -> None:
    """Note the processes of the nodes."""
    control = processes(injection)
    injection.memo["pids"] = {node.name: control.state(node).pid for node in injection.nodes}


def gone(injection: Injection, node: Node) -> str | None:
    """The evidence, once the noted process of the node is gone."""
    pid = injection.memo["pids"][node.name]
    now = processes(injection).state(node).pid
    return None if pid is None or now == pid else f"process {pid} of {node.name} is gone"


def revive(injection: Injection) -> None:
    """Start those of the nodes that have no process."""
    for node in injection.nodes:
        if processes(injection).state(node).pid is None:
            signals.begin(injection, node)


def revived(injection: Injection) -> str | None:
    """The evidence, once every node is a member of the cluster."""
    sentences = [signals.back(injection, node, TRANSIENT_EXITS) for node in injection.nodes]
    return "; ".join(filter(None, sentences)) if all(sentences) else None
