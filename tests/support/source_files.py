"""The Python files of the repository, and what they are made of, read without being imported."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from harness.checkout import ROOT

SHIPPED = ("harness", "workloads", "analysis")
PACKAGES = (*SHIPPED, "bench", "tests")


@functools.cache
def python_files() -> tuple[str, ...]:
    """Every file of ours, as a path from the root of the checkout."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return tuple(sorted(str(file.relative_to(ROOT)) for file in files))


@functools.cache
def tree(file: str) -> ast.Module:
    """The syntax of a file."""
    return ast.parse((ROOT / file).read_text())


@functools.cache
def folders() -> dict[str, tuple[str, ...]]:
    """Folder -> the names of the Python files in it."""
    found: dict[str, tuple[str, ...]] = {}
    for file in python_files():
        path = Path(file)
        found[str(path.parent)] = (*found.get(str(path.parent), ()), path.name)
    return found


def defined(file: str) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every class and function of a file, however deep."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How long it is, without its decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1
