"""Markdown has one sentence a line: a change of a sentence is a change of its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.checkout import ROOT

PAGES = sorted(
    file
    for pattern in ("*.md", "docs/*.md", "results/*.md", "analysis/studies/templates/*.j2")
    for file in ROOT.glob(pattern)
)
MARKER = re.compile(r"\s*(?:[-*]|\d+\.)\s+(?:\*\*[^*]+\*\*\s*)?")  # of a list, and a bold lead
QUOTED = re.compile(r"`[^`]*`|\{\{.*?\}\}")
END = re.compile(r"[\w)%\]\"*][.!?]\*{0,2} +[\"*(\[]*[A-Z]")


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_line_has_one_sentence(page: Path) -> None:
    assert [] == with_several(page.read_text())


def test_two_sentences_are_seen_and_a_list_s_marker_is_none() -> None:
    assert [1, 3] == with_several("It is. It was.\n1. One.\n- Two `a. B`. Three.\n| A. B |\n")
