"""CONTRIBUTING.md's recipes, followed to the letter in a copy of the checkout.

    `PATH`:                        the block below is the whole file
    `PATH`, below `LINE`:          the block below goes under the line that holds LINE
                                   (of `text`, if it is no Python by itself: formatters read it)
    a block of `console`           its commands, `$ …`, must end with 0

A section "Add a …" may have any number of them, in the order in which they are to be done.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.checkout import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
SECTION = re.compile(r"^## (Add a .*?)\n(.*?)(?=^## [A-Z]|\Z)", re.MULTILINE | re.DOTALL)
STEP = re.compile(
    r"`(?P<path>[\w./-]+)`(?:, below `(?P<anchor>[^`]+)`)?:\n+"
    r"```(?:python|toml|markdown|text)\n(?P<text>.*?)```"
    r"|```console\n(?P<commands>.*?)```",
    re.DOTALL,
)
LIMIT_S = 600  # of each command


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A section of the page: what it writes where, and what must then pass."""

    title: str
    text: str

    def follow(self, checkout: Path) -> list[str]:
        """Write its files; the commands that it gives."""
        commands: list[str] = []
        for step in STEP.finditer(self.text):
            if step["commands"]:
                lines = step["commands"].splitlines()
                commands += [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            elif step["anchor"]:
                insert(checkout / step["path"], step["anchor"], step["text"])
            else:
                (checkout / step["path"]).parent.mkdir(parents=True, exist_ok=True)
                (checkout / step["path"]).write_text(step["text"])
        return commands


def recipes() -> list[Recipe]:
    found = [Recipe(title=m[1], text=m[2]) for m in SECTION.finditer(PAGE.read_text())]
    return [recipe for recipe in found if STEP.search(recipe.text)]


def insert(file: Path, anchor: str, text: str) -> None:
    """Below the one line that holds the anchor."""
    lines = file.read_text().splitlines(keepends=True)
    (number,) = [number for number, line in enumerate(lines) if anchor in line]
    file.write_text("".join([*lines[: number + 1], text, *lines[number + 1 :]]))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout as it stands, uncommitted changes too."""
    folder = tmp_path_factory.mktemp("recipes") / "checkout"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def test_there_is_a_recipe_with_code_for_a_fault_a_worker_and_a_checker() -> None:
    assert {"Add a fault", "Add a worker", "Add a checker"} <= {r.title for r in recipes()}


@pytest.mark.jvm  # the checker's recipe lets Spark check its histories
@pytest.mark.timeout(0)  # each command has its own
@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_a_recipe_does_what_it_says(recipe: Recipe, checkout: Path) -> None:
    """One copy for all: what they add must also live side by side."""
    commands = recipe.follow(checkout)

    assert commands, "a recipe ends with the commands that must pass"
    for command in commands:
        run(command, checkout)


def run(command: str, checkout: Path) -> None:
    argv = shlex.split(command)
    assert argv[0] == ".venv/bin/python", "the copy has no .venv: call tools as modules of Python"
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, *argv[1:]],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
