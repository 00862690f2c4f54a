"""The house keeps its own rules: who may wait or print, what is described.

Code is read as a syntax tree and never imported: a broken module breaks its own tests, not these.
"""

from __future__ import annotations

import ast
import functools
import re
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


def mentioned(module: str) -> set[str]:
    """Every name that the code uses, attributes with what they belong to: print, time.sleep."""
    nodes = ast.walk(tree(module))
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}


every_module = pytest.mark.parametrize("module", sorted(modules()))


# --- manners


@every_module
def test_only_waiting_sleeps_and_only_a_few_print(module: str) -> None:
    names = mentioned(module)

    assert module in MAY_SLEEP or names.isdisjoint({"time.sleep", "sleep"})
    assert module in MAY_PRINT or "print" not in names


@every_module
def test_one_module_knows_where_the_checkout_is(module: str) -> None:
    assert "__file__" not in mentioned(module) or module == "harness.checkout"


@every_module
def test_every_module_has_a_name_of_its_own(module: str) -> None:
    assert set(module.split(".")).isdisjoint(NAMELESS)


@pytest.mark.parametrize(
    "room", [name for name, file in modules().items() if file.name == "__init__.py"]
)
def test_a_room_says_what_is_inside_and_what_it_may_import(room: str) -> None:
    docstring = tree(room).body[0]

    assert isinstance(docstring, ast.Expr)
    assert "May import" in ast.unparse(docstring)


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
    "target",
    [
        "setup",
        "demo",
        "lint",
        "unit",
        "check",
        "test",
        "bench",
        "mutants",
        "study",
        "backends-table",
        "bench-backends",
        "second-judge",
    ],
)
def test_the_makefile_has_what_the_pages_promise(target: str) -> None:
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_ci_runs_what_people_run() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_what_runs_before_a_commit_is_fetched_from_nowhere() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()

    assert {"local"} == {*re.findall(r"repo: (.*)", hooks)}
    assert {"system"} == {*re.findall(r"language: (.*)", hooks)}
