"""Every `python -m NAME` of ours that the repository mentions is there to be started.

Makefile, scripts, pages, manifests and code are searched as text, so that it does not matter
whether a name stands in a sentence, on a command line or in a list of arguments.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT
from tests.support.source_files import PACKAGES

SEARCHED = (".ci", "docs", "images", "k8s", *PACKAGES)
UNREAD = {".json", ".jsonl", ".parquet", ".pyc"}  # data, and recorded runs with words of their time

# What may stand between -m and the name, or within the name where it varies: {module}, <name>.
BETWEEN = r"""["'`]?,?(?:\s|-\s)*(?:[bf]?["'])?"""
MENTIONED = re.compile(
    rf"-m{BETWEEN}((?:{'|'.join(PACKAGES)})(?:\.(?:\w+|{{[\w.]+}}|<\w+>))*)(?![\w.]*[/\w])"
)

IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error.name, f"({name})")
"""


def test_every_module_that_is_mentioned_can_be_started() -> None:
    names = {name: where for name, where in mentioned() if not _varies(name)}

    assert {"bench", "harness.run", "harness.setup.install", "analysis.studies.study"} <= {*names}
    assert {} == {name: where for name, where in names.items() if not _can_be_started(name)}


def test_every_module_that_is_mentioned_can_be_imported() -> None:
    """Workers, too, whose names are put together. What only an extra brings may be missing."""
    workers = {f"workloads.{file.stem}" for file in (ROOT / "workloads").glob("*.py")}
    names = {name for name, _ in mentioned() if not _varies(name)} | workers
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *sorted(names)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    missing = [line for line in done.stdout.splitlines() if line.startswith(PACKAGES)]

    assert ([], 0) == (missing, done.returncode), done.stderr


def test_a_name_that_varies_is_that_of_a_worker() -> None:
    varying = {re.split(r"\.[{<]", name)[0] for name, _ in mentioned() if _varies(name)}

    assert {"workloads"} == varying


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("run `python -m harness.gone` first", "harness.gone"),
        ('argv = [sys.executable, "-m", "harness.gone"]', "harness.gone"),
        ('    "-m",\n    "harness.gone",\n', "harness.gone"),
        ('words = (b"-m", b"harness.gone", folder)', "harness.gone"),
        ("command:\n  - -m\n  - harness.gone\n", "harness.gone"),
        ('[python, "-m", f"workloads.{module}"]', "workloads.{module}"),
        ("python -m\nanalysis.gone.", "analysis.gone"),
        ("python -m bench.", "bench"),
        ("pytest -m cluster tests/live", None),
        ('["grep", "-m", "1", "harness.log"]', None),
    ],
)
def test_a_name_is_found_wherever_it_stands(text: str, name: str | None) -> None:
    assert [name] * (name is not None) == MENTIONED.findall(text)


def mentioned() -> Iterator[tuple[str, str]]:
    """Each name, and the file that mentions it."""
    for file in _files():
        for name in MENTIONED.findall(file.read_text(errors="replace")):
            yield name, str(file.relative_to(ROOT))


def _files() -> Iterator[Path]:
    of_root = (file for file in ROOT.iterdir() if file.name != "CHANGELOG.md")
    inside = (file for folder in SEARCHED for file in (ROOT / folder).rglob("*"))
    for file in (*of_root, *inside):
        if file.is_file() and file.suffix not in UNREAD and file != Path(__file__):
            yield file


def _varies(name: str) -> bool:
    return name[-1] in ">}"


def _can_be_started(name: str) -> bool:
    """There is such a file, and it does something when it is the one that is started."""
    path = ROOT / name.replace(".", "/")
    files = [path / "__main__.py", path.with_suffix(".py")]
    return any(file.exists() and '__name__ == "__main__"' in file.read_text() for file in files)
