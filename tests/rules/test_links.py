"""Every link of a page in Markdown leads to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from harness.checkout import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")})
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Headings as GitHub names them: small letters, hyphens for blanks, no punctuation."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in HEADING.findall(text))
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in plain)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        f"{name}#{anchor}"
        for name, anchor in LINK.findall(page.read_text())
        for there in [(page.parent / name) if name else page]
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there))
    ]
    assert broken == []
