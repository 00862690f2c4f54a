"""The commands of .github/workflows, executed as a CI machine would, in a clean clone.

    python -m scripts.run_workflows          nightly's jobs with a campaign of one cell, two nights
    python -m scripts.run_workflows --all    ci's too: lint, and all tests

Then those of docs/ci.md's workflow for GitHub, in a repository that holds only a scenario, with a
wheel made here.

Steps that `uses:` an action are passed over, and so are the jobs of PASSED_OVER, `sudo` where
there is none, and the docker job where no engine can be had (tests.support.labs.docker_engine).
The second night runs in the same clone, as the cache would bring the first one's ledger, which is
a day old by then.
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
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

from harness.checkout import ROOT
from harness.cluster.docker.images import VARIABLES
from tests.support.labs import docker_engine
from tests.support.labs.docker_engine import Docker

ONE_CELL = "tests/support/one_cell.toml"
PASSED_OVER = ("minikube", "tests")  # one needs minikube, the other takes hours
PAGE = ROOT / "docs" / "ci.md"
MINE = 'title = "Ours"\nextends = "baseline"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that is a command, and what its job adds to the environment."""

    words: str
    command: str
    environment: Mapping[str, str]

    @property
    def of_docker(self) -> bool:
        """Whether its job is docker's."""
        return self.environment.get("BACKEND") == "docker"


def main() -> int:
    """Execute them; the first failing step's code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.run_workflows", description=__doc__)
    parser.add_argument("--all", action="store_true", help="ci.yml too, an hour")
    parser.add_argument("--jobs", nargs="*", default=None, help="these jobs only")
    asked = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workflows-")))
        clone, docker = place / "clone", _engine(stack)
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        night = [step for step in steps("nightly.yml", asked.jobs) if docker or not step.of_docker]
        # Outside: an engine of our own has a network without a way out.
        first = Step(words="make setup", command="make setup", environment={})
        code = _execute([first, *night], clone, docker)
        _a_day_passes(clone / "nights")
        code = code or _execute(night, clone, docker)
        if asked.all:
            code = code or _execute(list(steps("ci.yml", asked.jobs)), clone, docker)
        return code or _execute(_of_a_user(place), place / "theirs", docker)


def _engine(stack: ExitStack) -> Docker | None:
    """Where the docker job's steps run; None, and why is said, where they cannot."""
    try:
        way = stack.enter_context(docker_engine.engine())
        return Docker(way=way, image=docker_engine.image())
    except docker_engine.NoEngine as error:
        sys.stdout.write(f"docker's job is passed over: {error}\n")
        return None


def _a_day_passes(nights: Path) -> None:
    """Tonight's files become last night's."""
    for file in sorted(nights.rglob("????-??-??.*")):
        before = date.fromisoformat(file.stem) - timedelta(days=1)
        file.rename(file.with_stem(before.isoformat()))


def _execute(found: Sequence[Step], folder: Path, docker: Docker | None) -> int:
    """Execute steps until one fails: its code."""
    for step in found:
        words, command = step.words, step.command
        if command.startswith("sudo ") and shutil.which("sudo") is None:
            sys.stdout.write(f"{words}: passed over, there is no sudo\n")
            continue
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
        inside = docker if step.of_docker else None
        images = dict.fromkeys(VARIABLES, inside.image) if inside else {}
        code = subprocess.run(
            [*(inside.way if inside else ()), "bash", "-e", "-c", command],
            cwd=folder,
            env={**os.environ, **step.environment, **images},
            check=False,
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
        Step(
            words=f"docs/ci.md: {command}",
            command=command,
            environment={"KAFKA_HARNESS_WHEEL": str(wheel)},
        )
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
        if job in PASSED_OVER or (jobs and job not in jobs):
            continue
        for step in told["steps"]:
            if "run" in step:
                yield Step(
                    words=f"{name}: {job}: {step['run']}",
                    command=step["run"],
                    environment=_environment(told),
                )


def _environment(job: Mapping[str, Any]) -> dict[str, str]:
    own = {str(key): str(value) for key, value in job.get("env", {}).items()}
    return {**own, "CAMPAIGN": ONE_CELL}


if __name__ == "__main__":
    raise SystemExit(main())
