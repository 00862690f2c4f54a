"""README's table of results says what the data says."""

from __future__ import annotations

import tomllib

import pytest

from analysis.studies import readme
from analysis.studies.pages import page
from harness.checkout import DOCS, ROOT
from harness.cluster.node_settings import SERVER_DEFAULTS
from harness.commands.campaigns.file import read_campaign
from harness.commands.run import prepare_run
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.matrix import Place
from harness.model.runs.ledger import Lines
from harness.scenario.prepare import Request

CAMPAIGN = {"cells": [{"scenario": name, "repeats": 9} for name in readme.CELLS]}


def line(cell: str, lost: int, gaps_s: tuple[float, ...] = ()) -> dict[str, object]:
    seen = {"lost": lost, "duplicate": 0}
    calm = {"starved_in_load": {"pressure_some_percent": 10.0}}
    told = {"cell": cell, "seed": 1, "anomalies": seen, "acked": 1000, "produce_gaps_s": gaps_s}
    return told | calm


@pytest.mark.parametrize("name", readme.TABLES)
def test_the_tables_are_generated(name: str) -> None:
    """`make study` and `make configurations` write them; by hand they would not stay true."""
    text = (ROOT / "README.md").read_text()

    assert text == readme.with_table(text, name, page(DOCS / name, readme.TABLES[name]))


def test_a_cell_of_the_matrix_has_its_row_by_its_name() -> None:
    """The cells that README tells of are some of the campaign's."""
    plan = Campaign.model_validate(tomllib.loads((DOCS / "configurations.toml").read_text()))
    cell = "one-kill/acks=1,min.insync.replicas=1,unclean.leader.election.enable=false"
    mine = [{**line(cell, lost), "cap": {}} for lost in (0, 3)]

    rows = readme.of_one_fault({}, Lines(all=mine)).splitlines()

    assert "| acks=1 | the leader is killed | 2 | 1 of 2 (9–91 %) | 0 / 1.5 / 3 |" in rows[2]
    assert "| 0 | — | — |" in rows[3]
    named = {
        Place(scenario=scenario, settings=dict(zip(readme.AXES, values, strict=True))).name
        for _, _, scenario, values in readme.ONE_FAULT
    }
    assert named <= {each.key for each in plan.every_cell()}


def test_a_row_has_the_median_and_the_extremes_where_they_differ() -> None:
    others = [line(name, 0) for name in readme.CELLS if name != "study-1"]
    mine = [line("study-1", lost, gaps_s=(1.0, 2.0)) for lost in (4, 5, 6, 1007)]
    unchecked = {"cell": "study-1", "seed": 1, "acked": 0, "produce_gaps_s": []}

    first = readme.table(CAMPAIGN, Lines(all=[*mine, unchecked, *others])).splitlines()[2]

    assert "| 5.5 (4–1,007) of 1,000 | 0 | 2.0 s | 4 | `study-1` |" in first


def test_only_what_is_between_the_marks_is_written() -> None:
    begin = readme.BEGIN.format("study.toml")
    text = f"before\n{begin}\nold\n{readme.END}\nafter"

    made = readme.with_table(text, "study.toml", "new")

    assert made == f"before\n{begin}\n\nnew\n\n{readme.END}\nafter"
    assert readme.with_table(made, "study.toml", "new") == made


@pytest.mark.parametrize("name", readme.CELLS)
def test_the_session_is_that_of_the_scenario(name: str) -> None:
    cells = {c.key: c for c in read_campaign(ROOT / "docs" / "study.toml").every_cell()}
    request = Request(scenario=cells[name].scenario, seed=1, settings=cells[name].set)

    server = prepare_run(request).scenario.cluster.server

    session_ms = int({**SERVER_DEFAULTS, **server}["zookeeper.session.timeout.ms"])
    assert session_ms == 1000 * readme.CELLS[name][2]
