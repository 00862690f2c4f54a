"""README's table of results says what the data says."""

from __future__ import annotations

import tomllib
from typing import Any

from analysis.studies import readme
from analysis.studies.pages import page
from harness.checkout import DOCS, ROOT
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.matrix import Place
from harness.model.runs.ledger import Lines

FILE = DOCS / "configurations.toml"


def line(cell: str, lost: int) -> Any:
    seen = {"lost": lost, "duplicate": 0}
    calm = {"starved_in_load": {"pressure_some_percent": 10.0}}
    told = {"cell": cell, "seed": 1, "anomalies": seen, "acked": 1000, "produce_gaps_s": [2.5]}
    return told | calm


def test_the_table_is_generated() -> None:
    """`make configurations` writes it; by hand it would not stay true."""
    text = (ROOT / "README.md").read_text()

    assert text == readme.with_table(text, page(FILE, readme.table))


def test_a_row_has_the_pool_s_shares_and_the_times_of_its_cell() -> None:
    campaign = tomllib.loads(FILE.read_text())
    cells = [
        f"one-kill/acks=1,min.insync.replicas={isr},unclean.leader.election.enable=false"
        for isr in (1, 2)
    ]
    lines = [line(cells[0], lost) for lost in (0, 3)] + [line(cells[1], lost) for lost in (0, 8)]

    rows = readme.table(campaign, Lines(all=lines)).splitlines()

    told = "2 of 4 (15–85 %) in one sitting | 5.5 (3–8) | 0 of 4 (0–49 %) in one sitting | — | 2.5"
    assert rows[2] == f"| acks=1 | the leader is killed | {told} |"
    assert "| — | — | — | — | — |" in rows[3]


def test_the_cells_and_pools_of_its_rows_are_the_campaign_s() -> None:
    plan = Campaign.model_validate(tomllib.loads(FILE.read_text()))
    of = {pool.name: {cell.key for cell in cells} for pool, cells in plan.pooled()}

    for row in readme.ROWS:
        key = Place(scenario=row.scenario, settings=row.values).name
        assert key in {cell.key for cell in plan.every_cell()}
        assert all(key in of[pool] for pool in row.pools.values())


def test_only_what_is_between_the_marks_is_written() -> None:
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter"

    made = readme.with_table(text, "new")

    assert made == f"before\n{readme.BEGIN}\n\nnew\n\n{readme.END}\nafter"
    assert readme.with_table(made, "new") == made
