"""Records several runs at a time, each by a command of its own; they are checked one by one.

    kafka-harness campaign once.toml --parallel 2

A run's command prints into a file beside its folder, which is removed when it ended well. It gets a
signal to end when this process ends. Runs at the same time take CPU from each other: pages show how
calm each run's host was.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from harness.host import machine, system_packages
from harness.model.exit_codes import FAILED, VALID
from harness.model.runs.ledger_line import Line
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Request, command_line

RUN_BYTES: Final = 3 * 2**30  # six JVMs, the workers and what they log


class Recordings(AbstractContextManager["Recordings"]):
    """The recordings of a campaign; leaving the block ends those that still run."""

    def __init__(self, many: int, results: Path) -> None:
        self._results = results
        self._pool = ThreadPoolExecutor(many, thread_name_prefix="recording")
        self._live: list[subprocess.Popen[str]] = []
        self._over = False

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in self._live:
            process.terminate()
        self._pool.shutdown(wait=True)

    def begin(self, request: Request, begun: Callable[[], Line]) -> Future[tuple[Line, int]]:
        """Record a run as soon as there is room; `begun` is called then. Comes to what that gave,
        and the exit code of the recording."""
        return self._pool.submit(self._record, request, begun)

    def _record(self, request: Request, begun: Callable[[], Line]) -> tuple[Line, int]:
        names = begun()
        self._results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile("w+", dir=self._results) as said:
            with subprocess.Popen(
                [*system_packages.dying_along("TERM"), *_command(request, self._results)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                text=True,
            ) as process:
                self._live.append(process)
                if self._over:  # since it was about to be started
                    process.terminate()
                code = process.wait()
            self._live.remove(process)
            if code == FAILED:
                said.seek(0)
                sys.stderr.write(said.read())
        return names, FAILED if code < VALID else code


def _command(request: Request, results: Path) -> list[str]:
    options = [*shlex.split(command_line(request))[1:], "--no-check", "--results", str(results)]
    return [sys.executable, "-P", "-m", "harness.cli", *options]


def require_room(many: int) -> None:
    """Raise ScenarioError where this host has too little room for so many runs at once."""
    host = machine.describe()
    room = max(1, min(host["cpus"], host["memory_bytes"] // RUN_BYTES))
    if many > room:
        raise ScenarioError(
            f"--parallel {many}: this host has room for {room} (a run takes a CPU and 3 "
            "GiB): ask for fewer"
        )
