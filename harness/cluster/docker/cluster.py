"""Real nodes in Docker containers, on any Docker host that its SDK reaches by its environment.

    docker-compose.yml, docker-compose.kraft.yml    net-X holds network and processes of node X
    (harness.cluster.docker.compose)

Workers and the harness run on this host and dial published ports. A node's process is its
container's; links are cut in its sidecar, as in a network namespace of the local backend. Clients
have no network that is ours, so what they are not to hear is dropped where it leaves a node.

A run has a compose project of its own, which it removes when it ends. If the harness is killed its
containers stay: each sidecar then mends links and resumes what was paused
(harness.cluster.sidecar.heartbeat), and `kafka-harness heal` starts what was killed, and removes
the project when it is told to. Needs membership in the group docker, no root.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from harness.cluster import node_settings
from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.docker import compose
from harness.cluster.docker.engine import Engine, ExecStream
from harness.cluster.exec import shell
from harness.cluster.exec.host_processes import HostProcesses
from harness.cluster.exec.shell import OpenShell
from harness.cluster.nodes import ClusterError, Node, brokers, quorum
from harness.cluster.sidecar import heartbeat
from harness.cluster.sidecar.heartbeat import Heartbeat
from harness.cluster.startup import await_up, keeper_serves
from harness.waiting import wait_until

START_LIMIT_S = 180.0
LAST_LINES = 12
KAFKAS_DATA, ZOOKEEPERS_DATA = "/var/lib/kafka/data", "/var/lib/zookeeper/data"


@dataclass(kw_only=True)
class DockerCluster(Cluster):
    """A compose project of one run: Restarts, Links, Companions, Operated.

    `logs` is the run's folder of node logs; the nodes' data are kept as tar files in
    `keep_data_in`, where that is given, when the cluster closes. `images` are the compose file's
    variables of them that somebody has chosen.
    """

    nodes: tuple[Node, ...]
    engine: Engine
    logs: Path
    run_id: str
    images: Mapping[str, str] = field(default_factory=dict)
    keep_data_in: Path | None = None
    settings: node_settings.ClusterSettings = field(default_factory=node_settings.ClusterSettings)
    client_address: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._heartbeat: Heartbeat | None = None
        self._shells = {n.name: OpenShell(n.name, partial(self._shell, n)) for n in self.nodes}
        self._host = HostProcesses()

    # Cluster

    def start(self) -> None:
        """Have compose start all containers, watch over each, wait until brokers are registered."""
        self._start_containers()
        self._heartbeat = Heartbeat(
            {
                n.name: self.engine.exec_stream(
                    compose.holder_of(n.name), heartbeat.command("watch", str(heartbeat.LIMIT_S))
                )
                for n in self.nodes
            }
        )
        self._heartbeat.start()
        for member in quorum(self.nodes):
            self._await_up(member, partial(keeper_serves, member))
        self.client_address = self._clients_seen()
        shell.open_all(self._shells.values())
        for broker in brokers(self.nodes):
            self._await_up(broker, partial(self._started, broker))

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker on this host; it ends with the harness where the system has setpriv."""
        return self._host.spawn(argv, log=log)

    def close(self) -> None:
        """Keep the nodes' logs and remove the project; safe to call twice."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None
        for opened in self._shells.values():
            opened.close()
        for node in self.nodes:
            with suppress(ClusterError):  # a container that was never made has no log
                (self.logs / f"{node.name}.log").write_bytes(self.engine.log(node.name))
                self._keep_data(node)
        self.engine.remove()
        self._host.close()

    # Restarts

    def signal(self, node: Node, number: signal.Signals) -> None:
        """To the container's process; STOP and CONT by the sidecar, which must know what to resume
        when the harness is gone."""
        self._check()
        if number in (signal.SIGSTOP, signal.SIGCONT):
            name = number.name.removeprefix("SIG")
            self.engine.run(compose.holder_of(node.name), heartbeat.command("signal", name))
        else:
            self.engine.kill(node.name, number.name)

    def start_node(self, node: Node) -> None:
        """Start the node's container; returns at once."""
        if self.state(node).pid is not None:
            raise ClusterError(f"{node.name} is already running")
        self.engine.start(node.name)

    def state(self, node: Node) -> NodeState:
        """The container's process, with its pid on the Docker host."""
        pid = self.engine.pid(node.name)
        stopped = pid is not None and self.engine.state_of(node.name, pid).startswith(("T", "t"))
        return NodeState(pid=pid, stopped=stopped)

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a container that does not run; None while it does."""
        return None if self.engine.pid(node.name) is not None else self._last_lines(node)

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """In the node's sidecar; for clients, on this host."""
        self._check()
        if node.role == "client":
            return self._host.run(argv)
        if argv[0] in shell.QUICK:
            return self._shells[node.name].run(argv)
        return self.engine.run(compose.holder_of(node.name), heartbeat.in_sidecar(argv))

    def has_rules(self, node: Node) -> bool:
        """All nodes; clients are in this host's network, which is not ours to change."""
        return node.role != "client"

    # Companions

    def start_beside(self, node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
        """In the node's sidecar, by a process of this host that stands for it."""
        self._check()
        service = compose.holder_of(node.name)
        return self._host.stand_in(
            [
                sys.executable,
                "-P",
                "-m",
                "harness.cluster.docker.exec_process",
                self.engine.project,
                service,
                *heartbeat.in_sidecar(argv),
            ]
        )

    # Parts

    def _start_containers(self) -> None:
        """Start the holders first: Docker gives each a free port, which its broker then advertises.

        A port that we chose could be taken by the time that Docker binds it.
        """
        project, file = self.engine.project, self.logs.parent / "compose.json"
        compose.write(file, compose.additions(self.nodes, self.settings, self.run_id))
        files = (compose.file_of(self.settings.metadata), file)
        holders = [compose.holder_of(node.name) for node in self.nodes]
        compose.up(project, files, {**compose.variables(self.nodes), **self.images}, holders)
        self.nodes = tuple(map(self._placed, self.nodes))
        compose.up(project, files, {**compose.variables(self.nodes), **self.images})

    def _placed(self, node: Node) -> Node:
        """A node whose holder runs, with its address and where it is dialled."""
        holder = compose.holder_of(node.name)
        dialled = (node.dial[0], self.engine.published(holder, node.port))
        return replace(node, address=self.engine.address(holder), dialled=dialled)

    def _shell(self, node: Node) -> ExecStream:
        return self.engine.exec_stream(compose.holder_of(node.name), shell.SHELL)

    def _keep_data(self, node: Node) -> None:
        if self.keep_data_in is not None:
            self.keep_data_in.mkdir(exist_ok=True)
            data = ZOOKEEPERS_DATA if node.role == "zookeeper" else KAFKAS_DATA
            self.engine.archive(node.name, data, self.keep_data_in / f"{node.name}.tar")

    def _check(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.check()

    def _last_lines(self, node: Node) -> str:
        lines = self.engine.log(node.name, LAST_LINES).decode(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines)

    def _started(self, broker: Node) -> bool:
        log = self.engine.log(broker.name).decode(errors="replace")
        return any(words in log for words in node_settings.UP[broker.role])

    def _clients_seen(self) -> str:
        """What a node sees as the source of this host's packets, asked of one that sees them."""
        member = quorum(self.nodes)[0]
        show = ["ss", "-tnH", "state", "established", f"( sport = :{member.port} )"]
        own = {"127.0.0.1", *(node.address for node in self.nodes)}

        def seen() -> str | None:
            listing = self.engine.run(compose.holder_of(member.name), show)
            ends = [line.split()[-1] for line in listing.splitlines()]
            peers = {m[1] for end in ends if (m := re.search(r"([\d.]+)\]?:\d+$", end))}
            return next(iter(sorted(peers - own)), None)

        with socket.create_connection(member.dial, timeout=10):
            return str(wait_until(seen, timeout_s=30, what=f"{member.name} to see a client"))

    def _await_up(self, node: Node, serves_now: Callable[[], bool]) -> None:
        def up() -> bool:
            if self.exited_early(node) is not None:
                raise ClusterError(f"{node.name} did not start")
            return serves_now()

        await_up(node, up, limit_s=START_LIMIT_S, last_lines=partial(self._last_lines, node))
