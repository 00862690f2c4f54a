"""The cells of a campaign's matrices with their runs that count, and how much these differ between
sittings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.studies.cells.experiments import by_experiment, of_commits
from analysis.studies.cells.pooled import ACKS, Pooled
from analysis.studies.cells.shares import checked, counts
from analysis.studies.cells.sittings import Dispersion, Sittings, host
from analysis.studies.matrix_rows import row
from analysis.studies.pages import markdown_table
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.ledger import Lines, name_of
from harness.model.campaigns.ledger_line import Line
from harness.model.campaigns.matrix import in_words

JUDGED: Final = {"lost": "loss", "duplicate": "duplicates"}
SPREAD: Final = (
    "what breaks",
    "of",
    "affected by",
    "χ² by degrees of freedom",
    "degrees of freedom",
)


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

    made_in: Sittings
    found: Mapping[tuple[str, str, str], Mapping[str, Dispersion]]

    @classmethod
    def of(cls, cells: Sequence[Measured], told: Lines) -> Spread:
        """Of the cells that have runs."""
        made_in = Sittings.read(told)
        groups: dict[tuple[str, str, str], list[Measured]] = {}
        for cell in (each for each in cells if each.lines):
            groups.setdefault((cell.scenario, cell.acks, cell.experiment), []).append(cell)
        return cls(
            made_in=made_in,
            found={
                key: {a: made_in.dispersion([cell.lines for cell in group], a) for a in JUDGED}
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
            key: self.made_in.affected(cell.lines, anomaly, factors[anomaly]) if cell.lines else "—"
            for key, anomaly in shares.items()
        }
        sittings = str(self.made_in.count(cell.lines))
        return {
            "experiment": cell.experiment,
            **row(cell.lines),
            **told,
            "sittings": sittings,
            **of_commits(cell.lines),
        }

    def table(self, together: Sequence[Pooled]) -> str:
        """Each dispersion of which anything is known: of single cells, and of pools."""
        cells = [
            ((scenario, f"single cells, acks={acks or '—'}", JUDGED[anomaly]), it)
            for (scenario, acks, _), each in self.found.items()
            for anomaly, it in each.items()
        ]
        pooled = [
            (
                (each.scenario, f"the pool {each.pool.name}", JUDGED[of]),
                each.dispersion(self.made_in, of),
            )
            for each in together
            for of in each.pool.of
        ]
        rows = [
            [*words, f"{it.ratio:.2f}", str(it.freedom)]
            for words, it in (*cells, *pooled)
            if it.freedom
        ]
        return markdown_table(SPREAD, rows) if rows else ""

    def sittings(self, lines: Sequence[Line], together: Sequence[Pooled]) -> str:
        """Each sitting: when it began, its host, its runs, and how many of those of each pool were
        affected."""
        by_sitting: dict[str, list[Line]] = {}
        for line in lines:
            by_sitting.setdefault(self.made_in.of[name_of(line)], []).append(line)
        asked = [(each, anomaly) for each in together for anomaly in each.pool.of]
        heads = [f"{each.pool.name}, {each.scenario}: {JUDGED[of]}" for each, of in asked]
        rows = []
        for mine in by_sitting.values():
            names = {name_of(line) for line in mine}
            shares = []
            for each, anomaly in asked:
                seen = counts([li for li in each.lines if name_of(li) in names], anomaly)
                shares.append(f"{sum(map(bool, seen))} of {len(seen)}" if seen else "—")
            began = min(str(line.get("started_utc"))[:16].replace("T", " ") for line in mine)
            rows.append([began, self.made_in.hosts[host(mine[0])], str(len(mine)), *shares])
        return markdown_table(["began (UTC)", "host", "runs", *heads], rows)


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
