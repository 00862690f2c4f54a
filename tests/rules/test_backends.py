"""Backends say what their clusters can do: nobody asks which backend it is, or guesses by names.

Code is read as a syntax tree and never imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.source_files import nodes_of, tree

# Backends' names that mean something else there.
NO_BACKEND = {
    ("harness/scenario/prepare.py", "local"),  # the default of --backend, which need not be said
    ("harness/commands/copy_to.py", "local"),  # a filesystem's type
}


def backends() -> set[str]:
    """The keys of the registry."""
    (found,) = (
        node.value
        for node in tree("harness/cluster/backends.py").body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "BACKENDS"
    )
    assert isinstance(found, ast.Dict)
    return {str(key.value) for key in found.keys if isinstance(key, ast.Constant)}


def texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def test_a_node_is_known_by_its_role_not_by_how_its_name_begins() -> None:
    wrong = [
        f"{file}:{node.lineno}: {ast.unparse(node)}"
        for file, node in nodes_of("harness/cluster")
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "startswith"
        and {"kafka", "zk"} & {*texts(node)}
    ]

    assert [] == wrong


def test_no_backend_is_asked_by_its_name() -> None:
    names = backends()
    wrong = [
        f"{file}:{node.lineno}: {ast.unparse(node)}"
        for file, node in nodes_of("harness")
        if isinstance(node, ast.Compare)
        for each in (node.left, *node.comparators)
        if isinstance(each, ast.Constant) and each.value in names
        if (file, each.value) not in NO_BACKEND
    ]

    assert len(names) > 3
    assert [] == wrong
