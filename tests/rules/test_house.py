"""The house keeps its own rules: who imports whom, who may wait or print.

Code is read as a syntax tree and never imported: a broken module breaks its own tests, not these.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT

PACKAGES = ("harness", "workloads", "analysis")

# The one place that waits; and those whose work it is to talk to a person or to a parent process.
MAY_SLEEP = {"harness.waiting"}
MAY_PRINT = {
    "harness.cli",
    "harness.setup.install",
    "harness.distribution.kafka_home",
    "harness.distribution.class_archives",
    "harness.setup.kafka_image",
    "workloads.worker",
}
NAMELESS = {"utils", "util", "common", "helpers", "helper", "misc", "base"}


@functools.cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, of all that is shipped."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return {_name(file): file for file in files}


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text())


def imports(module: str, *, late: bool = True) -> set[str]:
    """The modules of ours that `module` imports; without `late`, not those inside functions."""
    found: set[str] = set()
    for node in ast.walk(tree(module)) if late else _outside_functions(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = names & modules().keys()
            found |= inner if len(inner) == len(names) else inner | {node.module}
    return {name for name in found if name in modules()}


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _outside_functions(child)


def mentioned(module: str) -> set[str]:
    """Every name that the code uses, attributes with what they belong to: print, time.sleep."""
    nodes = ast.walk(tree(module))
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}


def under(name: str, *parents: str) -> bool:
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents)


every_module = pytest.mark.parametrize("module", sorted(modules()))


# --- who imports whom


def test_there_is_no_import_cycle() -> None:
    graph = {module: imports(module, late=False) - {module} for module in modules()}

    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"imports in a circle: {' -> '.join(error.args[1])}")


@every_module
def test_imports_go_one_way(module: str) -> None:
    """cli -> run -> nemesis -> cluster; only the histories' format is known to all packages."""
    area = next(area for area in MAY_NOT_IMPORT if under(module, area))
    wrong = {name for name in imports(module) if under(name, *MAY_NOT_IMPORT[area])}

    assert set() == wrong - _shared(module)


# The first that fits counts. Who may import run or cli themselves is a matter of cycles.
MAY_NOT_IMPORT = {
    "workloads": ("harness", "analysis"),
    "analysis": ("harness", "workloads"),
    "harness.cluster": ("harness.nemesis", "harness.run", "harness.cli", "workloads", "analysis"),
    "harness.nemesis": ("harness.run", "harness.cli", "workloads", "analysis"),
    "harness": ("workloads", "analysis"),
}


def _shared(module: str) -> set[str]:
    """What the rule lets through: the history's format, and the check once it is asked for."""
    late = imports(module) - imports(module, late=False)
    in_layers = under(module, "harness.cluster", "harness.nemesis")
    checks = {name for name in late if under(name, "analysis")} if not in_layers else set()
    history = {"harness.history.recorder", "harness.history.tables", "harness.checkout"}
    return checks | (history if not under(module, "harness") else set())


def test_the_package_s_own_file_imports_nothing() -> None:
    """So that harness.history.recorder brings nothing with it into a worker or a Spark executor."""
    assert not any(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.walk(tree("harness")))


def test_history_needs_the_standard_library_only() -> None:
    roots = {
        name.split(".")[0]
        for node in ast.walk(tree("harness.history.recorder"))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert set() == roots - sys.stdlib_module_names


def test_set_up_starts_before_anything_is_installed() -> None:
    """What it imports, and what that imports, is the standard library's or ours."""
    seen: set[str] = set()
    todo = {"harness.setup.install"}
    while todo:
        module = todo.pop()
        seen.add(module)
        todo |= imports(module, late=False) - seen
        names = re.findall(r"^(?:from|import) (\w+)", modules()[module].read_text(), re.MULTILINE)
        assert set() == {*names} - sys.stdlib_module_names - {"harness"}, module


# --- manners


@every_module
def test_only_waiting_sleeps_and_only_a_few_print(module: str) -> None:
    names = mentioned(module)

    assert module in MAY_SLEEP or names.isdisjoint({"time.sleep", "sleep"})
    assert module in MAY_PRINT or "print" not in names


@every_module
def test_every_module_has_a_name_of_its_own(module: str) -> None:
    assert set(module.split(".")).isdisjoint(NAMELESS)


@every_module
def test_records_are_frozen_or_say_why_not(module: str) -> None:
    """A dataclass that changes is a thing with a life, not a record; it is keyword-only even so."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ClassDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.startswith("dataclass"):
                    assert "kw_only=True" in decorator, f"{node.name}: positional fields"
                    assert "frozen=True" in decorator or ast.get_docstring(node), node.name


# --- what must be documented


def test_every_verb_of_the_nemesis_is_described() -> None:
    page = _page("faults.md")

    assert [] == [
        verb for verb in _names("harness.nemesis.verbs", "VERBS") if f"`{verb}`" not in page
    ]


def test_every_anomaly_is_described() -> None:
    page = _page("anomalies.md")

    assert [] == [
        name for name in _names("analysis.verdict.expectations", "ANOMALIES") if name not in page
    ]


def _page(name: str) -> str:
    page = ROOT / "docs" / name
    if not page.exists():
        pytest.skip(f"docs/{name} is not written yet")
    return page.read_text()


def _names(module: str, name: str) -> list[str]:
    """The strings of a module's one tuple, or of the keys of its one dict, called `name`."""
    for node in tree(module).body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in map(ast.unparse, targets):
                parts = node.value.keys if isinstance(node.value, ast.Dict) else None
                parts = parts or getattr(node.value, "elts", [])
                return [ast.literal_eval(part) for part in parts if part is not None]
    pytest.fail(f"{module} has no {name}")


@pytest.mark.parametrize(
    "target", ["demo", "test", "check", "bench", "study", "backends-table", "bench-backends"]
)
def test_the_makefile_has_what_the_readme_promises(target: str) -> None:
    assert re.search(rf"^{target}: ## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_ci_runs_what_people_run() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
