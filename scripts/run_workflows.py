"""The commands of .github/workflows, executed as a CI machine would, in a clean clone.

    python -m scripts.run_workflows          nightly's jobs with a campaign of one cell, two nights
    python -m scripts.run_workflows --all    ci's too: lint, and all tests

Then those of docs/ci.md's workflow for GitHub, in a repository that holds only a scenario, with a
wheel made here.

Steps that `uses:` an action are passed over, and so are the job that needs minikube and `sudo`
where there is none. A second night runs in the same clone, as the cache would bring the first one's
ledger.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness.checkout import ROOT

ONE_CELL = "tests/support/one_cell.toml"
ELSEWHERE = ("minikube",)
PAGE = ROOT / "docs" / "ci.md"
MINE = 'title = "Ours"\nextends = "baseline"\n'
Step = tuple[str, str, dict[str, str]]  # its name, the command, the environment


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
        ours = [step for name in names for step in steps(name, asked.jobs)]
        code = _execute(ours, clone)
        return code or _execute(_of_a_user(Path(place)), Path(place) / "theirs")


def _execute(found: Sequence[Step], folder: Path) -> int:
    """Execute steps until one fails: its code."""
    for words, command, environment in found:
        if command.startswith("sudo ") and shutil.which("sudo") is None:
            sys.stdout.write(f"{words}: passed over, there is no sudo\n")
            continue
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
        code = subprocess.run(
            ["bash", "-e", "-c", command], cwd=folder, env=environment, check=False
        ).returncode
        if code:
            sys.stdout.write(f"{words}: ended with {code}\n")
            return code
    return 0


def _of_a_user(place: Path) -> list[Step]:
    """The steps of docs/ci.md, and a repository for them."""
    theirs, dist = place / "theirs", place / "dist"
    (theirs / "chaos").mkdir(parents=True)
    (theirs / "chaos" / "mine.toml").write_text(MINE)
    build = [sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(dist)], check=True, cwd=ROOT)
    [wheel] = dist.glob("*.whl")
    return [
        (f"docs/ci.md: {command}", command, {**os.environ, "KAFKA_HARNESS_WHEEL": str(wheel)})
        for command in commands_of_the_page()
    ]


def workflow_of_the_page() -> str:
    """docs/ci.md's workflow for GitHub."""
    of_github = re.compile(r"^## GitHub$.*?^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    [block] = of_github.findall(PAGE.read_text())
    return str(block)


def commands_of_the_page() -> list[str]:
    """What that workflow runs."""
    [job] = yaml.safe_load(workflow_of_the_page())["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def steps(name: str, jobs: list[str] | None = None) -> Iterator[Step]:
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
