"""The Python files of the repository, and what they are made of, read without being imported.

A file is read once for all rules, and not before one asks.
"""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Iterator

from harness.checkout import ROOT

SHIPPED = ("harness", "workloads", "analysis")
PACKAGES = (*SHIPPED, "bench", "scripts", "tests")


@functools.cache
def python_files() -> tuple[str, ...]:
    """Every file of ours, as a path from the root of the checkout."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return tuple(sorted(file.relative_to(ROOT).as_posix() for file in files))


@functools.cache
def tree(file: str) -> ast.Module:
    """The syntax of a file."""
    gc.disable()  # it has no cycles and is kept: to look for them costs three times the reading
    try:
        return ast.parse((ROOT / file).read_text())
    finally:
        gc.enable()


@functools.cache
def nodes(file: str) -> tuple[ast.AST, ...]:
    """All that the syntax of a file consists of."""
    return tuple(ast.walk(tree(file)))


def nodes_of(*folders: str) -> Iterator[tuple[str, ast.AST]]:
    """File and node of all that stands in these folders."""
    for file in python_files():
        if file.startswith(tuple(f"{folder}/" for folder in folders)):
            for node in nodes(file):
                yield file, node
