"""docs/promises.md is written by a command."""

from __future__ import annotations

from analysis.verdict import promises_page
from harness.checkout import DOCS


def test_the_page_is_generated() -> None:
    """`python -m analysis.verdict.promises_page` writes it; by hand it would not stay true."""
    assert (DOCS / "promises.md").read_text() == promises_page.render()
