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

from analysis.studies.matrix_rows import row
from analysis.studies.pages import markdown_table, page
from analysis.studies.shares import checked, counts, middle
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
HEADS: Final = (
    *("settings", "what breaks", "runs affected by loss (95 % CI)", "records lost in these"),
    *("runs affected by duplicates (95 % CI)", "duplicates in these", "no ack for, s"),
)


def table(_: Mapping[str, Any], ledger: Lines) -> str:
    """A row for each of ROWS: shares with their intervals, and of the affected runs the median and
    the extremes of what they lost or repeated."""
    rows = []
    for settings, broken, scenario, values in ROWS:
        place = Place(scenario=scenario, settings=values)
        mine = [line for line in ledger.standing if line["cell"] == place.name]
        told = row(mine)
        lost, twice = (
            middle([count for count in counts(checked(mine), name) if count])
            for name in ("lost", "duplicate")
        )
        shares = (told["lossy"], lost, told["duplicating"], twice)
        rows.append([settings, broken, *shares, told["gap"]])
    return markdown_table(HEADS, rows)


def with_table(text: str, made: str) -> str:
    """The page with this table between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    readme = Path("README.md")
    readme.write_text(with_table(readme.read_text(), page(Path(sys.argv[1]), table)))
