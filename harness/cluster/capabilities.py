"""A cluster as the rest of the harness uses it: nodes with addresses, and small capabilities.

A backend (`harness.cluster.backends`) offers `Cluster` and some of the capabilities below, and
names them before anything starts. A fault names those that it needs, so that a scenario that needs
more than its backend has is refused before a node starts.

A node has an address among its peers, which rules on links name, and an endpoint that workers and
the harness dial. They are the same in the nodes' network (local), and differ where nodes are behind
published ports.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from harness.cluster.nodes import ClusterError, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The process behind a node at one moment; `pid` is None when there is none."""

    pid: int | None
    stopped: bool  # by SIGSTOP


class Cluster(Protocol):
    """Six nodes that are up, and a place to run clients that can reach them."""

    nodes: tuple[Node, ...]
    client_address: str  # what a broker sees as the source of the workers' packets
    versions: dict[str, str]

    def start(self) -> None:
        """Start every node and return once all brokers are registered. Raises ClusterError."""

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker where the nodes can be reached; its stdin and stdout are pipes."""

    def close(self) -> None:
        """End every node and remove what was set up; safe to call twice."""


@runtime_checkable
class Processes(Protocol):
    """A backend that can signal a node's process."""

    def signal(self, node: Node, number: signal.Signals) -> None:
        """Send a signal to the node's process; ClusterError when there is none."""

    def state(self, node: Node) -> NodeState:
        """The node's process now."""

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a started node that has ended; None while it runs, or where
        Kubernetes starts it again."""


@runtime_checkable
class Restarts(Processes, Protocol):
    """A backend where a node whose process has ended stays down until `start_node`.

    Pods that are not ours do not have it: a kubelet starts the node again.
    """

    def start_node(self, node: Node) -> None:
        """Start the process of a node that has none; returns at once."""


@runtime_checkable
class Clients(Restarts, Protocol):
    """The workers as nodes: their processes can be hit like those of the cluster's nodes.

    A worker that is started again is another one, with a name of its own, in the same place.
    """

    def living(self) -> tuple[Node, ...]:
        """The workers that live now."""

    def progress(self, node: Node) -> int:
        """How many sends of the worker in the node's place were acked, or records it has read."""

    def works(self, node: Node, *, since: int) -> str | None:
        """The sentence that says so once the worker in the node's place is past the progress
        `since`, or may not go on because the load is paused; else None."""

    def partitions_moved(self, nodes: Sequence[Node]) -> bool:
        """Whether other members of the group have the partitions of these members now."""


@runtime_checkable
class Links(Protocol):
    """A backend that can run a command inside the network namespace of a node or of the clients."""

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run `argv` there and return what it printed; ClusterError when it fails.

        sys.executable stands for the Python of that place: only the standard library is there.
        """

    def has_rules(self, node: Node) -> bool:
        """Whether rules can be set there. Not for clients in the network of the host: packets to
        them are dropped where they leave the node."""


@runtime_checkable
class Netem(Protocol):
    """A backend that may have netem on what its nodes send (way "netem")."""

    def check_netem(self) -> None:
        """Raises ClusterError, with the remedy, where the kernel has none."""


@runtime_checkable
class Pods(Protocol):
    """A backend whose nodes live in pods, which are replaced."""

    def delete_pod(self, node: Node, *, force: bool) -> None:
        """Have the node's pod deleted: with the time to end that it was given, or without."""

    def pod(self, node: Node) -> str | None:
        """The uid of the node's pod; None while there is none."""


@runtime_checkable
class Machines(Protocol):
    """A backend whose nodes' pods are on machines that can be taken out of use."""

    def machine(self, node: Node) -> str | None:
        """The machine that the node's pod is on; None while it is on none."""

    def cordon(self, machine: str) -> None:
        """Let it take no more pods. ClusterError when it takes none already."""

    def uncordon(self, machine: str) -> None:
        """Let it take pods again, if we cordoned it; safe to call twice."""

    def cordoned(self, machine: str) -> bool:
        """Whether it takes no pods now."""

    def evict(self, node: Node) -> bool:
        """Have the node's pod leave in order; False while a disruption budget forbids it."""


