"""The embedded cluster: real Kafka and ZooKeeper JVMs in private namespaces on this machine.

Must run as pid 1 of the namespaces that harness.host.namespaces makes. Inside: one bridge, and for
every node (and for the clients) a network namespace with one veth to it, at a fixed address.

    br0 10.77.0.1 (the harness)   zk1.. or controller1.. 10.77.0.11..   kafka1.. 10.77.0.21..
                                  clients 10.77.0.101

    network.py           bridge and namespaces, and programs in them
    node_files.py        data, settings and clocks, on a tmpfs of the run's
    node_processes.py    the JVMs and their logs
    launch_modes.py      the ways in which they are started for the sake of faults

The network has no route out, and all of it ends with the run.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.cluster import node_settings
from harness.cluster.capabilities import Cluster, Dump, NodeState, Requirements
from harness.cluster.local import launch_modes, network
from harness.cluster.local.node_files import NodeFiles
from harness.cluster.local.node_processes import NodeProcesses
from harness.cluster.nodes import TRANSIENT_EXITS, ClusterError, Node, brokers, zookeepers
from harness.cluster.startup import await_up, keeper_serves
from harness.distribution.kafka_home import KafkaHome
from harness.host.java import Java

START_LIMIT_S = 60.0
ASK_EVERY_S = 0.05


@dataclass(kw_only=True)
class LocalCluster(Cluster):
    """Real nodes on this machine; has every capability but those of pods.

    `scratch` is a folder on a filesystem of the run's own, `logs` the run's folder of node logs;
    the nodes' data are copied to `keep_data_in`, where that is given, when the cluster closes.
    `formatted` is KRaft's storage, `disk_bytes` the size of each broker's disk; 0: no limit of its
    own.
    """

    nodes: tuple[Node, ...]
    home: KafkaHome
    java: Java
    scratch: Path
    logs: Path
    keep_data_in: Path | None = None
    settings: node_settings.ClusterSettings = field(default_factory=node_settings.ClusterSettings)
    formatted: Path | None = None
    disk_bytes: int = 0
    client_address: str = network.CLIENT_ADDRESS
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._files = NodeFiles(
            scratch=self.scratch,
            nodes=self.nodes,
            settings=self.settings,
            formatted=self.formatted,
            disk_bytes=self.disk_bytes,
        )
        self._processes = NodeProcesses(self.home, self.java, self._files, self.logs)
        self._tracers = Tracers(self._processes, self._files)

    # Preparable, Netem

    def prepare(self, requirements: Requirements) -> None:
        """How nodes are to be started. Refuses what this host cannot do."""
        ways = requirements.ways
        launch_modes.check(ways)
        self._processes.ways = ways
        if network.NETEM in ways:
            self.check_netem()
        if launch_modes.FAKE_TIME in ways:
            launch_modes.mount_shared_memory()

    def check_netem(self) -> None:
        """By trying it in this network namespace, which is the run's own."""
        network.try_netem()

    # Cluster

    def start(self) -> None:
        """Make the network, start all nodes at once, wait until every broker is registered.

        A node that ended itself for a reason in TRANSIENT_EXITS is started again.
        """
        network.make_network(self.nodes)
        for node in self.nodes:
            self._files.make(node, self._processes.ways)
            self.start_node(node)
        for member in zookeepers(self.nodes):
            self._await_up(member, partial(keeper_serves, member))
        for broker in brokers(self.nodes):
            self._await_up(broker, partial(self._processes.registered, broker))

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker in the clients' network namespace; its stderr goes to `log`."""
        return network.start_in(network.CLIENTS, argv, log)

    def close(self) -> None:
        """Kill every node; the namespaces take the rest."""
        self._processes.close()
        if self.keep_data_in is not None:
            self._files.keep(self.keep_data_in)

    # Processes, Restarts

    def signal(self, node: Node, number: signal.Signals) -> None:
        """Send a signal to the node's JVM."""
        self._processes.signal(node, number)

    def start_node(self, node: Node) -> None:
        """Start the node's JVM; returns at once."""
        self._processes.start(node)

    def state(self, node: Node) -> NodeState:
        """The node's process as the kernel sees it."""
        return self._processes.state(node)

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a node whose process is gone; None while it runs."""
        return self._processes.exited_early(node)

    # Links, Companions

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run a command in the node's network namespace."""
        return network.run(["ip", "netns", "exec", node.name, *argv])

    def has_rules(self, node: Node) -> bool:  # noqa: ARG002
        """Every place has a network of its own."""
        return True

    def start_beside(self, node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program in the node's network namespace."""
        return network.start_beside(node, argv)

    # Dumps, Disks, Clocks

    def start_dump(self, node: Node, log: str, name: str) -> Dump:
        """Begin to dump what the broker has of a log, record by record."""
        return self._processes.start_dump(node, log, name)

    def data_folder(self, node: Node) -> Path:
        """The node's folder on the run's tmpfs, or on a tmpfs of its own."""
        return self._files.data(node)

    def wipe(self, node: Node) -> None:
        """Back to what the node had when it was started first."""
        self._files.wipe(node)

    def in_mounts_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run a command among the mounts of the node's process."""
        return self._processes.in_mounts_of(node, argv)

    def said(self, node: Node, pattern: str) -> str | None:
        """From the node's log."""
        return self._processes.said(node, pattern)

    def sync_trace(self, node: Node) -> Path:
        """One file for the whole run, beside the node's data."""
        return self._files.trace(node)

    def set_clock(self, node: Node, offset_s: float) -> None:
        """By the file that libfaketime reads."""
        self._files.set_clock(node, offset_s)

    # Syscalls

    def tamper(self, node: Node, options: Sequence[str]) -> None:
        """Attach strace to the node's process."""
        self._tracers.attach(node, options)

    def tampered(self, node: Node) -> str:
        """What the strace has printed that was attached last."""
        return self._tracers.printed(node)

    def leave_alone(self, node: Node) -> None:
        """Detach it."""
        self._tracers.detach(node)

    def is_tampered(self, node: Node) -> bool:
        """Whether the node's process has a tracer now."""
        return self._tracers.is_attached(node)

    def _await_up(self, node: Node, serves_now: Callable[[], bool]) -> None:
        def up() -> bool:
            last = self.exited_early(node)
            if last is None:
                return serves_now()
            if not any(reason in last for reason in TRANSIENT_EXITS):
                raise ClusterError(f"{node.name} did not start")
            self.start_node(node)
            return False

        await_up(
            node,
            up,
            limit_s=START_LIMIT_S,
            last_lines=partial(self._processes.last_lines, node),
            every_s=ASK_EVERY_S,
        )


class Tracers:
    """strace attached to nodes' running processes, to delay or fail their system calls: at most one
    for each node."""

    def __init__(self, processes: NodeProcesses, files: NodeFiles) -> None:
        self._processes, self._files = processes, files
        self._attached: dict[str, subprocess.Popen[bytes]] = {}

    def attach(self, node: Node, options: Sequence[str]) -> None:
        """Attach strace; its output goes to a file of its own, anew each time. Raises
        ClusterError when the node has no process."""
        process = self._processes.required(node)
        output = self._files.tampered(node)
        output.unlink(missing_ok=True)
        quiet = ("-f", "-qq", "-y", "-s", "0", "-o", str(output))
        self._attached[node.name] = subprocess.Popen(
            ["strace", *quiet, *options, "-p", str(process.pid)], stdin=subprocess.DEVNULL
        )

    def printed(self, node: Node) -> str:
        """The lines of the strace that was attached last."""
        output = self._files.tampered(node)
        return output.read_text(errors="replace") if output.exists() else ""

    def detach(self, node: Node) -> None:
        """TERM makes strace detach from every thread before it ends; safe when there is none."""
        tracer = self._attached.pop(node.name, None)
        if tracer is not None:
            tracer.terminate()
            tracer.wait()

    def is_attached(self, node: Node) -> bool:
        """As the kernel says it of the process (proc(5), TracerPid)."""
        process = self._processes.of(node)
        status = Path(f"/proc/{process.pid}/status").read_text() if process else ""
        return re.search(r"^TracerPid:\t[1-9]", status, re.MULTILINE) is not None
