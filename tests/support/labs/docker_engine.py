"""Where the tests' commands run: beside a Docker engine, in its network."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import COMMAND, Ran, newest


@dataclass(frozen=True, kw_only=True)
class Docker:
    """An engine, the image for it, and how to run a command where its published ports are."""

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

    def run(self, scenario: str, folder: Path, *more: str) -> Ran:
        """Carry out a run there."""
        return ended(self.begin(scenario, folder, *more), folder)

    def harness(self, *arguments: str) -> Ran:
        """Any other command, where a run would be."""
        done = subprocess.run(
            [*self.way, *COMMAND, *arguments],
            text=True,
            capture_output=True,
            timeout=600,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=None)


def ended(process: subprocess.Popen[str], folder: Path) -> Ran:
    """A run that was begun, once it has ended."""
    out, _ = process.communicate(timeout=600)
    return Ran(code=process.returncode, out=out, err="", folder=newest(folder))
