"""README's table of results says what the data says."""

from __future__ import annotations

from analysis.studies import readme
from analysis.studies.pages import page
from harness.checkout import DOCS, ROOT
from harness.model.runs.ledger import Lines

CAMPAIGN = {"cells": [{"scenario": name, "repeats": 9} for name in readme.CELLS]}


def line(cell: str, lost: int, gaps_s: tuple[float, ...] = ()) -> dict[str, object]:
    seen = {"lost": lost, "duplicate": 0}
    calm = {"starved_in_load": {"pressure_some_percent": 10.0}}
    told = {"cell": cell, "seed": 1, "anomalies": seen, "acked": 1000, "produce_gaps_s": gaps_s}
    return told | calm


def test_the_table_is_generated() -> None:
    """`make study` writes it; by hand it would not stay true."""
    text = (ROOT / "README.md").read_text()

    assert text == readme.with_table(text, page(DOCS / "study.toml", readme.table))


def test_a_row_has_the_median_and_the_extremes_where_they_differ() -> None:
    others = [line(name, 0) for name in readme.CELLS if name != "study-1"]
    mine = [line("study-1", lost, gaps_s=(1.0, 2.0)) for lost in (4, 5, 6, 1007)]
    unchecked = {"cell": "study-1", "seed": 1, "acked": 0, "produce_gaps_s": []}

    first = readme.table(CAMPAIGN, Lines(all=[*mine, unchecked, *others])).splitlines()[2]

    assert "| 5.5 (4–1,007) of 1,000 | 0 | 2.0 s | 4 | `study-1` |" in first


def test_only_what_is_between_the_marks_is_written() -> None:
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter"

    made = readme.with_table(text, "new")

    assert made == f"before\n{readme.BEGIN}\n\nnew\n\n{readme.END}\nafter"
    assert readme.with_table(made, "new") == made
