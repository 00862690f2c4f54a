"""golden/: report.json of each golden run (tests/golden)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from analysis.job.job import check
from harness.checkout import ROOT

GOLDEN_RUNS = ROOT / "tests" / "golden"


def golden_names() -> list[str]:
    """The files that keep the reports of the golden runs."""
    return sorted(f"golden/{path.name}.json" for path in GOLDEN_RUNS.iterdir() if path.is_dir())


def check_golden_runs(folder: Path) -> None:
    """Copy the golden runs into a folder, and check them there."""
    names = [Path(name).stem for name in golden_names()]
    check([shutil.copytree(GOLDEN_RUNS / name, folder / name) for name in names])


def golden_texts(folder: Path) -> dict[str, str]:
    """The report of each golden run that was checked there, by the file that keeps it."""
    return {name: lasting(folder / Path(name).stem / "report.json") for name in golden_names()}


def lasting(report: Path) -> str:
    """A report.json without what would differ the next time: nothing of it does, as the facts of
    host, versions and times are those of the recorded run, and paths are not told."""
    return json.dumps(json.loads(report.read_text()), indent=1, ensure_ascii=False) + "\n"
