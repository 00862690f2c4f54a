"""Cells that are one experiment for losses or duplicates, counted together (`[[pools]]` of a
campaign's file). The file gives the reason in Kafka why their settings cannot matter to these;
their shares decide nothing, and neither does the p beside them: how likely cells of equal shares
and independent runs differ as much (Pearson's χ²). Times, reads and CAP are not pooled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy.stats import chi2_contingency

from analysis.studies.cells.experiments import by_experiment, of_commits
from analysis.studies.cells.shares import counts, middle
from analysis.studies.cells.sittings import Dispersion, Sittings
from harness.model.campaigns.campaign import Campaign, Pool
from harness.model.campaigns.ledger import Lines
from harness.model.campaigns.ledger_line import Line

ACKS: Final = "workload.producer.acks"
HEADS: Final = {
    "name": "pool",
    "scenario": "what breaks",
    "cells": "cells",
    "sittings": "sittings",
    "lossy": "loss: runs affected (95 % CI)",
    "lost": "lost in these",
    "duplicating": "duplicates: runs affected (95 % CI)",
    "duplicates": "twice in these",
    "p": "p of equal cells",
    "dirty": "dirty",
    "clean_lost": "loss, clean alone",
    "clean_duplicate": "duplicates, clean alone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """The runs of one experiment in a pool's cells, cell by cell."""

    pool: Pool
    scenario: str
    experiment: str
    cells: Sequence[Sequence[Line]]

    @property
    def lines(self) -> list[Line]:
        """All of its runs."""
        return [line for cell in self.cells for line in cell]

    def dispersion(self, made_in: Sittings, anomaly: str) -> Dispersion:
        """Of its runs as of one cell."""
        return made_in.dispersion([self.lines], anomaly)

    def row(self, made_in: Sittings) -> dict[str, str]:
        """Its row, by HEADS."""
        row = {"name": self.pool.name, "scenario": self.scenario}
        row |= {"cells": str(len(self.cells)), "sittings": str(made_in.count(self.lines))}
        for anomaly, shares, numbers in (
            ("lost", "lossy", "lost"),
            ("duplicate", "duplicating", "duplicates"),
        ):
            counted = anomaly in self.pool.of
            seen = [count for count in counts(self.lines, anomaly) if count]
            factor = self.dispersion(made_in, anomaly).factor
            row[shares] = made_in.affected(self.lines, anomaly, factor) if counted else "—"
            row[numbers] = middle(seen) if counted else "—"
        found = {anomaly: p for anomaly in self.pool.of if (p := self._p(anomaly)) is not None}
        row["p"] = ", ".join(f"{anomaly} {p:.2f}" for anomaly, p in found.items()) or "—"
        commits = of_commits(self.lines)
        for anomaly in {"lost", "duplicate"} - {*self.pool.of}:
            commits[f"clean_{anomaly}"] = "—"
        return row | commits

    def _p(self, anomaly: str) -> float | None:
        """None where all runs agree, or fewer than two cells have any."""
        seen = [[bool(count) for count in counts(cell, anomaly)] for cell in self.cells]
        table = [[sum(runs), len(runs) - sum(runs)] for runs in seen if runs]
        if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
            return None
        return float(chi2_contingency(table).pvalue)


def pools(campaign: Campaign, ledger: Lines) -> list[Pooled]:
    """The pools of the campaign with runs, one for each experiment of these."""
    pooled = []
    for pool, cells in campaign.pooled():
        keys = [cell.key for cell in cells]
        lines = [line for line in ledger.standing if line["cell"] in keys]
        pooled += [
            Pooled(
                pool=pool,
                scenario=cells[0].scenario,
                experiment=experiment,
                cells=[[line for line in runs if line["cell"] == key] for key in keys],
            )
            for experiment, runs in by_experiment(lines).items()
        ]
    return pooled
