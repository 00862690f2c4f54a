"""golden/: report.json of each golden run (tests/golden)."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from analysis.job.job import check
from harness.checkout import ROOT

GOLDEN_RUNS = ROOT / "tests" / "golden"


def golden_names() -> list[str]:
    """The files that keep the reports of the golden runs."""
    return sorted(f"golden/{path.name}.json" for path in GOLDEN_RUNS.iterdir() if path.is_dir())


def golden_texts() -> dict[str, str]:
    """The report of each golden run, by the file that keeps it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            name: shutil.copytree(GOLDEN_RUNS / Path(name).stem, Path(folder) / Path(name).stem)
            for name in golden_names()
        }
        check(list(paths.values()))
        return {name: lasting(path / "report.json") for name, path in paths.items()}


def lasting(report: Path) -> str:
    """A report.json without what would differ the next time: nothing of it does, as the facts of
    host, versions and times are those of the recorded run, and paths are not told."""
    return json.dumps(json.loads(report.read_text()), indent=1, ensure_ascii=False) + "\n"
