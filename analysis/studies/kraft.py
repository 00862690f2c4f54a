"""docs/kraft.md: what KRaft's scenarios came to on real clusters, from the runs' summaries.

    python -m analysis.studies.kraft docs/kraft.toml     writes kraft.md beside it

Pure: campaign file + data file -> text. A row a claim, as on docs/study.md.
"""

from __future__ import annotations

from analysis.studies.beside import beside
from analysis.studies.cells.shares import CALM_PERCENT, kafkas
from analysis.studies.claims import claims, table_of, unfinished
from analysis.studies.pages import Cell, template, write_page
from harness.model.campaigns.ledger import Lines


def render(campaign: Cell, ledger: Lines) -> str:
    """The whole page."""
    lines = ledger.standing
    shown = claims(campaign, lines)
    parts = dict.fromkeys(claim.part for claim in shown)
    return template("kraft.md.j2").render(
        parts={part: table_of([claim for claim in shown if claim.part == part]) for part in parts},
        unfinished=unfinished(shown),
        versions=", ".join(kafkas(lines)),
        shown=len(lines),
        calm=f"{CALM_PERCENT:.0f} %",
        seed=campaign["seed"],
        beside=beside(ledger),
    )


if __name__ == "__main__":
    write_page(render)
