"""README's table of results says what the data says."""

from __future__ import annotations

import tomllib

from analysis.studies import readme
from analysis.studies.pages import page
from harness.checkout import DOCS, ROOT
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.matrix import Place
from harness.model.runs.ledger import Lines

FILE = DOCS / "configurations.toml"


def line(cell: str, lost: int) -> dict[str, object]:
    seen = {"lost": lost, "duplicate": 0}
    calm = {"starved_in_load": {"pressure_some_percent": 10.0}}
    told = {"cell": cell, "seed": 1, "anomalies": seen, "acked": 1000, "produce_gaps_s": [2.5]}
    return told | calm


def test_the_table_is_generated() -> None:
    """`make configurations` writes it; by hand it would not stay true."""
    text = (ROOT / "README.md").read_text()

    assert text == readme.with_table(text, page(FILE, readme.table))


def test_a_cell_of_the_matrix_has_its_row_by_its_name() -> None:
    """The cells that README tells of are some of the campaign's."""
    plan = Campaign.model_validate(tomllib.loads(FILE.read_text()))
    cell = "one-kill/acks=1,min.insync.replicas=1,unclean.leader.election.enable=false"

    rows = readme.table({}, Lines(all=[line(cell, lost) for lost in (0, 3, 0, 8)])).splitlines()

    told = "2 of 4 (15–85 %) | 5.5 (3–8) | 0 of 4 (0–49 %) | — | 2.5"
    assert rows[2] == f"| acks=1 | the leader is killed | {told} |"
    assert "| — | — | — | — | — |" in rows[3]
    named = {
        Place(scenario=scenario, settings=settings).name for _, _, scenario, settings in readme.ROWS
    }
    assert named <= {each.key for each in plan.every_cell()}


def test_only_what_is_between_the_marks_is_written() -> None:
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter"

    made = readme.with_table(text, "new")

    assert made == f"before\n{readme.BEGIN}\n\nnew\n\n{readme.END}\nafter"
    assert readme.with_table(made, "new") == made
