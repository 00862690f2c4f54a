"""Who imports whom: pyproject.toml's contracts, and what must start where nothing is installed."""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from harness.checkout import ROOT
from tests.support.source_files import nodes, python_files, tree

OURS = ("harness", "workloads", "analysis", "tests", "bench")
WITHOUT_PACKAGES = {
    "harness.setup.install": "scripts/setup starts it, before there is a virtual environment",
    "tests.support.labs.kubernetes_lab": ".ci/run starts it beside set-up, on the system's Python",
    "harness.history.recorder": "workers import it, and measure nothing but Kafka",
    "harness.history.record_format": "workers import it",
    "harness.history.progress_page": "workers import it",
    "harness.nemesis.faults.network.delay_queue": "it is run as text, beside a node",
}


def test_nothing_imports_what_stands_above_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `make lint` does; the contracts stand in pyproject.toml."""
    monkeypatch.chdir(ROOT)

    broken = lint_imports(no_cache=True, no_logo=True)

    said = capsys.readouterr().out
    assert not broken, said


@pytest.mark.parametrize("module", WITHOUT_PACKAGES)
def test_what_starts_where_nothing_is_installed_needs_the_standard_library_alone(
    module: str,
) -> None:
    """Late imports count, and so do the `__init__` files above each module: Python runs them."""
    todo, seen = {module}, set[str]()
    while todo:
        name = todo.pop()
        seen.add(name)
        imported = _imports(name)
        roots = {each.partition(".")[0] for each in imported}
        assert set() == roots - {*OURS} - sys.stdlib_module_names, name
        todo |= {each for each in imported | _parents(name) if _file(each)} - seen


def test_what_is_run_as_text_imports_nothing_of_ours() -> None:
    imported = _imports("harness.nemesis.faults.network.delay_queue")

    assert set() == {name for name in imported if name.partition(".")[0] in OURS}


def test_a_room_s_own_file_only_says_what_is_inside() -> None:
    """Whoever imports one module of it runs that file too. One has a door for notebooks."""
    rooms = {file: tree(file) for file in python_files() if file.endswith("__init__.py")}
    door = rooms.pop("analysis/__init__.py")

    assert len(rooms) > 50
    assert [] == [file for file, code in rooms.items() if not ast.get_docstring(code)]
    assert [] == [f"{file} does more" for file, code in rooms.items() if len(code.body) > 1]
    assert ast.get_docstring(door)
    assert 1 == len([each for each in door.body if getattr(each, "name", None) == "open"])


def _imports(module: str) -> set[str]:
    """Every dotted name that a module imports, `a.b` and `a.b.c` of `from a.b import c`."""
    found: set[str] = set()
    file = _file(module)
    assert file, module
    for node in nodes(file.relative_to(ROOT).as_posix()):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{module}: a relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


@functools.cache
def _file(module: str) -> Path | None:
    """Where a module of this checkout is; None of a name in it, and of anybody else's."""
    path = ROOT.joinpath(*module.split("."))
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.exists()), None)
