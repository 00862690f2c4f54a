"""run.json is read and written in one place: the model of it, and the folder of a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT

FOLDERS = ("harness", "analysis", "workloads", "bench")
THE_ONE = ROOT / "harness" / "model" / "run_folder.py"
SOURCES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def paths_to_run_json(code: str) -> list[int]:
    """The lines that make a path to run.json; sentences that only name one do not count."""
    return [node.lineno for node in _outside_sentences(ast.parse(code)) if _is_path(node)]


def _outside_sentences(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, ast.expr):
            yield child
        yield from _outside_sentences(child)


def _is_path(node: ast.expr) -> bool:
    """`folder / "run.json"`, or "history/../run.json" at the end of any such path."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    last = node.right
    return isinstance(last, ast.Constant) and str(last.value).endswith("run.json")


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nobody_opens_run_json_beside_its_reader(file: Path) -> None:
    found = paths_to_run_json(file.read_text())

    assert found == [] or file == THE_ONE


def test_a_path_to_run_json_is_seen_and_a_sentence_about_it_is_not() -> None:
    reads = 'text = (run / "run.json").read_text()'
    says = """raise E(f"{run / 'run.json'}: no")"""

    assert [1] == paths_to_run_json(f"{reads}\n{says}\n")
