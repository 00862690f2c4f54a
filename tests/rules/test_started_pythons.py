"""A Python that the harness starts takes nothing from the folder that the user is in.

`-P` keeps that folder off sys.path, `-I` more than that (for programs of the standard library, in
places whose Python may be older). No variable does it, for a user's own program would inherit it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.source_files import SHIPPED, python_files, tree

PYTHONS = ("sys.executable", "str(python)", "str(PYTHON)")
SAFE = ("'-P'", "'-I'")


def test_every_python_is_started_without_the_user_s_folder() -> None:
    found = {
        (file, line): safe
        for file in python_files()
        if file.split("/")[0] in SHIPPED
        for line, safe in started(tree(file))
    }

    assert len(found) > 12
    assert [] == [place for place, safe in found.items() if not safe]


@pytest.mark.parametrize(
    ("code", "safe"),
    [
        ('[sys.executable, "-m", "harness.run", folder]', [False]),
        ('[*words, sys.executable, "-m", "harness.run"]', [False]),
        ('[sys.executable, "-S", "-c", PROGRAM]', [False]),
        ('[sys.executable, "-P", "-m", "harness.run"]', [True]),
        ('[str(python), "-P", "-u", "-m", "harness.run"]', [True]),
        ('["python3" if word == sys.executable else word for word in argv]', []),
    ],
)
def test_one_that_is_not_is_seen(code: str, safe: list[bool]) -> None:
    assert safe == [each for _, each in started(ast.parse(code))]


def started(code: ast.Module) -> Iterator[tuple[int, bool]]:
    """Line of each command line that begins a Python, and whether it is safe."""
    for node in ast.walk(code):
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        words = [ast.unparse(word) for word in node.elts]
        for number, word in enumerate(words):
            if word in PYTHONS:
                following = words[number + 1] if number + 1 < len(words) else ""
                yield node.lineno, following in SAFE
