"""Real clusters: the command itself is run, and whatever it leaves behind fails the test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

COMMAND = [sys.executable, "-m", "harness.cli"]
OURS = ("java", "unshare", "harness.run", "harness.up", "workloads.")


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str
    folder: Path | None

    def record(self, name: str = "run.json") -> dict[str, Any]:
        """One of the run folder's JSON files."""
        assert self.folder is not None, self.out + self.err
        loaded: dict[str, Any] = json.loads((self.folder / name).read_text())
        return loaded

    @property
    def report(self) -> dict[str, Any]:
        """What the check found."""
        return self.record("report.json")


def traces() -> set[str]:
    """What a run could leave on this host: processes, namespaces, links, mounts and rules."""
    left = set()
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if any(mark in words for mark in OURS) and process.pid != psutil.Process().pid:
            left.add(f"process {process.pid}: {words[:120]}")
    left |= {f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines()}
    for argv in (["ip", "-o", "link"], ["ip", "netns"], ["lsns", "-n", "-t", "net", "-o", "NS"]):
        said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        left |= {f"{argv[0]}: {' '.join(line.split()[:2])}" for line in said.splitlines()}
    rules = subprocess.run(["iptables", "-S"], capture_output=True, text=True, check=False).stdout
    return left | {f"rule {line}" for line in rules.splitlines()}


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    before = traces()
    yield
    left = traces() - before
    assert not left, "\n".join(sorted(left))


@pytest.fixture
def harness(tmp_path: Path) -> Callable[..., Ran]:
    """Runs `kafka-harness ARGUMENTS` to its end; `run` gets a results folder of the test's own."""

    def call(*arguments: str, timeout: float = 300) -> Ran:
        done = subprocess.run(
            [*COMMAND, *arguments, *results(arguments, tmp_path)],
            capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(tmp_path))

    return call


def results(arguments: tuple[str, ...], tmp_path: Path) -> list[str]:
    """The option that sends a run's results to the test's own folder."""
    return ["--results", str(tmp_path)] if arguments[0] in ("run", "check", "report") else []


def newest(results_folder: Path) -> Path | None:
    """The newest run below a results folder."""
    latest = results_folder / "latest"
    return latest.resolve() if latest.exists() else None