@runtime_checkable
class Companions(Protocol):
    """A backend that can keep a program of ours beside a node, in its network, during a fault."""

    def start_beside(self, node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
        """Start `argv` there; its input is empty, its stdout, errors included, a pipe.

        It lives no longer than the cluster.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """A dump of a log that is being made: its process, and the file that gets its output."""

    process: subprocess.Popen[bytes]
    file: Path


@runtime_checkable
class Dumps(Protocol):
    """A backend that can have Kafka's own DumpLogSegments read what a broker has on its disk."""

    def start_dump(self, node: Node, log: str, name: str) -> Dump:
        """Begin to dump all segments of a log (topic-partition) to the file `name` of the run's
        logs; the broker may go on writing."""


@runtime_checkable
class Disks(Protocol):
    """A backend that can reach what a node has on disk, and the mounts as the node sees them."""

    def wipe(self, node: Node) -> None:
        """Remove all that a node without a process has written."""

    def data_folder(self, node: Node) -> Path:
        """The node's data directory, as the harness sees it; it stays when the node is down."""

    def in_mounts_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run `argv` among the mounts of the node's process and return what it printed.

        ClusterError when the node has no process or the command fails.
        """

    def said(self, node: Node, pattern: str) -> str | None:
        """The last line that the node logged since it was started last and that has `pattern`."""

    def sync_trace(self, node: Node) -> Path:
        """The trace of the node's file calls (way "sync-trace";
        harness.nemesis.faults.disks.sync_trace reads it).

        While the node has no process the file may be rewritten; the next one appends to it.
        """


@runtime_checkable
class Syscalls(Protocol):
    """A backend that can delay and fail system calls of a node's running process."""

    def tamper(self, node: Node, options: Sequence[str]) -> None:
        """Have strace attached to all threads of the node's process, with these options."""

    def tampered(self, node: Node) -> str:
        """What that strace has printed so far."""

    def leave_alone(self, node: Node) -> None:
        """Detach it, and return once it is gone; safe when there is none."""

    def is_tampered(self, node: Node) -> bool:
        """Whether the node's process has a tracer now."""


@runtime_checkable
class Clocks(Protocol):
    """A backend that can shift a node's wall clock (way "fake-time")."""

    def set_clock(self, node: Node, offset_s: float) -> None:
        """How far the node's wall clock is ahead of the host's from now on; it sees it in 1 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a plan's faults ask of a cluster, known before it starts."""

    capabilities: frozenset[type] = frozenset()
    ways: frozenset[str] = frozenset()  # in which nodes must be started (`Verb.prepares`)
    ends: frozenset[str] = frozenset()  # whom they name as other ends of links: clients, kafka2, …


class CannotPrepare(ClusterError):
    """Nodes cannot be started in a way on this host; the message is a sentence, with the remedy."""

    def __init__(self, way: str, why: str) -> None:
        super().__init__(why)
        self.way = way


@runtime_checkable
class Preparable(Protocol):
    """A backend that must know before it starts what the faults of the plan will ask of it."""

    def prepare(self, requirements: Requirements) -> None:
        """Called once, before `start`. Raises ClusterError when one of them cannot be met."""


@runtime_checkable
class Operated(Protocol):
    """A cluster that the harness has set up, and so may operate: what an operator asks of brokers
    (elections, reassignments, settings) may be asked of them."""

    settings: Any  # its nodes', beyond the defaults: harness.cluster.node_settings.ClusterSettings


@runtime_checkable
class Secured(Protocol):
    """A cluster that clients get into by settings of their own: TLS, SASL (cluster.security).

    They are secrets, and go neither into a run's folder nor into a command line.
    """

    client_settings: Mapping[str, str]  # in librdkafka's keys


@runtime_checkable
class Foreign(Protocol):
    """A cluster that is not ours: what a run makes there has names of its own, and is removed."""

    topic_config: Mapping[str, Any]  # what the run's topic needs besides the scenario's


def client_settings(cluster: Cluster) -> Mapping[str, str]:
    """What every client of the cluster needs beside addresses."""
    return cluster.client_settings if isinstance(cluster, Secured) else {}


def clients_of(cluster: Cluster) -> Node:
    """The place of all workers as a node: faults on links name it."""
    return Node(name="clients", role="client", id=0, address=cluster.client_address, port=0)


# All that a cluster can be asked to be or to do; a worker's (`Clients`) are not a cluster's.
CAPABILITIES: tuple[type, ...] = (
    Processes,
    Restarts,
    Links,
    Netem,
    Pods,
    Machines,
    Companions,
    Dumps,
    Disks,
    Syscalls,
    Clocks,
    Preparable,
    Operated,
    Secured,
    Foreign,
)
