"""The house keeps its own rules: who may wait or print, what is described.

Code is read as a syntax tree and never imported: a broken module breaks its own tests, not these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from harness.checkout import DOCS, ROOT
from tests.support.source_files import SHIPPED, nodes_of, tree

# The one place that waits; and those whose work it is to talk to a person or to a parent process.
MAY_SLEEP = {"harness/waiting.py"}
MAY_PRINT = {
    "harness/cli.py",
    "harness/setup/install.py",
    "harness/distribution/kafka_home.py",
    "harness/distribution/class_archives.py",
    "workloads/worker.py",
}
KNOWS_THE_CHECKOUT = {"harness/checkout.py"}
PROMISED_TARGETS = {
    *("setup", "demo", "lint", "unit", "check", "test", "bench", "mutants", "study"),
    *("backends-table", "bench-backends", "second-judge"),
}


def uses_of(*names: str) -> Iterator[tuple[str, str]]:
    """File and place of each use of such a name: print, time.sleep."""
    for file, node in nodes_of(*SHIPPED):
        match node:
            case ast.Name(id=name, lineno=line):
                used = name
            case ast.Attribute(value=ast.Name(id=owner), attr=name, lineno=line):
                used = f"{owner}.{name}"
            case _:
                continue
        if used in names:
            yield file, f"{file}:{line}: {used}"


# --- manners


def test_only_waiting_sleeps() -> None:
    found = [*uses_of("time.sleep", "sleep")]

    assert {file for file, _ in found} >= MAY_SLEEP
    assert [] == [place for file, place in found if file not in MAY_SLEEP]


def test_only_a_few_print() -> None:
    assert [] == [place for file, place in uses_of("print") if file not in MAY_PRINT]


def test_one_module_knows_where_the_checkout_is() -> None:
    found = [*uses_of("__file__")]

    assert {file for file, _ in found} >= KNOWS_THE_CHECKOUT
    assert [] == [place for file, place in found if file not in KNOWS_THE_CHECKOUT]


def test_records_are_frozen_or_say_why_not() -> None:
    """A dataclass that changes is a thing with a life, not a record; it is keyword-only even so."""
    made = [
        (f"{file}:{node.lineno}: {node.name}", node, decorator)
        for file, node in nodes_of(*SHIPPED)
        if isinstance(node, ast.ClassDef)
        for decorator in map(ast.unparse, node.decorator_list)
        if decorator.startswith("dataclass")
    ]

    assert len(made) > 100
    assert [] == [f"{place}: positional" for place, _, how in made if "kw_only=True" not in how]
    assert [] == [
        f"{place}: changes, and does not say why"
        for place, node, how in made
        if "frozen=True" not in how and not ast.get_docstring(node)
    ]


# --- what must be documented


def test_every_verb_of_the_nemesis_is_described() -> None:
    (verbs,) = (
        node.value
        for node in tree("harness/nemesis/verbs.py").body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "VERBS"
    )
    assert isinstance(verbs, ast.Dict)
    names = [ast.literal_eval(key) for key in verbs.keys if key]
    page = (DOCS / "faults.md").read_text()

    assert names
    assert [] == [name for name in names if f"`{name}`" not in page]


def test_the_makefile_has_what_the_pages_promise() -> None:
    described = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert set() == PROMISED_TARGETS - {*described}


def test_ci_runs_what_people_run() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_what_runs_before_a_commit_is_fetched_from_nowhere() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()

    assert {"local"} == {*re.findall(r"repo: (.*)", hooks)}
    assert {"system"} == {*re.findall(r"language: (.*)", hooks)}
