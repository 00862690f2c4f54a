"""docs/tutorial.md, followed to the letter in an empty folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.checkout import DOCS
from tests.support.commands import with_command
from tests.support.consoles import is_shown, steps


@pytest.mark.cluster
def test_every_command_of_the_tutorial_says_what_the_page_shows(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()

    for step in steps((DOCS / "tutorial.md").read_text()):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", step.command],
            cwd=folder,
            env=with_command(tmp_path / "bin"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        told = f"$ {step.command}\n{done.stdout}{done.stderr}"
        assert done.returncode == step.code, told
        assert is_shown(done.stdout, step.shown), told
