"""docs/kraft.md: what the scenarios of KRaft came to on real clusters, from the runs' summaries.

    python -m analysis.studies.kraft docs/kraft.toml     writes kraft.md beside it

Pure: campaign file + data file -> text. A row a claim, as on docs/study.md.
"""

from __future__ import annotations

from analysis.studies.beside import beside
from analysis.studies.cells.shares import CALM_PERCENT, kafkas
from analysis.studies.claims import Cell, claims, table_of, unfinished
from analysis.studies.pages import template, write_page
from harness.model.campaigns.ledger import Lines


def render(campaign: Cell, told: Lines) -> str:
    """The whole page."""
    lines = told.standing
    known = claims(campaign, lines)
    parts = dict.fromkeys(claim.part for claim in known)
    return template("kraft.md.j2").render(
        parts={part: table_of([each for each in known if each.part == part]) for part in parts},
        unfinished=unfinished(known),
        versions=", ".join(kafkas(lines)),
        shown=len(lines),
        calm=f"{CALM_PERCENT:.0f} %",
        seed=campaign["seed"],
        beside=beside(told),
    )


if __name__ == "__main__":
    write_page(render)
