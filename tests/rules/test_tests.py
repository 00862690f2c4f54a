"""What tests share is in tests/support: no test imports another one, which would run twice."""

from __future__ import annotations

import ast
import re

from tests.support.source_files import nodes, python_files, tree


def test_no_test_imports_from_another() -> None:
    """What is shared stands in tests/support, and beside the baseline what its command needs."""
    wrong = {
        (file, module)
        for file in python_files()
        for module in _imported(file)
        if module.startswith("tests.") and not _shared(module)
    }

    assert set() == wrong


def test_each_module_that_tests_share_has_a_line_in_the_index() -> None:
    """The index is the docstring of tests/support: there a newcomer looks for what there is."""
    index = ast.get_docstring(tree("tests/support/__init__.py")) or ""
    files = {file.split("/")[2] for file in python_files() if file.startswith("tests/support/")}
    modules = {file.removesuffix(".py") for file in files} - {"__init__"}

    assert sorted(modules) == sorted(re.findall(r"^    (\w+)  ", index, re.MULTILINE))


def _imported(file: str) -> set[str]:
    """The modules that a file imports from, and what it imports from packages of tests."""
    found: set[str] = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _shared(module: str) -> bool:
    shared = module.startswith(("tests.support.", "tests.baseline."))
    return shared and ".test_" not in module and ".conftest" not in module
