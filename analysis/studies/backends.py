"""docs/backends.md: the same scenarios on every backend side by side, from the runs' summaries.

    python -m analysis.studies.backends docs/backends.toml     writes backends.md beside it

Pure: campaign file + data file -> text. One row a scenario, one column a backend. Two backends
*differ* in a measure where their ranges do not touch. With three runs each that happens by chance
in one of ten comparisons (2 of the 20 ways to part six values), so such a sentence proves nothing.
Gaps that differ by less than half a second are left out.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.studies.beside import beside
from analysis.studies.cells.experiments import differing_parts
from analysis.studies.cells.shares import CALM_PERCENT, calm, checked, kafkas, middle, some_runs
from analysis.studies.pages import Cell, template, write_page
from harness.model.campaigns.ledger import LedgerError, Lines
from harness.model.campaigns.ledger_line import Line

GAP_S = 0.5  # a difference of gaps that is worth a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that the page has of each cell on each backend."""

    title: str
    key: str
    digits: int = 0
    least: float = 0.0  # the least difference of medians

    def of(self, line: Line) -> float:
        """Its value in one run."""
        if self.key == "gap":
            return float(max(line["produce_gaps_s"], default=0.0))
        return int(line["anomalies"][self.key])

    def values(self, runs: Sequence[Line]) -> list[float]:
        """Its values in the checked runs; gaps only of calm ones."""
        lines = checked(runs)
        return [self.of(line) for line in (calm(lines) if self.key == "gap" else lines)]


MEASURES = (
    Measure(title="Records lost", key="lost"),
    Measure(title="Duplicates", key="duplicate"),
    Measure(title="Longest gap, s", key="gap", digits=2, least=GAP_S),
)


def name_of(cell: Cell) -> str:
    """What the cell is called in the data."""
    return str(cell.get("name", cell["scenario"]))


def runs_of(lines: Sequence[Line], cell: Cell, backend: str) -> list[Line]:
    """The runs of a cell on a backend. Raises LedgerError if they are of several experiments, whose
    difference could look like the backends'."""
    runs = [
        line
        for line in lines
        if line["cell"] == name_of(cell) and line.get("backend", "local") == backend
    ]
    if experiments := differing_parts(runs):
        raise LedgerError(
            f"the runs of {name_of(cell)} on {backend} are of several experiments: "
            f"{'; '.join(experiments)}: let lines of event superseded say which count no more"
        )
    return runs


def valid_runs(runs: Sequence[Line]) -> str:
    """How many of the runs are valid: `3 of 3`."""
    valid = sum(line.get("verdict") == "valid" for line in runs)
    return f"{valid} of {len(runs)}" if runs else "—"


def middle_of(measure: Measure, runs: Sequence[Line]) -> str:
    """Median and extremes over the checked runs, or one number where all agree. For gaps: over the
    calm runs, with their number where some are not calm."""
    values = measure.values(runs)
    return middle(values, measure.digits or None) + some_runs(len(values), len(checked(runs)))


def differences(campaign: Cell, lines: Sequence[Line]) -> list[str]:
    """A sentence for each measure of a cell in which two backends differ."""
    return [
        f"`{name_of(cell)}`, {measure.title.lower()}: {one} {middle_of(measure, runs[one])}, "
        f"{other} {middle_of(measure, runs[other])}."
        for cell in campaign["cells"]
        for runs in [{name: runs_of(lines, cell, name) for name in campaign["backends"]}]
        for measure in MEASURES
        for one, other in itertools.combinations(campaign["backends"], 2)
        if differ(measure, runs[one], runs[other])
    ]


def differ(measure: Measure, one: Sequence[Line], other: Sequence[Line]) -> bool:
    """Whether the ranges do not touch and the medians differ enough; never for gaps that only some
    runs have."""
    a, b = measure.values(one), measure.values(other)
    if (len(a), len(b)) != (len(checked(one)), len(checked(other))):
        return False
    if not a or not b or (max(a) >= min(b) and max(b) >= min(a)):
        return False
    return abs(statistics.median(a) - statistics.median(b)) >= measure.least


def unmet(lines: Sequence[Line]) -> list[str]:
    """Each run that was not as demanded, with the reasons."""
    return [
        f"`{line['cell']}` on {line.get('backend', 'local')}, seed {line['seed']}: "
        f"{line.get('verdict', 'not finished')}"
        + "".join(f"; {reason}" for reason in line.get("reasons", ()))
        for line in lines
        if line.get("verdict") != "valid"
    ]


def hosts(campaign: Cell, lines: Sequence[Line]) -> list[str]:
    """What ran on each backend, and how busy the host was."""
    described = []
    for backend in campaign["backends"]:
        own = [line for line in lines if line.get("backend", "local") == backend]
        if not own:
            described.append(f"{backend}: no runs yet")
            continue
        kafka = ", ".join(kafkas(own))
        busy = [p for line in own if (p := _pressure(line)) is not None]
        waited = (
            f", a process waited for a CPU {statistics.median(busy):.0f} % of the time"
            if busy
            else ""
        )
        described.append(f"{backend}: {len(own)} runs, Kafka {kafka or 'from its image'}{waited}")
    return described


def _pressure(line: Line) -> float | None:
    starvation = (line.get("host") or {}).get("cpu_starvation") or {}
    value = starvation.get("pressure_some_percent")
    return None if value is None else float(value)


def render(campaign: Cell, ledger: Lines) -> str:
    """The whole page."""
    lines = ledger.standing
    columns = campaign["backends"]
    rows = {name_of(c): [runs_of(lines, c, name) for name in columns] for c in campaign["cells"]}
    return template("backends.md.j2").render(
        backends=columns,
        cells=[{**cell, "name": name_of(cell)} for cell in campaign["cells"]],
        demanded={name: [valid_runs(runs) for runs in row] for name, row in rows.items()},
        tables={
            m.title: {name: [middle_of(m, runs) for runs in row] for name, row in rows.items()}
            for m in MEASURES
        },
        settings={name_of(c): _settings(c) for c in campaign["cells"]},
        differences=differences(campaign, lines),
        notes=[(name_of(cell), cell["note"]) for cell in campaign["cells"] if cell.get("note")],
        unmet=unmet(lines),
        hosts=hosts(campaign, lines),
        seed=campaign["seed"],
        calm=f"{CALM_PERCENT:.0f} %",
        beside=beside(ledger),
    )


def _settings(cell: Cell) -> str:
    """What was changed of the scenario; a list is in the campaign's file."""
    values = cell.get("set", {}).items()
    changed = [f"`{key}={value}`" for key, value in values if not isinstance(value, list)]
    changed += [f"`{key}`: as in the file" for key, value in values if isinstance(value, list)]
    return ", ".join(changed) or "as shipped"


if __name__ == "__main__":
    write_page(render)
