"""Running the command itself, and what it left of a run."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "harness.cli"]
MARK = "KAFKA_HARNESS_TEST"  # in the environment of all that a test starts


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


def results(arguments: tuple[str, ...], tmp_path: Path) -> list[str]:
    """The option that sends a run's results to the test's own folder."""
    return ["--results", str(tmp_path)] if arguments[0] in ("run", "check", "report") else []


def newest(results_folder: Path) -> Path | None:
    """The newest run below a results folder."""
    latest = results_folder / "latest"
    return latest.resolve() if latest.exists() else None
