"""The table of results in README.md: five cells of the matrix, a row each.

    python -m analysis.studies.readme docs/configurations.toml    writes it between its marks

The words are here, every number is the data's. Pure but for the last lines, as
analysis.studies.study.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from analysis.studies.matrix_rows import HEADS, row
from analysis.studies.pages import markdown_table, page
from harness.model.campaigns.matrix import Place
from harness.model.runs.ledger import Lines

BEGIN: Final = "<!-- results: python -m analysis.studies.readme docs/configurations.toml -->"
END: Final = "<!-- end of the results -->"
KILLED, CUT = "the leader is killed", "the leader is cut from its followers, then killed"
# What is set, what breaks, the scenario and the cell's settings.
ACKS, MIN_ISR = "workload.producer.acks", "topic.config.min.insync.replicas"
UNCLEAN = "topic.config.unclean.leader.election.enable"
IDEMPOTENT = "workload.producer.enable.idempotence"
ROWS: Final = (
    ("acks=1", KILLED, "one-kill", {ACKS: "1", MIN_ISR: 1, UNCLEAN: False}),
    ("acks=all", KILLED, "one-kill", {ACKS: "all", MIN_ISR: 1, UNCLEAN: False}),
    (
        *("acks=all, idempotent producer, min.insync.replicas=2", KILLED, "one-kill"),
        {ACKS: "all", MIN_ISR: 2, IDEMPOTENT: True},
    ),
    ("acks=all", CUT, "one-cut-then-kill", {ACKS: "all", MIN_ISR: 1, UNCLEAN: False}),
    (
        *("acks=all, unclean elections", CUT, "one-cut-then-kill"),
        {ACKS: "all", MIN_ISR: 1, UNCLEAN: True},
    ),
)
COLUMNS: Final = ("lossy", "lost", "duplicating", "gap")


def table(_: Mapping[str, Any], ledger: Lines) -> str:
    """A row for each of ROWS: shares with their intervals, else the median and the extremes."""
    rows = []
    for settings, broken, scenario, values in ROWS:
        place = Place(scenario=scenario, settings=values)
        told = row([line for line in ledger.standing if line["cell"] == place.name])
        rows.append([settings, broken, *(told[name] for name in COLUMNS)])
    return markdown_table(["settings", "what breaks", *(HEADS[name] for name in COLUMNS)], rows)


def with_table(text: str, made: str) -> str:
    """The page with this table between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    readme = Path("README.md")
    readme.write_text(with_table(readme.read_text(), page(Path(sys.argv[1]), table)))
