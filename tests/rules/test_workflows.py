"""The workflows are sound, and say no more than commands that work on a desk."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from harness.checkout import ROOT
from harness.setup.install import ACTIONLINT
from scripts.run_workflows import PASSED_OVER, commands_of_the_page, steps, workflow_of_the_page
from tests.support.needs import needs

TARGET = re.compile(r"^([a-z0-9-]+):.*?##", re.MULTILINE)


def workflows() -> list[Path]:
    return sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_actionlint_finds_nothing() -> None:
    needs("actionlint")
    done = subprocess.run(
        [ACTIONLINT, "-no-color", *workflows()], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_step_is_one_target_of_the_makefile_without_expressions() -> None:
    targets = "|".join(TARGET.findall((ROOT / "Makefile").read_text()))
    found = {file.name: [step.command for step in steps(file.name)] for file in workflows()}

    assert found
    assert [] == [name for name, commands in found.items() if not commands]
    assert [] == [
        f"{name}: {command}"
        for name, commands in found.items()
        for command in commands
        if "${{" in command or not re.fullmatch(rf"make ({targets})( .*)?", command.strip())
    ]


def test_each_job_of_the_nightly_has_its_backend() -> None:
    """YAML takes some words, such as `on`, for no words at all."""
    told = {step.environment["BACKEND"]: step.of_docker for step in steps("nightly.yml")}

    assert told == {"local": False, "docker": True}


def test_only_minikubes_job_and_that_of_hours_are_not_executed() -> None:
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text()

    assert PASSED_OVER == ("minikube", "tests")
    assert "minikube start" in text
    assert "make test-often" in text
    assert shutil.which("bash")


def test_the_workflow_to_copy_is_sound(tmp_path: Path) -> None:
    found = commands_of_the_page()

    assert any("kafka-harness run chaos/*.toml" in command for command in found)
    assert not any("${{" in command for command in found)
    (tmp_path / "kafka.yml").write_text(workflow_of_the_page())
    needs("actionlint")
    done = subprocess.run(
        [ACTIONLINT, "-no-color", tmp_path / "kafka.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
