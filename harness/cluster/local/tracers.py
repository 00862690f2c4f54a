"""strace attached to a node's running process, to delay or fail its system calls."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.cluster.local.node_files import NodeFiles
from harness.cluster.local.node_processes import NodeProcesses
from harness.cluster.nodes import Node


class Tracers:
    """At most one tracer for each node."""

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
