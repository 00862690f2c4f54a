"""docs/anomalies.md names every demand that a scenario can make."""

from __future__ import annotations

from analysis.anomalies import NAMES
from analysis.verdict.demands import DEMANDS
from harness.checkout import DOCS

PAGE = DOCS / "anomalies.md"


def test_every_demand_that_is_no_anomaly_is_in_the_table():
    table = PAGE.read_text().split("## Demands\n", 1)[1]

    assert [] == [name for name in DEMANDS if name not in NAMES and f"`{name}`" not in table]


def test_every_anomaly_has_a_part_or_a_name_on_the_page():
    page = PAGE.read_text()

    assert [] == [name for name in NAMES if name not in page]
