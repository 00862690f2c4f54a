"""The cells of a campaign's matrices with their runs that count, and how much these differ between
sittings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.studies.cells.experiments import by_experiment, of_commits
from analysis.studies.cells.pooled import ACKS
from analysis.studies.cells.shares import checked
from analysis.studies.cells.sittings import Dispersion, Sat
from analysis.studies.matrix_rows import row
from analysis.studies.pages import markdown_table
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.matrix import in_words
from harness.model.runs.ledger import Line, Lines

JUDGED: Final = {"lost": "loss", "duplicate": "duplicates"}
SPREAD: Final = ("what breaks", "acks", "of", "dispersion", "degrees of freedom", "sittings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A cell of a matrix, and its runs that count."""

    key: str
    scenario: str
    settings: Mapping[str, Any]
    wanted: int
    note: str
    experiment: str  # of which its runs are; empty without runs
    lines: Sequence[Line]

    @property
    def label(self) -> str:
        """Its settings in words."""
        return ", ".join(in_words(self.settings))

    @property
    def acks(self) -> str:
        """Its producers' acks, where they are one of its settings."""
        return str(self.settings.get(ACKS, ""))

    @property
    def checked(self) -> Sequence[Line]:
        """Its runs that came to a report."""
        return checked(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """In which sittings the runs were made, and how much more than independent runs those of the
    cells of one scenario, acks and experiment differ between them, by anomaly."""

    sat: Sat
    found: Mapping[tuple[str, str, str], Mapping[str, Dispersion]]
    sizes: Mapping[tuple[str, str, str], int]

    @classmethod
    def of(cls, cells: Sequence[Measured], told: Lines) -> Spread:
        """Of the cells that have runs."""
        sat = Sat.read(told)
        groups: dict[tuple[str, str, str], list[Measured]] = {}
        for cell in (each for each in cells if each.lines):
            groups.setdefault((cell.scenario, cell.acks, cell.experiment), []).append(cell)
        return cls(
            sat=sat,
            found={
                key: {a: sat.dispersion([cell.lines for cell in group], a) for a in JUDGED}
                for key, group in groups.items()
            },
            sizes={
                key: sat.count([line for cell in group for line in cell.lines])
                for key, group in groups.items()
            },
        )

    def factors(self, scenario: str, acks: str) -> Mapping[str, float]:
        """The dispersions of such cells, the largest of all experiments."""
        mine = [each for key, each in self.found.items() if key[:2] == (scenario, acks)]
        return {a: max((each[a].factor for each in mine), default=1.0) for a in JUDGED}

    def row(self, cell: Measured) -> dict[str, str]:
        """A cell's row, by HEADS."""
        factors = self.factors(cell.scenario, cell.acks)
        shares = {"lossy": "lost", "duplicating": "duplicate"}
        told = {
            key: self.sat.affected(cell.lines, anomaly, factors[anomaly]) if cell.lines else "—"
            for key, anomaly in shares.items()
        }
        sittings = str(self.sat.count(cell.lines))
        return {
            "experiment": cell.experiment,
            **row(cell.lines),
            **told,
            "sittings": sittings,
            **of_commits(cell.lines),
        }

    def table(self) -> str:
        """Each dispersion of which anything is known."""
        rows = [
            [
                *(scenario, acks or "—", JUDGED[anomaly], f"{it.factor:.2f}", str(it.freedom)),
                str(self.sizes[scenario, acks, experiment]),
            ]
            for (scenario, acks, experiment), each in self.found.items()
            for anomaly, it in each.items()
            if it.freedom
        ]
        return markdown_table(SPREAD, rows)


def measured(campaign: Mapping[str, Any], lines: Sequence[Line]) -> list[Measured]:
    """All cells of a campaign's matrices, each for every experiment that its runs are of."""
    by_cell: dict[str, list[Line]] = {}
    for line in lines:
        by_cell.setdefault(line["cell"], []).append(line)
    return [
        Measured(
            key=cell.key,
            scenario=cell.scenario,
            settings={key: cell.set[key] for key in matrix.axes},
            wanted=cell.repeats,
            note=cell.note,
            experiment=experiment,
            lines=mine,
        )
        for matrix in Campaign.model_validate(campaign).matrix
        for cell in matrix.cells()
        for experiment, mine in (by_experiment(by_cell.get(cell.key, ())) or {"": []}).items()
    ]
