"""Cells that are one experiment for losses or duplicates, counted together (`[[pools]]` of a
campaign's file): what they differ in cannot matter to these, for a reason in Kafka that is written
there, and not by what their shares are.

Beside each stands how likely such cells are to differ as much as they do where their shares are
equal and runs independent (Pearson's χ² of the cells): it decides nothing. Times, reads and CAP are
not pooled.
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
    """The runs of a pool's cells, of one experiment, cell by cell."""

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
        """What they came to, by HEADS."""
        told = {"name": self.pool.name, "scenario": self.scenario}
        told |= {"cells": str(len(self.cells)), "sittings": str(made_in.count(self.lines))}
        for anomaly, shares, numbers in (
            ("lost", "lossy", "lost"),
            ("duplicate", "duplicating", "duplicates"),
        ):
            mine = anomaly in self.pool.of
            seen = [count for count in counts(self.lines, anomaly) if count]
            factor = self.dispersion(made_in, anomaly).factor
            told[shares] = made_in.affected(self.lines, anomaly, factor) if mine else "—"
            told[numbers] = middle(seen) if mine else "—"
        found = {anomaly: self._p(anomaly) for anomaly in self.pool.of}
        told["p"] = ", ".join(f"{anomaly} {p:.2f}" for anomaly, p in found.items() if p is not None)
        commits = of_commits(self.lines)
        for anomaly in {"lost", "duplicate"} - {*self.pool.of}:
            commits[f"clean_{anomaly}"] = "—"
        return told | {"p": told["p"] or "—"} | commits

    def _p(self, anomaly: str) -> float | None:
        """None where all runs agree, or fewer than two cells have any."""
        seen = [[bool(each) for each in counts(cell, anomaly)] for cell in self.cells]
        table = [[sum(each), len(each) - sum(each)] for each in seen if each]
        if len(table) < 2 or not all(map(sum, zip(*table, strict=True))):
            return None
        return float(chi2_contingency(table).pvalue)


def pools(campaign: Campaign, told: Lines) -> list[Pooled]:
    """Each pool of the campaign that has runs, for each experiment that they are of."""
    found = []
    for pool, cells in campaign.pooled():
        keys = [cell.key for cell in cells]
        lines = [line for line in told.standing if line["cell"] in keys]
        found += [
            Pooled(
                pool=pool,
                scenario=cells[0].scenario,
                experiment=experiment,
                cells=[[line for line in mine if line["cell"] == key] for key in keys],
            )
            for experiment, mine in by_experiment(lines).items()
        ]
    return found
