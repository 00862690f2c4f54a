"""Backends say what their clusters can do: nobody asks which backend it is, or guesses by names.

Code is read as a syntax tree and never imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT

CLUSTER = sorted((ROOT / "harness" / "cluster").rglob("*.py"))
HARNESS = sorted((ROOT / "harness").rglob("*.py"))
# Backends' names that mean something else there.
NO_BACKEND = {
    "prepare.py": {"local"},  # the default of --backend, which a command line need not say
    "copy_to.py": {"local"},  # a filesystem's type
}


def keys_of(file: Path, name: str) -> set[str]:
    """The keys of a module's dict of that name."""
    (found,) = (
        node.value
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name
    )
    assert isinstance(found, ast.Dict)
    return {str(key.value) for key in found.keys if isinstance(key, ast.Constant)}


BACKENDS = keys_of(ROOT / "harness" / "cluster" / "backends.py", "BACKENDS")


def texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


@pytest.mark.parametrize("file", CLUSTER, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_node_is_known_by_its_role_not_by_how_its_name_begins(file: Path) -> None:
    begins = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "startswith"
        and {"kafka", "zk"} & {*texts(node)}
    ]

    assert [] == begins


@pytest.mark.parametrize("file", HARNESS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_backend_is_asked_by_its_name(file: Path) -> None:
    compared = {
        each.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Compare)
        for each in (node.left, *node.comparators)
        if isinstance(each, ast.Constant) and each.value in BACKENDS
    }

    assert set() == compared - NO_BACKEND.get(file.name, set())
