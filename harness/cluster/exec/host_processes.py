"""Runs processes on the harness's host for a cluster that is elsewhere: the workers.

    host = HostProcesses()
    host.spawn(argv, log=path)      a worker
    host.stand_in(argv)             a program that stands for one elsewhere
    host.run(argv)                  a short command, and what it printed

Processes die with the harness, even by SIGKILL. The kernel sends its death signal when the thread
that started a process ends (prctl(2), PR_SET_PDEATHSIG), so one thread starts them all and lives as
long as the harness. Without setpriv they may outlive it, until their own time limits.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from harness.cluster.nodes import ClusterError
from harness.host import system_packages


class HostProcesses:
    """Starts processes on this host until it is closed."""

    def __init__(self) -> None:
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker: stdin and stdout are pipes, stderr goes to `log`."""
        with log.open("a") as stderr:
            return self._start(argv, stdin=subprocess.PIPE, stderr=stderr, start_new_session=True)

    def stand_in(self, argv: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program without input; its stdout, errors included, is a pipe."""
        return self._start(argv, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def run(self, argv: Sequence[str]) -> str:
        """Run a command to its end. Raises ClusterError when it fails."""
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            raise ClusterError(f"{argv[0]}: {said}")
        return done.stdout

    def source_towards(self, end: tuple[str, int]) -> str:
        """The address that this host's packets to there have; nothing is sent."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(end)
            return str(probe.getsockname()[0])

    def close(self) -> None:
        """End the thread; what it started and is not ended ends now."""
        self._spawner.shutdown()

    def _start(self, argv: Sequence[str], **how: Any) -> subprocess.Popen[str]:
        argv = [*system_packages.dying_along("KILL"), *argv]
        begin = partial(subprocess.Popen[str], argv, stdout=subprocess.PIPE, text=True)
        return self._spawner.submit(begin, **how).result()
