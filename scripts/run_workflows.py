"""The commands of .github/workflows, executed as a CI machine would, in a clean clone.

    python -m scripts.run_workflows          nightly's jobs with a campaign of one cell, two nights
    python -m scripts.run_workflows --all    ci's too: lint, and all tests

Steps that `uses:` an action are named and passed over, and so is the job that needs minikube. A
second night runs in the same clone, as the cache would bring the first one's ledger.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.checkout import ROOT

ONE_CELL = "tests/support/one_cell.toml"
ELSEWHERE = ("minikube",)


def main() -> int:
    """Execute them; the first failing step's code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.run_workflows", description=__doc__)
    parser.add_argument("--all", action="store_true", help="ci.yml too, an hour")
    parser.add_argument("--jobs", nargs="*", default=None, help="these jobs only")
    asked = parser.parse_args()
    names = ["nightly.yml", "nightly.yml", *(["ci.yml"] if asked.all else [])]
    with tempfile.TemporaryDirectory(prefix="workflows-") as place:
        clone = Path(place) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        for name in names:
            for words, command, environment in steps(name, asked.jobs):
                sys.stdout.write(f"{words}\n")
                sys.stdout.flush()
                code = subprocess.run(
                    ["bash", "-e", "-c", command], cwd=clone, env=environment, check=False
                ).returncode
                if code:
                    sys.stdout.write(f"{words}: ended with {code}\n")
                    return code
    return 0


def steps(name: str, jobs: list[str] | None = None) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each step that is a command: its name, the command, and the environment that it has."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    for job, told in workflow["jobs"].items():
        if job in ELSEWHERE or (jobs and job not in jobs):
            continue
        for step in told["steps"]:
            if "run" in step:
                yield f"{name}: {job}: {step['run']}", step["run"], _environment(told)


def _environment(job: Mapping[str, Any]) -> dict[str, str]:
    own = {str(key): str(value) for key, value in job.get("env", {}).items()}
    return {**os.environ, **own, "CAMPAIGN": ONE_CELL}


if __name__ == "__main__":
    raise SystemExit(main())
