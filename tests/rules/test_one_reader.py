"""run.json is read and written in one place: the model of it, and the folder of a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.source_files import python_files, tree

OPENERS = {"open", "Path", "joinpath", "with_name", "join"}
THE_ONE = "harness/model/runs/run_folder.py"


def paths_to_run_json(code: ast.AST) -> list[int]:
    """The lines that make a path to run.json; sentences that only name one do not count."""
    return [node.lineno for node in _outside_sentences(code) if _is_path(node)]


def _outside_sentences(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, ast.expr):
            yield child
        yield from _outside_sentences(child)


def _is_path(node: ast.expr) -> bool:
    """`folder / "run.json"`, or such a text as an argument of what opens or joins paths."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _names_it(node.right)
    called = isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in OPENERS
    return called and any(_names_it(argument) for argument in node.args)  # type: ignore[attr-defined]


def _names_it(node: ast.expr) -> bool:
    """A text, formatted or not, that ends in run.json."""
    last = node.values[-1] if isinstance(node, ast.JoinedStr) and node.values else node
    return isinstance(last, ast.Constant) and str(last.value).endswith("run.json")


def test_nobody_opens_run_json_beside_its_reader() -> None:
    """Tests may: some are about what it says."""
    wrong = [
        f"{file}:{line}: run.json is opened"
        for file in python_files()
        if not file.startswith("tests/") and file != THE_ONE
        for line in paths_to_run_json(tree(file))
    ]

    assert [] == wrong
    assert paths_to_run_json(tree(THE_ONE))


def test_a_path_to_run_json_is_seen_and_a_sentence_about_it_is_not() -> None:
    reads = ('(run / "run.json").read_text()', 'open(f"{run}/run.json")', 'Path(run, "run.json")')
    says = """raise E(f"{run / 'run.json'}: no")"""

    assert [1, 2, 3] == paths_to_run_json(ast.parse("\n".join([*reads, says])))
