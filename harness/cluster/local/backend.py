"""The embedded backend: real ZooKeeper and Kafka JVMs in private namespaces on this machine.

Must run as pid 1 of the namespaces that `enclosure` makes. Inside: one bridge, and for every node
(and for the clients) a network namespace with one veth to it, at a fixed address.

    br0 10.77.0.1 (the harness)   zk1..  10.77.0.11..   kafka1.. 10.77.0.21..   clients 10.77.0.101

Nodes start by `ip netns exec`, which also gives each a mount namespace of its own. Their data lies
on a tmpfs of the run's, so that nothing is left on disk, whatever ends the run. The network has no
route out.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import IO, Literal

from harness.cluster import node_settings as node_config
from harness.cluster.capabilities import Cluster, Dump, NodeState
from harness.cluster.local import launch_modes as local_ways
from harness.cluster.local.network import CLIENT_ADDRESS, CLIENTS, make_network, run, try_netem
from harness.cluster.nodes import PASSING, ClusterError, Node, brokers, zookeepers
from harness.cluster.view.zookeeper import serves
from harness.distribution.kafka_home import KafkaHome, java_options
from harness.host import machine
from harness.host.java import Java
from harness.waiting import WaitTimeout, wait_until

MAIN_CLASS = {
    "zookeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "broker": "kafka.Kafka",
}
START_LIMIT_S = 60.0


def local_nodes(zookeeper_count: int, broker_count: int) -> tuple[Node, ...]:
    """The nodes of a local cluster, ZooKeepers first."""
    members = (
        Node(name=f"zk{i}", role="zookeeper", id=i, address=f"10.77.0.{10 + i}", port=2181)
        for i in range(1, zookeeper_count + 1)
    )
    kafkas = (
        Node(name=f"kafka{i}", role="broker", id=i, address=f"10.77.0.{20 + i}", port=9092)
        for i in range(1, broker_count + 1)
    )
    return (*members, *kafkas)


@dataclass(kw_only=True)
class _Started:
    """A node's process, its log, and where the log stood when it was started last."""

    process: subprocess.Popen[bytes]
    log: Path
    log_start: int


