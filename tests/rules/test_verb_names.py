"""Only its own file and the registry know a verb by its name; all others read what it says.

Code is read as a syntax tree. A verb is known by its name where that is compared, is a key or an
index, or stands in a tuple or set; a name with a hyphen (`skew-clock`) wherever it stands, since it
cannot be prose. Docstrings may name any.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

import pytest

from analysis.anomalies import BY_NAME
from harness.nemesis.verbs import VERBS
from tests.support.source_files import nodes, python_files

AT_HOME = ("harness/nemesis/faults/", "harness/nemesis/verbs.py", "tests/")
# Runs of the old schema did not keep what a verb means: the one table that tells it for them.
FROZEN = ("harness/model/runs/old_runs.py",)
# The longest first: delete-pod-now is not delete-pod.
HYPHENATED = sorted((name for name in VERBS if "-" in name), key=len, reverse=True)
IN_A_SENTENCE = re.compile(rf"(?<![\w-])(?:{'|'.join(HYPHENATED)})(?![\w-])")
# An anomaly's name, and the key of a command line in run.json, are words of their own.
UNMISTAKABLE = {*VERBS} - {*HYPHENATED} - {*BY_NAME} - {"command"}


def named_by(code: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and name of each verb that the code knows by its name."""
    docstrings = set[ast.AST]()
    for node in code:
        match node:
            case ast.Expr(value=ast.Constant() as text):
                docstrings.add(text)
            case ast.Constant(value=str(words)) if node not in docstrings:
                yield from ((node.lineno, name) for name in IN_A_SENTENCE.findall(words))
        for part in decided_by(node):
            if isinstance(part, ast.Constant) and part.value in UNMISTAKABLE:
                yield part.lineno, str(part.value)


def decided_by(node: ast.AST) -> list[ast.expr | None]:
    """What is compared, looked up or collected here."""
    match node:
        case ast.Compare(left=left, comparators=others):
            lists = [each.elts for each in others if isinstance(each, ast.List)]
            return [left, *others, *chain.from_iterable(lists)]
        case ast.Dict(keys=keys):
            return [*keys]
        case ast.Subscript(slice=part) | ast.MatchValue(value=part):
            return [part]
        case ast.Call(func=ast.Attribute(attr="get"), args=[part, *_]):
            return [part]
        case ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [*parts]
    return []


def test_nobody_else_knows_a_verb_by_its_name() -> None:
    wrong = [
        f"{file}:{line}: {name}"
        for file in python_files()
        if not file.startswith((*AT_HOME, *FROZEN))
        for line, name in named_by(nodes(file))
    ]

    assert [] == wrong, "read it from the plan (effects, telling), the verb or the target"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('"""skew-clock, in a docstring."""\nx = 1', []),
        ('raise Error("skew-clock needs libfaketime")', ["skew-clock"]),
        ('raise Error(f"fail-disk and slow-disk need strace, {why}")', ["fail-disk", "slow-disk"]),
        ('x = "delete-pod-now"', ["delete-pod-now"]),
        ('x = "not delete-pod-now, but every-delete-pod and skew-clocks"', ["delete-pod-now"]),
        ('if verb == "cut": pass', ["cut"]),
        ('if "delete-pod" == verb: pass', ["delete-pod"]),
        ('if verb in ("cut", "kill"): pass', ["cut", "kill"]),
        ('if verb in ["cut"]: pass', ["cut"]),
        ('match verb:\n    case "cut": pass', ["cut"]),
        ('words = {"cut": "was cut off"}', ["cut"]),
        ('x = words["cut"]', ["cut"]),
        ('x = words.get("cut", "")', ["cut"]),
        ('LINKS = frozenset({"cut", "lose"})', ["cut", "lose"]),
        ('x = f("cut links")', []),
        ('if anomaly == "duplicate": pass', []),
    ],
)
def test_a_verb_is_known_where_its_name_decides_and_with_a_hyphen_in_any_string(
    code: str, names: list[str]
) -> None:
    assert [name for _, name in named_by(ast.walk(ast.parse(code)))] == names


def test_every_verb_is_registered_by_its_own_name() -> None:
    assert list(VERBS) == [verb.name for verb in VERBS.values()]
