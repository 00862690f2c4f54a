"""docs/kraft.md is made from the runs' summaries."""

from __future__ import annotations

from typing import Any

from analysis.studies import kraft, pages
from harness.checkout import ROOT
from harness.model.runs.ledger import Lines

CELLS = [
    {"scenario": "a", "part": "One", "claim": "it loses", "repeats": 2},
    {"scenario": "b", "part": "Other", "claim": "it does not", "repeats": 1},
]


def test_the_page_in_the_repository_is_the_one_that_its_data_give() -> None:
    text = (ROOT / "docs" / "kraft.md").read_text()

    assert text == pages.page(ROOT / "docs" / "kraft.toml", kraft.render), "run `make kraft`"


def test_each_part_has_its_table_and_what_is_missing_is_told() -> None:
    line: Any = {
        "cell": "a",
        "seed": 1,
        "configuration": "1",
        "verdict": "valid",
        "acked": 10,
        "faults": 1,
        "anomalies": {"lost": 3, "duplicate": 0},
        "produce_gaps_s": [0.6],
        "starved_in_load": {"pressure_some_percent": 10.0},
        "kafka": "4.4.0",
    }
    page = kraft.render({"cells": CELLS, "seed": 1}, Lines(all=[line]))

    assert "(Kafka 4.4.0)" in page
    assert "`a` (1 of 2), `b` (0 of 1)" in page
    assert page.index("## One") < page.index("| it loses |") < page.index("## Other")
    assert "3 of 10" in page
