"""Running the command itself, and what it left of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

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


def carried_out(scenario: str, folder: Path, limit_s: float = 600) -> Ran:
    """One run of a scenario file beside the tests, for all tests of a module."""
    file = Path(__file__).with_name(scenario)
    done = subprocess.run(
        [*COMMAND, "run", str(file), "--seed", "7", "--results", str(folder)],
        capture_output=True, text=True, timeout=limit_s, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(folder))


def faults_of(run: Ran) -> list[dict[str, Any]]:
    """The faults of a run, in the order of its plan."""
    assert run.folder is not None, run.out + run.err
    rows = pq.read_table(run.folder / "history" / "faults.parquet").to_pylist()
    return sorted(rows, key=lambda row: row["step"])


def results(arguments: tuple[str, ...], tmp_path: Path) -> list[str]:
    """The option that sends a run's results to the test's own folder."""
    return ["--results", str(tmp_path)] if arguments[0] in ("run", "check", "report") else []


def newest(results_folder: Path) -> Path | None:
    """The newest run below a results folder."""
    latest = results_folder / "latest"
    return latest.resolve() if latest.exists() else None