@dataclass(kw_only=True)
class LocalCluster(Cluster):
    """3 + 3 real nodes; implements Cluster and every capability of `harness.cluster`.

    `scratch` is a folder on a filesystem of the run's own, `logs` the run's folder of node logs;
    the nodes' data are copied to `keep_data_in`, where that is given, when the cluster closes.
    """

    nodes: tuple[Node, ...]
    home: KafkaHome
    java: Java
    scratch: Path
    logs: Path
    keep_data_in: Path | None = None
    server: node_config.Settings = field(default_factory=dict)
    zoo: node_config.Settings = field(default_factory=dict)
    client_address: str = CLIENT_ADDRESS
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._started: dict[str, _Started] = {}
        self._ways: frozenset[str] = frozenset()
        self._tampering: dict[str, subprocess.Popen[bytes]] = {}

    # Preparable

    def prepare(self, ways: frozenset[str]) -> None:
        """How nodes are to be started. Refuses what this host cannot do."""
        local_ways.check(ways)
        self._ways = ways
        if "netem" in ways:
            try_netem()
        if local_ways.FAKE_TIME in ways:
            # libfaketime keeps a semaphore and a page there for each process, killed ones too.
            run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"])  # noqa: S108

    # Cluster

    def start(self) -> None:
        """Make the network, start all nodes at once, wait until every broker is registered.

        A node that ended itself for a reason in PASSING is started again.
        """
        make_network(self.nodes)
        for node in self.nodes:
            self._make_disk(node)
            self._write_config(node)
            self.set_clock(node, 0)
            self.start_node(node)
        for member in zookeepers(self.nodes):
            self._await(member, partial(serves, member))
        for broker in brokers(self.nodes):
            self._await(broker, partial(self._registered, broker))

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker in the clients' network namespace; its stderr goes to `log`."""
        with log.open("a") as stderr:
            return subprocess.Popen(
                ["ip", "netns", "exec", CLIENTS, *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    def close(self) -> None:
        """Kill every node; the namespaces take the rest."""
        for started in self._started.values():
            if started.process.poll() is None:
                started.process.kill()
        for started in self._started.values():
            started.process.wait()
        if self.keep_data_in is not None and not self.keep_data_in.exists():
            shutil.copytree(self.scratch, self.keep_data_in)

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        """Send a signal to the node's JVM."""
        process = self._process(node)
        if process is None:
            raise ClusterError(f"{node.name} has no process to send {number.name} to")
        process.send_signal(number)

    def start_node(self, node: Node) -> None:
        """Start the node's JVM; returns at once."""
        if self._process(node) is not None:
            raise ClusterError(f"{node.name} is already running")
        log = self.logs / f"{node.name}.log"
        with log.open("ab") as output:
            start = output.tell()
            process = subprocess.Popen(
                self._command(node),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **local_ways.environment(self._ways, self._clock(node))},
            )
        self._started[node.name] = _Started(process=process, log=log, log_start=start)

    def state(self, node: Node) -> NodeState:
        """The node's process as the kernel sees it."""
        process = self._process(node)
        stopped = None if process is None else machine.is_stopped(process.pid)
        if process is None or stopped is None:
            return NodeState(pid=None, stopped=False)
        return NodeState(pid=process.pid, stopped=stopped)

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a node whose process is gone; None while it runs."""
        started = self._started[node.name]
        if started.process.poll() is None:
            return None
        with started.log.open("rb") as log:
            log.seek(started.log_start)
            return _last_lines(log)

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run a command in the node's network namespace."""
        return run(["ip", "netns", "exec", node.name, *argv])

    def has_rules(self, node: Node) -> bool:  # noqa: ARG002
        """Every place has a network of its own."""
        return True

    # Companions

    def start_beside(self, node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program in the node's network namespace; it ends with the run's pid namespace."""
        return subprocess.Popen(
            ["ip", "netns", "exec", node.name, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    # Dumps

    def start_dump(self, node: Node, log: str, name: str) -> Dump:
        """Begin to dump what the broker has of a log, record by record."""
        segments = sorted((self.data_folder(node) / log).glob("*.log"))
        argv = [
            str(self.java.path),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            self.home.class_path,
            "kafka.tools.DumpLogSegments",
            "--print-data-log",
            "--files",
            ",".join(map(str, segments)),
        ]
        with (self.logs / name).open("wb") as output:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        return Dump(process=process, file=self.logs / name)

    # Disks

    def data_folder(self, node: Node) -> Path:
        """The node's folder on the run's tmpfs, or on a tmpfs of its own."""
        return self.scratch / node.name

    def wipe(self, node: Node) -> None:
        """Back to what the node had when it was started first; a disk of its own stays mounted."""
        for entry in self.data_folder(node).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.sync_trace(node).unlink(missing_ok=True)  # nothing of what it tells is there any more
        self._write_config(node)

    def in_mounts_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run a command in the mount namespace that `ip netns exec` made for the node's process."""
        process = self._process(node)
        if process is None:
            raise ClusterError(f"{node.name} has no process whose mounts could be reached")
        return run(["nsenter", "-t", str(process.pid), "-m", *argv])

    def said(self, node: Node, pattern: str) -> str | None:
        """From the node's log."""
        started = self._started[node.name]
        with started.log.open("rb") as log:
            log.seek(started.log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return next((line for line in reversed(lines) if re.search(pattern, line)), None)

    def sync_trace(self, node: Node) -> Path:
        """One file for the whole run, beside the node's data."""
        return self.scratch / f"{node.name}.trace"

    # Syscalls

    def tamper(self, node: Node, options: Sequence[str]) -> None:
        """Attach strace; its output goes to a file of its own, anew each time."""
        state = self.state(node)
        if state.pid is None:
            raise ClusterError(f"{node.name} has no process whose system calls could be reached")
        output = self._tampered(node)
        output.unlink(missing_ok=True)
        self._tampering[node.name] = subprocess.Popen(
            [
                "strace",
                "-f",
                "-qq",
                "-y",
                "-s",
                "0",
                "-o",
                str(output),
                *options,
                "-p",
                str(state.pid),
            ],
            stdin=subprocess.DEVNULL,
        )

    def tampered(self, node: Node) -> str:
        """The lines of the strace that was attached last."""
        output = self._tampered(node)
        return output.read_text(errors="replace") if output.exists() else ""

    def leave_alone(self, node: Node) -> None:
        """TERM makes strace detach from every thread before it ends."""
        process = self._tampering.pop(node.name, None)
        if process is not None:
            process.terminate()
            process.wait()

    def is_tampered(self, node: Node) -> bool:
        """As the kernel says it of the process (proc(5), TracerPid)."""
        process = self._process(node)
        status = Path(f"/proc/{process.pid}/status").read_text() if process else ""
        return re.search(r"^TracerPid:\t[1-9]", status, re.MULTILINE) is not None

    # Clocks

    def set_clock(self, node: Node, offset_s: float) -> None:
        """Written aside and moved into place: a node never reads half a number."""
        clock = self._clock(node)
        new = clock.with_suffix(".new")
        new.write_text(f"{offset_s:+g}\n")
        new.replace(clock)

    # Parts

    def _tampered(self, node: Node) -> Path:
        return self.scratch / f"{node.name}.tampered"

    def _clock(self, node: Node) -> Path:
        return self.scratch / f"{node.name}.clock"

    def _process(self, node: Node) -> subprocess.Popen[bytes] | None:
        started = self._started.get(node.name)
        return started.process if started and started.process.poll() is None else None

    def _config_file(self, node: Node) -> Path:
        return self.scratch / f"{node.name}.properties"

    def _make_disk(self, node: Node) -> None:
        data = self.data_folder(node)
        data.mkdir()
        if local_ways.OWN_DISK in self._ways and node.role == "broker":
            size = f"size={local_ways.DISK_BYTES}"
            run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(data)])

    def _write_config(self, node: Node) -> None:
        data = self.data_folder(node)
        if node.role == "zookeeper":
            (data / "myid").write_text(f"{node.id}\n")
            properties = node_config.zoo_cfg(node, self.nodes, str(data), self.zoo)
        else:
            properties = node_config.server_properties(node, self.nodes, str(data), self.server)
        self._config_file(node).write_text(node_config.render(properties))
        (self.scratch / "log4j.properties").write_text(node_config.LOG4J)

    def _command(self, node: Node) -> list[str]:
        role: Literal["kafka", "zookeeper"] = "kafka" if node.role == "broker" else "zookeeper"
        traced = local_ways.SYNC_TRACE in self._ways and node.role == "broker"
        return [
            "ip",
            "netns",
            "exec",
            node.name,
            *(local_ways.traced(self.sync_trace(node)) if traced else ()),
            str(self.java.path),
            *java_options(role, self.home, self.java),
            f"-Dlog4j.configuration=file:{self.scratch / 'log4j.properties'}",
            "-cp",
            self.home.class_path,
            MAIN_CLASS[node.role],
            str(self._config_file(node)),
        ]

    def _await(self, node: Node, up: Callable[[], bool]) -> None:
        def settled() -> bool:
            last = self.exited_early(node)
            if last is None:
                return up()
            if not any(reason in last for reason in PASSING):
                raise ClusterError(f"{node.name} did not start; its last log lines:\n{last}")
            self.start_node(node)
            return False

        try:
            wait_until(settled, timeout_s=START_LIMIT_S, what=f"{node.name} to come up")
        except WaitTimeout as error:
            with (self.logs / f"{node.name}.log").open("rb") as log:
                raise ClusterError(f"{error}; its last log lines:\n{_last_lines(log)}") from None

    def _registered(self, broker: Node) -> bool:
        """Whether the broker accepts connections: it does so only once it is registered."""
        log = self._started[broker.name].log
        return f"[KafkaServer id={broker.id}] started" in log.read_text(errors="replace")


@cache
def private_tmpfs() -> Path:
    """Hide /run behind a tmpfs of our own and return a folder on it, with room for netns names."""
    run(["mount", "-t", "tmpfs", "-o", "mode=0755,size=50%", "tmpfs", "/run"])
    Path("/run/netns").mkdir()
    scratch = Path("/run/kafka-harness")
    scratch.mkdir()
    return scratch


def _last_lines(log: IO[bytes], count: int = 12) -> str:
    log.seek(max(log.tell(), os.fstat(log.fileno()).st_size - 16384))
    lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-count:])
