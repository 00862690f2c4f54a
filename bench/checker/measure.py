"""What a tree of processes costs: CPU seconds of all of them, and the most memory at one time.

Memory is PSS: what several processes share counts once. Read from /proc, so Linux alone.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one task took."""

    cpu_s: float
    wall_s: float
    pss_bytes: int
    told: Mapping[str, Any] = field(default_factory=dict)  # what the worker said of it


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and all below it, and of those that they have waited for."""
    total = 0.0
    for process in _tree(pid):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def pss_bytes(pid: int) -> int:
    """The memory of a process and all below it."""
    total = 0
    for process in _tree(pid):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024
    return total


def _tree(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


class Worker:
    """A process that does one task after the other, told and answered in lines of JSON."""

    def __init__(self, *argv: str) -> None:
        began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.checker.worker", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()
        self.start = Cost(cpu_s=self._cpu_s(), wall_s=time.monotonic() - began, pss_bytes=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def do(self, task: str, **more: Any) -> Cost:
        """Let it do one task, and measure it."""
        assert self._process.stdin is not None
        before, began = self._cpu_s(), time.monotonic()
        with self._watched() as peak:
            self._process.stdin.write(json.dumps({"task": task, **more}) + "\n")
            self._process.stdin.flush()
            told = self._answer()
        return Cost(
            cpu_s=self._cpu_s() - before,
            wall_s=time.monotonic() - began,
            pss_bytes=max(peak),
            told=told,
        )

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the worker has ended: its words are above")
        told: dict[str, Any] = json.loads(line)
        return told

    def _cpu_s(self) -> float:
        return cpu_s(self._process.pid)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[list[int]]:
        """What its processes hold, looked at every now and then."""
        over, seen = threading.Event(), [0]

        def look() -> None:
            while not over.wait(LOOK_S):
                seen.append(pss_bytes(self._process.pid))

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield seen
        finally:
            seen.append(pss_bytes(self._process.pid))
            over.set()
            watcher.join()


def whole(argv: Sequence[str]) -> Cost:
    """A program from its start to its end: all of its processes, those that outlive it too."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.checker.whole", *argv], stdout=subprocess.PIPE, check=True
    )
    told = json.loads(done.stdout.splitlines()[-1])
    return Cost(cpu_s=told["cpu_s"], wall_s=told["wall_s"], pss_bytes=0)
