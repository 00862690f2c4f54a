"""The nodes' JVMs: each a child of the harness, in the node's network namespace, with its log.

`ip netns exec` also gives each a mount namespace of its own. A node may be started any number of
times; its log goes on, and remembers where the last start was.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.cluster.capabilities import Dump, NodeState
from harness.cluster.local import launch_modes
from harness.cluster.local.network import run
from harness.cluster.local.node_files import NodeFiles
from harness.cluster.node_settings import KRAFT_STARTED
from harness.cluster.nodes import ClusterError, Node
from harness.distribution.kafka_home import (
    KAFKAS_CLASS,
    ZOOKEEPERS_CLASS,
    KafkaHome,
    Role,
    java_options,
)
from harness.distribution.known_keys import has_class
from harness.host import machine
from harness.host.java import Java

DUMPS = ("kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments")  # since 4.2
LAST_LINES, LAST_BYTES = 12, 16384


@dataclass(frozen=True, kw_only=True)
class _Started:
    """A node's process, its log, and where the log stood when it was started last."""

    process: subprocess.Popen[bytes]
    log: Path
    log_start: int

    def said(self) -> list[str]:
        """The lines of its log since then."""
        with self.log.open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode(errors="replace").splitlines()


class NodeProcesses:
    """Starts, signals and ends the nodes' JVMs; `logs` is the run's folder of node logs."""

    def __init__(self, home: KafkaHome, java: Java, files: NodeFiles, logs: Path) -> None:
        self._home, self._java, self._files, self._logs = home, java, files, logs
        self._started: dict[str, _Started] = {}
        self.ways: frozenset[str] = frozenset()  # how nodes are started: launch_modes

    def start(self, node: Node) -> None:
        """Start the node's JVM; returns at once. Raises ClusterError where it has one."""
        if self.of(node) is not None:
            raise ClusterError(f"{node.name} is already running")
        log = self._logs / f"{node.name}.log"
        with log.open("ab") as output:
            start = output.tell()
            process = subprocess.Popen(
                self._command(node),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **launch_modes.environment(self.ways, self._files.clock(node))},
            )
        self._started[node.name] = _Started(process=process, log=log, log_start=start)

    def of(self, node: Node) -> subprocess.Popen[bytes] | None:
        """The node's process; None when it has none."""
        started = self._started.get(node.name)
        return started.process if started and started.process.poll() is None else None

    def required(self, node: Node) -> subprocess.Popen[bytes]:
        """The node's process. Raises ClusterError when there is none."""
        process = self.of(node)
        if process is None:
            raise ClusterError(f"{node.name} has no running process")
        return process

    def signal(self, node: Node, number: signal.Signals) -> None:
        """Send a signal to the node's JVM. Raises ClusterError when there is none."""
        self.required(node).send_signal(number)

    def state(self, node: Node) -> NodeState:
        """The node's process as the kernel sees it."""
        process = self.of(node)
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

    def last_lines(self, node: Node) -> str:
        """The last lines of the node's log."""
        with (self._logs / f"{node.name}.log").open("rb") as log:
            return _last_lines(log)

    def said(self, node: Node, pattern: str) -> str | None:
        """The last line that the node logged since it was started last and that has `pattern`."""
        lines = self._started[node.name].said()
        return next((line for line in reversed(lines) if re.search(pattern, line)), None)

    def registered(self, broker: Node) -> bool:
        """Whether the broker accepts connections: it does so only once it is registered, and not
        fenced. Of a controller: whether it has started."""
        log = self._started[broker.name].log.read_text(errors="replace")
        if self._files.settings.metadata == "zookeeper":
            return f"[KafkaServer id={broker.id}] started" in log
        return KRAFT_STARTED in log

    def in_mounts_of(self, node: Node, argv: Sequence[str]) -> str:
        """Run a command in the mount namespace that `ip netns exec` made for the node's process."""
        process = self.required(node)
        return run(["nsenter", "-t", str(process.pid), "-m", *argv])

    def start_dump(self, node: Node, log: str, name: str) -> Dump:
        """Begin to dump what the broker has of a log, record by record."""
        segments = sorted((self._files.data(node) / log).glob("*.log"))
        argv = [
            str(self._java.path),
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={self._files.temporary()}",
            "-cp",
            self._home.class_path,
            next(tool for tool in DUMPS if has_class(self._home, tool)),
            "--print-data-log",
            "--files",
            ",".join(map(str, segments)),
        ]
        with (self._logs / name).open("wb") as output:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        return Dump(process=process, file=self._logs / name)

    def close(self) -> None:
        """Kill every node."""
        for started in self._started.values():
            if started.process.poll() is None:
                started.process.kill()
        for started in self._started.values():
            started.process.wait()

    def _command(self, node: Node) -> list[str]:
        traced = launch_modes.SYNC_TRACE in self.ways and node.role != "zookeeper"
        return [
            "ip",
            "netns",
            "exec",
            node.name,
            *(launch_modes.traced(self._files.trace(node)) if traced else ()),
            str(self._java.path),
            *java_options(self._role(node), self._home, self._java),
            f"-Djava.io.tmpdir={self._files.temporary()}",
            f"-Dlog4j.configuration=file:{self._files.log4j()}",
            "-cp",
            self._home.class_path,
            ZOOKEEPERS_CLASS if node.role == "zookeeper" else KAFKAS_CLASS,
            str(self._files.config(node)),
        ]

    def _role(self, node: Node) -> Role:
        if node.role == "zookeeper":
            return "zookeeper"
        if self._files.settings.metadata == "zookeeper":
            return "kafka"
        return "kraft-broker" if node.role == "broker" else "kraft-controller"


def _last_lines(log: IO[bytes]) -> str:
    """The last lines from where the log is open on."""
    log.seek(max(log.tell(), os.fstat(log.fileno()).st_size - LAST_BYTES))
    lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-LAST_LINES:])
