"""Lists every text that a user may read, with its place: `python scripts/user_strings.py [WORD…]`.

    harness/cli.py:88: The producer's configuration …

Read as code, not run: texts in the source (two words or more, no docstring; a verb's `done=` may be
one word), help texts and command docstrings of the cli, what the sidecar script prints, titles and
descriptions of the shipped scenarios, what stands in templates.
With words, only the lines that have one of them.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from harness.checkout import ROOT
from harness.release import SCENARIOS

PACKAGES = ("harness", "workloads", "analysis")
TAG = re.compile(r"<[^>]*>|\{[%{#].*?[%}#]\}", re.DOTALL)
PROSE = re.compile(r"[A-Za-z]{2,}\W+\S*[a-z]{2,}")  # two words
QUOTED = re.compile(r'"([^"]*)"')  # in a line of a script


def texts() -> Iterator[tuple[str, str]]:
    """Place and text, in order of the files."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield from _of_source(file)
        for file in sorted((ROOT / package).rglob("*.sh")):
            yield from _of_script(file)
    for file in sorted(SCENARIOS.rglob("*.toml")):
        tables = tomllib.loads(file.read_text())
        found = [tables.get(key) for key in ("title", "description")]
        yield from ((_where(file), " ".join(text.split())) for text in found if text)
    for file in sorted((ROOT / "analysis").rglob("*")):
        if file.suffix in (".html", ".md", ".j2", ".js") and file.is_file():
            yield from _of_template(file)


def _of_source(file: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(file.read_text())
    # Elsewhere than in commands' help they are for whoever reads the code.
    helps = file.name == "cli.py"
    hidden = set() if helps else {id(node) for node in _docstrings(tree) if not _is_help(node)}
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    # What a verb has done to a node may be one word.
    done = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "done"
    }
    for node in ast.walk(tree):
        if id(node) in hidden | inside:
            continue
        text = _text(node)
        if text and (id(node) in done or PROSE.search(text)):
            yield f"{_where(file)}:{getattr(node, 'lineno', 0)}", " ".join(text.split())


def _is_help(docstring: ast.expr) -> bool:
    """Whether it is a command's, whose help ends with an example."""
    return "\n    kafka-harness " in (_text(docstring) or "") and docstring.col_offset > 0


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value


def _text(node: ast.AST) -> str | None:
    """What a literal says; what is filled in stands as {…}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values
        )
    return None


def _of_script(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for text in [] if line.lstrip().startswith("#") else QUOTED.findall(line):
            if " " in text and PROSE.search(text):
                yield f"{_where(file)}:{number}", text


def _of_template(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(TAG.sub(" ", file.read_text()).splitlines(), 1):
        if PROSE.search(line):
            yield f"{_where(file)}:{number}", " ".join(line.split())


def _where(file: Path) -> str:
    return str(file.relative_to(ROOT))


def main(words: list[str]) -> None:
    """Print them."""
    for place, text in texts():
        if not words or any(word in text for word in words):
            sys.stdout.write(f"{place}: {text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
