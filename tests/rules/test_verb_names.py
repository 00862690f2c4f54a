"""Only its own file and the registry know a verb by its name; all others read what it says.

Code is read as a syntax tree. A string that is a verb's name and means something else has its
reason here. In a sentence only names with a hyphen can be told from prose (`skew-clock`, not
`cut`); docstrings may name any.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from harness.checkout import ROOT
from harness.nemesis.verbs import VERBS

AT_HOME = ("harness/nemesis/faults/", "harness/nemesis/verbs.py")
# Runs of the old schema did not keep what a verb means: the one table that tells it for them.
FROZEN = ("harness/model/runs/old_runs.py",)
A_KEY = "run.json's key: the command that runs it again"
EXAMPLE = "what may stand there, for readers"
MEANS_ANOTHER_THING = {
    ("analysis/", "duplicate"): "the anomaly: one value at two offsets",
    ("scripts/second_judge/", "duplicate"): "the same",
    ("harness/commands/campaigns/", "duplicate"): "the same",
    ("bench/checker/", "duplicate"): "the same",
    ("analysis/", "corrupt"): "the anomaly: a payload whose checksum is wrong",
    ("bench/checker/", "corrupt"): "the same",
    ("bench/checker/", "kill"): "what befell a made-up run",
    ("analysis/", "command"): A_KEY,
    ("harness/model/scenario.py", "kill"): EXAMPLE,
    ("harness/model/sections/faults.py", "kill"): EXAMPLE,
    ("harness/commands/closing_table.py", "command"): A_KEY,
    ("harness/cluster/kubernetes/attach/ephemeral_containers.py", "command"): "a container's",
    ("harness/cluster/local/network.py", "delay"): "a word of tc's",
}


# The longest first: delete-pod-now is not delete-pod.
HYPHENATED = sorted((name for name in VERBS if "-" in name), key=len, reverse=True)
IN_A_SENTENCE = re.compile(rf"(?<![\w-])(?:{'|'.join(HYPHENATED)})(?![\w-])")


def names_in(text: str) -> list[str]:
    """The verbs' names that a string is, or has as words."""
    return [text] if text in VERBS else IN_A_SENTENCE.findall(text)


def named_by(code: str) -> Iterator[tuple[int, str]]:
    """Line and name of each verb that the code names in a string; docstrings excepted."""
    tree = ast.parse(code)
    statements = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in names_in(node.value) if node not in statements else ():
                yield node.lineno, name


def found() -> Iterator[tuple[str, int, str]]:
    """File, line and name of each verb that a string names, where it is not at home."""
    for package in ("harness", "workloads", "analysis", "bench", "scripts"):
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if not file.startswith((*AT_HOME, *FROZEN)):
                for line, name in named_by(path.read_text()):
                    yield file, line, name


def exempt(file: str, name: str) -> bool:
    return any(file.startswith(where) and name == word for where, word in MEANS_ANOTHER_THING)


def test_nobody_else_knows_a_verb_by_its_name() -> None:
    others = [f"{file}:{line} {name}" for file, line, name in found() if not exempt(file, name)]

    assert others == [], "read it from the plan (effects, telling), the verb or the target"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('"""skew-clock, in a docstring."""\nx = 1', []),
        ('raise Error("skew-clock needs libfaketime")', ["skew-clock"]),
        ('raise Error(f"fail-disk and slow-disk need strace, {why}")', ["fail-disk", "slow-disk"]),
        ('x = "delete-pod-now"', ["delete-pod-now"]),
        ('x = "not delete-pod-now, but every-delete-pod and skew-clocks"', ["delete-pod-now"]),
        ('x = "cut"', ["cut"]),
        ('x = "cut links"', []),
    ],
)
def test_a_verb_s_name_is_seen_as_a_string_and_with_a_hyphen_within_one(
    code: str, names: list[str]
) -> None:
    assert [name for _, name in named_by(code)] == names


@pytest.mark.parametrize(("where", "word"), MEANS_ANOTHER_THING)
def test_every_exception_is_needed(where: str, word: str) -> None:
    assert any(file.startswith(where) and name == word for file, _, name in found())


def test_every_verb_is_registered_by_its_own_name() -> None:
    assert list(VERBS) == [verb.name for verb in VERBS.values()]
