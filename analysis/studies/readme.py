"""The table of results in README.md: five rows of the matrix, pooled where a pool has the cell.

    python -m analysis.studies.readme docs/configurations.toml    writes it between its marks

The words are here, the data has every number. Pure but for the last lines.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analysis.studies.cells.pooled import pools
from analysis.studies.cells.shares import counts, middle
from analysis.studies.matrix_rows import row
from analysis.studies.measured import Spread, measured
from analysis.studies.pages import Cell, markdown_table, page
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.ledger import Lines
from harness.model.campaigns.matrix import Place

BEGIN: Final = "<!-- results: python -m analysis.studies.readme docs/configurations.toml -->"
END: Final = "<!-- end of the results -->"
KILLED, CUT = "the leader is killed", "the leader is cut from its followers, then killed"
ACKS, MIN_ISR = "workload.producer.acks", "topic.config.min.insync.replicas"
UNCLEAN = "topic.config.unclean.leader.election.enable"
IDEMPOTENT = "workload.producer.enable.idempotence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is set, what breaks, the cell and, for losses and duplicates, the cell's pool if it has
    one."""

    settings: str
    breaks: str
    scenario: str
    values: Mapping[str, Any]
    pools: Mapping[str, str] = field(default_factory=dict)


ROWS: Final = (
    Row(
        settings="acks=1",
        breaks=KILLED,
        scenario="one-kill",
        values={ACKS: "1", MIN_ISR: 1, UNCLEAN: False},
        pools={"lost": "acks=1", "duplicate": "acks=1"},
    ),
    Row(
        settings="acks=all",
        breaks=KILLED,
        scenario="one-kill",
        values={ACKS: "all", MIN_ISR: 1, UNCLEAN: False},
        pools={"lost": "acks=all", "duplicate": "acks=all, not idempotent"},
    ),
    Row(
        settings="acks=all, idempotent producer, min.insync.replicas=2",
        breaks=KILLED,
        scenario="one-kill",
        values={ACKS: "all", MIN_ISR: 2, IDEMPOTENT: True},
        pools={"lost": "acks=all"},
    ),
    Row(
        settings="acks=all",
        breaks=CUT,
        scenario="one-cut-then-kill",
        values={ACKS: "all", MIN_ISR: 1, UNCLEAN: False},
    ),
    Row(
        settings="acks=all, unclean elections",
        breaks=CUT,
        scenario="one-cut-then-kill",
        values={ACKS: "all", MIN_ISR: 1, UNCLEAN: True},
    ),
)
HEADS: Final = (
    *("settings", "what breaks", "runs affected by loss (95 % CI)", "records lost in these"),
    *("runs affected by duplicates (95 % CI)", "duplicates in these", "no ack for, s"),
)


def table(campaign: Cell, ledger: Lines) -> str:
    """A row for each of ROWS: shares with their intervals, what affected runs lost or repeated, and
    the cell's times. Raises LookupError for an unknown cell or pool."""
    cells = measured(campaign, ledger.standing)
    spread = Spread.of(cells, ledger)
    together = {p.pool.name: p for p in pools(Campaign.model_validate(campaign), ledger)}
    rows = []
    for asked in ROWS:
        key = Place(scenario=asked.scenario, settings=asked.values).name
        cell = next(c for c in cells if c.key == key)
        factors = spread.factors(cell.scenario, cell.acks)
        shares = []
        for anomaly in ("lost", "duplicate"):
            pool = together.get(asked.pools.get(anomaly, ""))
            lines = pool.lines if pool else cell.lines
            seen = [count for count in counts(lines, anomaly) if count]
            factor = pool.dispersion(spread.made_in, anomaly).factor if pool else factors[anomaly]
            shares += [spread.made_in.affected(lines, anomaly, factor), middle(seen)]
        rows.append([asked.settings, asked.breaks, *shares, row(cell.lines)["gap"]])
    return markdown_table(HEADS, rows)


def with_table(text: str, made: str) -> str:
    """The page with this table between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    readme = Path("README.md")
    readme.write_text(with_table(readme.read_text(), page(Path(sys.argv[1]), table)))
