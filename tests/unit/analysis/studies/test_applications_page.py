"""The tables of docs/applications.md are made from the runs' summaries."""

from __future__ import annotations

from typing import Any

from analysis.studies import applications, pages
from harness.checkout import ROOT
from harness.model.campaigns.ledger import Lines


def test_the_tables_in_the_repository_are_those_that_their_data_give() -> None:
    text = (ROOT / "docs" / "applications.md").read_text()
    made = pages.page(ROOT / "docs" / "applications.toml", applications.render)

    assert made in text, "run `make applications`"


def test_each_fault_has_its_table_and_what_is_missing_is_told() -> None:
    cells = [
        {"scenario": "a", "part": "Killed", "claim": "offsets first", "repeats": 1},
        {"scenario": "b", "part": "Paused", "claim": "offsets last", "repeats": 2},
    ]
    line: Any = {
        "cell": "a",
        "seed": 1,
        "configuration": "1",
        "verdict": "valid",
        "acked": 10,
        "anomalies": {"no-output": 3, "two-outputs": 0},
    }

    page = applications.render({"cells": cells}, Lines(all=[line]))

    assert (
        page.index("### Killed") < page.index("| offsets first | 1 | 1 of 1 ") < page.index("3 |")
    )
    assert "`b` (0 of 2)" in page
