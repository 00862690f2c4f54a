"""Only its own file and the registry know a verb by its name; all others read what it says.

Code is read as a syntax tree. A string that is a verb's name and means something else has its
reason here, as have the files that still list verbs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from harness.checkout import ROOT
from harness.nemesis.verbs import VERBS

AT_HOME = ("harness/nemesis/faults/", "harness/nemesis/verbs.py")
# Runs of the old schema did not keep what a verb means: the one table that tells it for them.
FROZEN = ("harness/model/old_runs.py",)
A_KEY = "run.json's key: the command that runs it again"
A_PROBE = "what doctor says is not to be had; setup is beside the nemesis and knows no verb"
MEANS_ANOTHER_THING = {
    ("analysis/", "duplicate"): "the anomaly: one value at two offsets",
    ("analysis/", "command"): A_KEY,
    ("harness/commands/closing_table.py", "command"): A_KEY,
    ("harness/cluster/kubernetes/attach/ephemeral_containers.py", "command"): "a container's",
    ("harness/cluster/local/network.py", "delay"): "a word of tc's",
    ("harness/setup/doctor.py", "delay"): A_PROBE,
    ("harness/setup/doctor.py", "throttle"): A_PROBE,
    ("harness/setup/doctor.py", "skew-clock"): A_PROBE,
}


def found() -> Iterator[tuple[str, int, str]]:
    """File, line and name of each string that is a verb's name, where it is not at home."""
    for package in ("harness", "analysis"):
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if not file.startswith((*AT_HOME, *FROZEN)):
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.Constant) and node.value in VERBS:
                        yield file, node.lineno, str(node.value)


def exempt(file: str, name: str) -> bool:
    return any(file.startswith(where) and name == word for where, word in MEANS_ANOTHER_THING)


def test_nobody_else_knows_a_verb_by_its_name() -> None:
    others = [f"{file}:{line} {name}" for file, line, name in found() if not exempt(file, name)]

    assert others == [], "read it from the plan (effects, telling), the verb or the target"


@pytest.mark.parametrize(("where", "word"), MEANS_ANOTHER_THING)
def test_every_exception_is_needed(where: str, word: str) -> None:
    assert any(file.startswith(where) and name == word for file, _, name in found())


def test_every_verb_is_registered_by_its_own_name() -> None:
    assert list(VERBS) == [verb.name for verb in VERBS.values()]
