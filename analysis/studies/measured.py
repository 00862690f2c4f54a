"""The cells of a campaign's matrices with their runs that count, and how these spread over
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
from analysis.studies.pages import Cell, markdown_table
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
    experiment: str  # of its runs; empty without runs
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
    """The sittings of the runs and, by scenario, acks and experiment, how much more the runs of
    such cells differ between sittings than independent ones, by anomaly."""

    made_in: Sittings
    by_group: Mapping[tuple[str, str, str], Mapping[str, Dispersion]]

    @classmethod
    def of(cls, cells: Sequence[Measured], ledger: Lines) -> Spread:
        """Of the cells that have runs."""
        made_in = Sittings.read(ledger)
        groups: dict[tuple[str, str, str], list[Measured]] = {}
        for cell in (c for c in cells if c.lines):
            groups.setdefault((cell.scenario, cell.acks, cell.experiment), []).append(cell)
        return cls(
            made_in=made_in,
            by_group={
                key: {a: made_in.dispersion([cell.lines for cell in group], a) for a in JUDGED}
                for key, group in groups.items()
            },
        )

    def factors(self, scenario: str, acks: str) -> Mapping[str, float]:
        """The largest dispersions of such cells over all experiments."""
        groups = [group for key, group in self.by_group.items() if key[:2] == (scenario, acks)]
        return {a: max((group[a].factor for group in groups), default=1.0) for a in JUDGED}

    def row(self, cell: Measured) -> dict[str, str]:
        """A cell's row, by HEADS."""
        factors = self.factors(cell.scenario, cell.acks)
        shares = {"lossy": "lost", "duplicating": "duplicate"}
        shares_of = {
            key: self.made_in.affected(cell.lines, anomaly, factors[anomaly]) if cell.lines else "—"
            for key, anomaly in shares.items()
        }
        sittings = str(self.made_in.count(cell.lines))
        return {
            "experiment": cell.experiment,
            **row(cell.lines),
            **shares_of,
            "sittings": sittings,
            **of_commits(cell.lines),
        }

    def table(self, together: Sequence[Pooled]) -> str:
        """Each known dispersion, of single cells and of pools."""
        cells = [
            ((scenario, f"single cells, acks={acks or '—'}", JUDGED[anomaly]), it)
            for (scenario, acks, _), group in self.by_group.items()
            for anomaly, it in group.items()
        ]
        pooled = [
            (
                (pool.scenario, f"the pool {pool.pool.name}", JUDGED[of]),
                pool.dispersion(self.made_in, of),
            )
            for pool in together
            for of in pool.pool.of
        ]
        rows = [
            [*words, f"{it.ratio:.2f}", str(it.freedom)]
            for words, it in (*cells, *pooled)
            if it.freedom
        ]
        return markdown_table(SPREAD, rows) if rows else ""

    def sittings(self, lines: Sequence[Line], together: Sequence[Pooled]) -> str:
        """Each sitting: when it began, its host, its runs, and how many runs of each pool were
        affected."""
        by_sitting: dict[str, list[Line]] = {}
        for line in lines:
            by_sitting.setdefault(self.made_in.of[name_of(line)], []).append(line)
        asked = [(pool, anomaly) for pool in together for anomaly in pool.pool.of]
        heads = [f"{pool.pool.name}, {pool.scenario}: {JUDGED[of]}" for pool, of in asked]
        rows = []
        for runs in by_sitting.values():
            names = {name_of(line) for line in runs}
            shares = []
            for pool, anomaly in asked:
                seen = counts([li for li in pool.lines if name_of(li) in names], anomaly)
                shares.append(f"{sum(map(bool, seen))} of {len(seen)}" if seen else "—")
            began = min(str(line.get("started_utc"))[:16].replace("T", " ") for line in runs)
            rows.append([began, self.made_in.hosts[host(runs[0])], str(len(runs)), *shares])
        return markdown_table(["began (UTC)", "host", "runs", *heads], rows)


def measured(campaign: Cell, lines: Sequence[Line]) -> list[Measured]:
    """All cells of a campaign's matrices, one for each experiment of their runs."""
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
            lines=runs,
        )
        for matrix in Campaign.model_validate(campaign).matrix
        for cell in matrix.cells()
        for experiment, runs in (by_experiment(by_cell.get(cell.key, ())) or {"": []}).items()
    ]
