"""What is a matter of taste, for `make lint`: `python -m scripts.taste`.

    docs/ci.md:12: more than one sentence
    harness/utils.py: its name says nothing
    size: harness/cli.py has 412 lines (400)

Markdown has one sentence a line, so that a change of a sentence is a change of its line; a module
is named by what it is about. These end it with 1. Sizes are told for whoever reviews, and end
nothing: what is longer than most can be right. A class is bounded by its file, and what a function
decides by ruff (PLR0912, PLR0915).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.checkout import ROOT
from tests.support.source_files import SHIPPED, nodes, python_files

PAGES = ("*.md", "docs/*.md", "results/*.md", "analysis/studies/templates/*.j2")
MARKER = re.compile(r"\s*(?:[-*]|\d+\.)\s+(?:\*\*[^*]+\*\*\s*)?")  # of a list, and a bold lead
QUOTED = re.compile(r"`[^`]*`|\{\{.*?\}\}")
END = re.compile(r"[\w)%\]\"*][.!?]\*{0,2} +[\"*(\[]*[A-Z]")
NAMELESS = {"utils", "util", "common", "helpers", "helper", "misc", "base"}

FILE_LINES = 400
FUNCTION_LINES = 60
FILES_IN_A_FOLDER = 13
TEST_FILES_IN_A_FOLDER = 25


def with_several(text: str) -> list[int]:
    """The lines of a page that have more than one sentence; code and tables are not looked at."""
    found, code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        if not code and not line.lstrip().startswith(("|", "#")):
            sentences = QUOTED.sub("X", MARKER.sub("", line, count=1))
            if END.search(sentences):
                found.append(number)
    return found


def nameless(files: Iterable[str]) -> list[str]:
    """Those of which a part of the path says nothing of what is inside."""
    return [file for file in files if not NAMELESS.isdisjoint(Path(file).with_suffix("").parts)]


def findings() -> Iterator[str]:
    """A line for each thing that is wrong."""
    for page in sorted(file for pattern in PAGES for file in ROOT.glob(pattern)):
        for number in with_several(page.read_text()):
            yield f"{page.relative_to(ROOT)}:{number}: more than one sentence"
    for file in nameless(file for file in python_files() if file.startswith(SHIPPED)):
        yield f"{file}: its name says nothing"


def sizes() -> Iterator[str]:
    """A line for each thing that is longer than can be read at once."""
    for file in python_files():
        yield from _above(file, len((ROOT / file).read_text().splitlines()), FILE_LINES)
        for node in nodes(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield from _above(f"{file}:{node.lineno}: {node.name}", lines, FUNCTION_LINES)
    for folder, count in Counter(str(Path(file).parent) for file in python_files()).items():
        tests = folder.startswith("tests")
        limit = TEST_FILES_IN_A_FOLDER if tests else FILES_IN_A_FOLDER
        yield from _above(folder, count, limit, "files")


def _above(what: str, size: int, limit: int, unit: str = "lines") -> Iterator[str]:
    if size > limit:
        yield f"size: {what} has {size} {unit} ({limit})"


def main() -> int:
    """Tell all; 1 where something is wrong."""
    wrong = [*findings()]
    sys.stdout.writelines(f"{line}\n" for line in (*sizes(), *wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
