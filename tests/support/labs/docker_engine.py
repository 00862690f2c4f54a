"""Where the tests' commands run: beside a Docker engine, in its network.

The engine is the one that DOCKER_HOST names, else the one at /var/run/docker.sock, else one of our
own, which needs root and Debian's docker.io, and runs in private namespaces
(scripts/private-dockerd).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.checkout import ROOT
from harness.distribution import kafka_home
from harness.host import system_packages
from harness.setup import kafka_image
from tests.support.commands import COMMAND, Ran, give_up, newest
from tests.support.host_pace import bound_s

SCRIPT = ROOT / "scripts" / "private-dockerd"  # has limits of its own
IMAGE_LIMIT_S, RUN_LIMIT_S, END_LIMIT_S, HEAL_LIMIT_S = 900, 600, 120, 300


class NoEngine(RuntimeError):
    """There is none to be had; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Docker:
    """An engine's image, and how to run a command where its published ports are."""

    way: tuple[str, ...]
    image: str

    def argv(self, scenario: str, folder: Path, *more: str) -> list[str]:
        """The command that runs a scenario there."""
        return [
            *self.way,
            *COMMAND,
            "run",
            scenario,
            "--backend",
            "docker",
            "--set",
            f"backend.docker.image={self.image}",
            "--seed",
            "7",
            "--results",
            str(folder),
            *more,
        ]

    def begin(self, scenario: str, folder: Path, *more: str) -> subprocess.Popen[str]:
        """Begin a run there."""
        return subprocess.Popen(
            self.argv(scenario, folder, *more),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def carry_out(self, scenario: str, folder: Path, *more: str) -> Ran:
        """Carry out a run there."""
        return ended(self.begin(scenario, folder, *more), folder)

    def harness(self, *arguments: str) -> Ran:
        """Any other command, where a run would be."""
        done = subprocess.run(
            [*self.way, *COMMAND, *arguments],
            text=True,
            capture_output=True,
            timeout=bound_s(HEAL_LIMIT_S),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=None)


@contextmanager
def engine() -> Iterator[tuple[str, ...]]:
    """An engine, which clients find meanwhile; the way into its network. Raises NoEngine."""
    if host := system_packages.docker_host():
        yield _way_to(host)
        return
    if not system_packages.own_engine() or system_packages.program("dockerd") is None:
        raise NoEngine(
            f"no DOCKER_HOST, nothing answers at {system_packages.DOCKER_SOCKET}, and a Docker "
            "engine of our own needs root and docker.io"
        )
    with tempfile.TemporaryDirectory(prefix="khd-") as run:
        data = kafka_home.cache_folder() / "docker"
        begun = subprocess.run(
            [SCRIPT, "start", str(data), run], capture_output=True, text=True, check=False
        )
        if begun.returncode != 0:
            raise NoEngine(f"dockerd does not start: {begun.stderr.strip()}")
        os.environ["DOCKER_HOST"] = f"unix://{run}/docker.sock"
        try:
            yield _nets_of(begun.stdout.strip())
        finally:
            del os.environ["DOCKER_HOST"]
            subprocess.run([SCRIPT, "stop", run], check=True)


def _way_to(host: str) -> tuple[str, ...]:
    """Into the network of an engine that was started by the script; else there is none to enter."""
    if host == f"unix://{system_packages.DOCKER_SOCKET}":  # this host's, with a docker.pid as well
        return ()
    pid = Path(host.removeprefix("unix://")).parent / "docker.pid"
    return _nets_of(pid.read_text().strip()) if host.startswith("unix:") and pid.exists() else ()


def _nets_of(pid: str) -> tuple[str, ...]:
    return ("nsenter", "--net", "--target", pid)


def image() -> str:
    """Our image in that engine, made if it is not there. Raises NoEngine, TimeoutExpired."""
    made = subprocess.run(
        [*COMMAND, "image"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=bound_s(IMAGE_LIMIT_S),
        check=False,
    )
    if made.returncode != 0:
        raise NoEngine(made.stdout)
    return kafka_image.image_of(kafka_home.find_kafka())


def ended(process: subprocess.Popen[str], folder: Path) -> Ran:
    """A run that was begun, once it has ended."""
    try:
        out, _ = process.communicate(timeout=bound_s(RUN_LIMIT_S))
    except subprocess.TimeoutExpired:
        give_up(process, END_LIMIT_S)
        out, _ = process.communicate()
        raise AssertionError(
            f"not over after {bound_s(RUN_LIMIT_S):.0f} s; the run said:\n{out}"
        ) from None
    return Ran(code=process.returncode, out=out, err="", folder=newest(folder))
