"""Real nodes in Docker containers, on any Docker host that its SDK reaches by its environment.

    docker-compose.yml    net-X holds network and processes of node X
    (harness.cluster.docker.compose)

Workers and the harness run on this host and dial published ports. A node's process is its
container's; links are cut in its holder, as in a network namespace of the local backend. Clients
have no network that is ours, so what they are not to hear is dropped where it leaves a node.

A run has a compose project of its own, which it removes when it ends. If the harness is killed its
containers stay: each holder then mends links and resumes what was paused
(harness.cluster.exec.sidecar), and `kafka-harness heal` starts what was killed, and removes the
project when it is told to. Needs membership in the group docker, no root.
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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.cluster import node_settings
from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.docker import compose
from harness.cluster.docker.engine import Engine, Wire, connect
from harness.cluster.exec import shell, sidecar
from harness.cluster.exec.host_processes import Here
from harness.cluster.exec.shell import Hand
from harness.cluster.exec.sidecar import Heart
from harness.cluster.nodes import ClusterError, Node, brokers, zookeepers
from harness.cluster.ownership import Orphan, guard
from harness.cluster.view.zookeeper import serves
from harness.waiting import WaitTimeout, wait_until

START_LIMIT_S = 180.0
LAST_LINES = 12
DATA = {"broker": "/var/lib/kafka/data", "zookeeper": "/var/lib/zookeeper/data"}


def docker_nodes(zookeeper_count: int, broker_count: int, address: str) -> tuple[Node, ...]:
    """The nodes of a cluster to come, at free ports of `address`; among each other they have
    addresses once their containers run."""
    ports = compose.free_ports(address, zookeeper_count + broker_count)
    members = (
        Node(
            name=f"zk{i}",
            role="zookeeper",
            id=i,
            address="",
            port=compose.ZOOKEEPER_PORT,
            dialled=(address, ports.pop()),
        )
        for i in range(1, zookeeper_count + 1)
    )
    kafkas = (
        Node(
            name=f"kafka{i}",
            role="broker",
            id=i,
            address="",
            port=compose.CLIENTS_PORT,
            dialled=(address, ports.pop()),
        )
        for i in range(1, broker_count + 1)
    )
    return (*members, *kafkas)


@dataclass(kw_only=True)
class DockerCluster(Cluster):
    """A compose project of one run: Cluster, Processes, Links, Companions.

    `logs` is the run's folder of node logs; the nodes' data are kept as tar files in
    `keep_data_in`, where that is given, when the cluster closes.
    """

    nodes: tuple[Node, ...]
    engine: Engine
    logs: Path
    run_id: str
    image: str = ""
    keep_data_in: Path | None = None
    server: node_settings.Settings = field(default_factory=dict)
    zoo: node_settings.Settings = field(default_factory=dict)
    client_address: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._heart: Heart | None = None
        self._hands = {n.name: Hand(n.name, partial(self._shell, n)) for n in self.nodes}
        self._here = Here()

    # Cluster

    def start(self) -> None:
        """Have compose start all containers, watch over each, wait until brokers are registered."""
        file = self.logs.parent / "compose.json"
        compose.write(file, compose.additions(self.nodes, self.server, self.zoo, self.run_id))
        compose.up(self.engine.project, file, compose.variables(self.nodes, self.image))
        self.nodes = tuple(
            replace(node, address=self.engine.address(compose.holder_of(node.name)))
            for node in self.nodes
        )
        self._heart = Heart(
            {
                n.name: self.engine.wire(
                    compose.holder_of(n.name), sidecar.command("watch", str(sidecar.LIMIT_S))
                )
                for n in self.nodes
            }
        )
        self._heart.start()
        for member in zookeepers(self.nodes):
            self._await(member, partial(serves, member))
        self.client_address = self._clients_seen()
        shell.open_all(self._hands.values())
        for broker in brokers(self.nodes):
            self._await(broker, partial(self._started, broker))

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker on this host; it ends with the harness where the system has setpriv."""
        return self._here.spawn(argv, log=log)

    def close(self) -> None:
        """Keep the nodes' logs and remove the project; safe to call twice."""
        if self._heart is not None:
            self._heart.stop()
            self._heart = None
        for each in self._hands.values():
            each.close()
        for node in self.nodes:
            with suppress(ClusterError):  # what never was has no log
                (self.logs / f"{node.name}.log").write_bytes(self.engine.log(node.name))
                self._keep_data(node)
        self.engine.remove()
        self._here.close()

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        """To the container's process; STOP and CONT by the holder, which must know what to resume
        when the harness is gone."""
        self._check()
        if number in (signal.SIGSTOP, signal.SIGCONT):
            name = number.name.removeprefix("SIG")
            self.engine.run(compose.holder_of(node.name), sidecar.command("signal", name))
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
        """In the node's holder; for clients, on this host."""
        self._check()
        if node.role == "client":
            return self._here.run(argv)
        if argv[0] in shell.QUICK:
            return self._hands[node.name].run(argv)
        return self.engine.run(compose.holder_of(node.name), sidecar.there(argv))

    def has_rules(self, node: Node) -> bool:
        """Clients live in this host's network, which is not ours."""
        return node.role != "client"

    # Companions

    def start_beside(self, node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
        """In the node's holder, by a process of this host that stands for it."""
        self._check()
        service = compose.holder_of(node.name)
        return self._here.stand_in(
            [
                sys.executable,
                "-m",
                "harness.cluster.docker.exec_process",
                self.engine.project,
                service,
                *sidecar.there(argv),
            ]
        )

    # Parts

    def _shell(self, node: Node) -> Wire:
        return self.engine.wire(compose.holder_of(node.name), shell.SHELL)

    def _keep_data(self, node: Node) -> None:
        if self.keep_data_in is not None:
            self.keep_data_in.mkdir(exist_ok=True)
            self.engine.archive(node.name, DATA[node.role], self.keep_data_in / f"{node.name}.tar")

    def _check(self) -> None:
        if self._heart is not None:
            self._heart.check()

    def _last_lines(self, node: Node) -> str:
        lines = self.engine.log(node.name, LAST_LINES).decode(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines)

    def _started(self, broker: Node) -> bool:
        return node_settings.STARTED in self.engine.log(broker.name).decode(errors="replace")

    def _clients_seen(self) -> str:
        """What a node sees as the source of this host's packets, asked of one that sees them."""
        member = zookeepers(self.nodes)[0]
        show = ["ss", "-tnH", "state", "established", f"( sport = :{member.port} )"]
        known = {"127.0.0.1", *(node.address for node in self.nodes)}

        def seen() -> str | None:
            listing = self.engine.run(compose.holder_of(member.name), show)
            found = [line.split()[-1] for line in listing.splitlines()]
            peers = {m[1] for end in found if (m := re.search(r"([\d.]+)\]?:\d+$", end))}
            return next(iter(sorted(peers - known)), None)

        with socket.create_connection(member.dial, timeout=10):
            return str(wait_until(seen, timeout_s=30, what=f"{member.name} to see a client"))

    def _await(self, node: Node, up: Callable[[], bool]) -> None:
        def settled() -> bool:
            if last := self.exited_early(node):
                raise ClusterError(f"{node.name} did not start; its last log lines:\n{last}")
            return up()

        try:
            wait_until(
                settled, timeout_s=START_LIMIT_S, what=f"{node.name} to come up", every_s=0.3
            )
        except WaitTimeout as error:
            last = self._last_lines(node)
            raise ClusterError(f"{error}; its last log lines:\n{last}") from None


def refuses(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario cannot be run here, before anything starts."""
    counts = (scenario["cluster"]["zookeepers"], scenario["cluster"]["brokers"])
    if counts != (3, 3):
        return "docker-compose.yml has 3 ZooKeepers and 3 brokers, cluster wants other numbers"
    return without_sdk()


def absent(_: Mapping[str, Any]) -> str | None:
    """Why there is no Docker to be had. Raises ClusterError with the same."""
    if why := without_sdk():
        return why
    connect()
    return None


def heal(orphan: Orphan) -> list[str]:
    """Undo what is left in force in a project whose harness is gone; start what is down."""
    if why := without_sdk():
        raise ClusterError(why)
    project = orphan.name or orphan.cluster.get("project")
    if project is None:
        return ["nothing to heal: the run ended before it started a cluster"]
    engine = Engine(connect(), project)
    services = engine.services()
    if not services:
        return [f"nothing to heal: Docker has no container of the project {project}"]
    guard(project, ours=engine.is_ours(), named=None, allowed=())
    told, prefix = list[str](), compose.holder_of("")
    for name in sorted(services):
        holds, place = name.startswith(prefix), name.removeprefix(prefix)
        said = engine.run(name, sidecar.command("undo")).splitlines() if holds else []
        told += [f"{place}: {line}" for line in said]
    down = [name for name in sorted(services) if engine.pid(name) is None]
    told += [f"{name}: started again, {_stay_up(engine, name)}" for name in down]
    told = told or [f"nothing to heal: nothing is left in force in the project {project}"]
    if orphan.down:
        engine.remove()
        told.append(f"removed the project {project}")
    return told


def _stay_up(engine: Engine, name: str) -> str:
    """Start a node until it stays: a broker ends itself while its old session lives."""
    starts = 0

    def up() -> bool:
        nonlocal starts
        if engine.pid(name) is None:
            engine.start(name)
            starts += 1
        log = engine.log(name, since_start=True).decode(errors="replace")
        return node_settings.STARTED in log or (name.startswith("zk") and "binding to port" in log)

    wait_until(up, timeout_s=START_LIMIT_S, what=f"{name} to stay up", every_s=0.5)
    return "at once" if starts == 1 else f"{starts} times until it stayed"


def without_sdk() -> str | None:
    """The sentence that says that the SDK is missing, if it is."""
    if find_spec("docker") is None:
        return "the Python package docker is missing: pip install 'kafka-harness[docker]'"
    return None
