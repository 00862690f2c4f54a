"""docs/where-to-change.md names places: each of them is there."""

from __future__ import annotations

import re

from harness.checkout import DOCS, ROOT


def test_every_place_where_a_change_begins_is_there() -> None:
    page = (DOCS / "where-to-change.md").read_text()
    places = re.findall(r"^\| \d+ \| .* \| `(.+?)` \|$", page, re.MULTILINE)

    assert places
    assert [] == [place for place in places if not (ROOT / place).exists()]
