"""Brokers for the faults of disks, power and clocks: the files are real, the processes are not."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node
from harness.cluster.view.state import ClusterView
from harness.nemesis.options import Options
from harness.nemesis.targets import Roles
from harness.nemesis.verb import Injection

KAFKA1, KAFKA2 = local_nodes(1, 2)[1:]


@dataclass
class Nodes:
    """Processes that end when they are told to, disks that are folders, logs that are lists."""

    folder: Path
    pids: dict[str, int | None] = field(default_factory=lambda: {"kafka1": 11, "kafka2": 12})
    log: list[str] = field(default_factory=list)
    last: str | None = None
    done: list[tuple[str, ...]] = field(default_factory=list)
    offset_s: float = 0
    output: str = ""
    registered: int | None = 7
    stopped: set[str] = field(default_factory=set)

    def registration(self, node: Node) -> int | None:
        return self.registered

    def data_folder(self, node: Node) -> Path:
        return self.folder / node.name

    def sync_trace(self, node: Node) -> Path:
        return self.folder / f"{node.name}.trace"

    def wipe(self, node: Node) -> None:
        for file in self.data_folder(node).rglob("*.log"):
            file.unlink()

    def in_mounts_of(self, node: Node, argv: Any) -> str:
        self.done.append(tuple(argv))
        return ""

    def said(self, node: Node, pattern: str) -> str | None:
        return next((line for line in reversed(self.log) if re.search(pattern, line)), None)

    def state(self, node: Node) -> NodeState:
        return NodeState(pid=self.pids[node.name], stopped=node.name in self.stopped)

    def signal(self, node: Node, number: signal.Signals) -> None:
        if number == signal.SIGQUIT:
            self.log.append(
                f"{datetime.now() + timedelta(seconds=self.offset_s):%Y-%m-%d %H:%M:%S}"  # noqa: DTZ005
            )
            return
        self.done.append((number.name, node.name))
        if number == signal.SIGSTOP:
            self.stopped.add(node.name)
        elif number == signal.SIGCONT:
            self.stopped.discard(node.name)
        else:
            self.pids[node.name] = None

    def start_node(self, node: Node) -> None:
        self.done.append(("start", node.name))
        self.pids[node.name], self.last = 99, None

    def exited_early(self, node: Node) -> str | None:
        return self.last

    def set_clock(self, node: Node, offset_s: float) -> None:
        self.offset_s = offset_s

    def tamper(self, node: Node, options: Any) -> None:
        self.done.append(tuple(options))

    def tampered(self, node: Node) -> str:
        return self.output

    def leave_alone(self, node: Node) -> None:
        self.done.append(("leave alone",))

    def is_tampered(self, node: Node) -> bool:
        return ("leave alone",) not in self.done


def at(nodes: Nodes, *hit: Node, **options: Any) -> Injection:
    return Injection(
        fault=3,
        nodes=hit or (KAFKA1,),
        roles=cast(Roles, None),  # these faults ask for none
        cluster=cast(Cluster, nodes),
        view=cast(ClusterView, nodes),
        options=cast(Options, options),  # each verb makes its own of them
        seed=1,
    )
