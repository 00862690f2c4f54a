"""docs/releases.md is made from the runs' summaries: one row per release, one column per mode."""

from __future__ import annotations

from typing import Any

from analysis.studies import pages, releases
from harness.checkout import ROOT
from harness.model.runs.ledger import Lines

CAMPAIGN = {"seed": 1}


def line(lost: int = 0, verdict: str = "valid", **cluster: str) -> Any:
    return {
        "cell": "c",
        "seed": 1,
        "verdict": verdict,
        "reasons": [] if verdict == "valid" else ["1 record was lost"],
        "anomalies": {"lost": lost, "duplicate": 2},
        "settings": {f"scenario.cluster.{key}": value for key, value in cluster.items()},
    }


def test_the_page_in_the_repository_is_the_one_that_its_data_give():
    text = (ROOT / "docs" / "releases.md").read_text()

    assert text == pages.page(ROOT / "docs" / "releases.toml", releases.render), (
        "run `make releases`"
    )


def test_a_release_has_a_row_and_each_mode_its_column():
    dynamic = line(kafka="4.4.0", metadata="kraft", voters="dynamic")
    page = releases.render(
        CAMPAIGN, Lines(all=[line(), line(1, kafka="10.0.1", metadata="kraft"), dynamic])
    )

    rows = [row for row in page.splitlines() if row.startswith("| ") and "valid" in row]
    assert rows == [
        "| 10.0.1 |  | 1 of 1 valid: 1 lost, 2 twice |  |  |  |",
        "| 4.4.0 |  |  |  | 1 of 1 valid: 0 lost, 2 twice |  |",
        "| 3.9.2 | 1 of 1 valid: 0 lost, 2 twice |  |  |  |  |",
    ]


def test_what_was_not_valid_is_told_with_its_reasons():
    page = releases.render(CAMPAIGN, Lines(all=[line(1, "invalid")]))

    assert "0 of 1 valid: 1 lost" in page
    assert "- `c` on local, seed 1: invalid; 1 record was lost" in page
