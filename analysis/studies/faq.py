"""docs/faq.md: what operators ask, each question with what the study's runs measured.

    python -m analysis.studies.faq docs/study.toml     writes faq.md beside it

Pure: campaign and data -> text. The template has the words, the data every number, so that none can
be wrong or old.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.studies.cells.shares import (
    NOT_CALM,
    calm,
    checked,
    kafkas,
    middle_gap,
    settled,
    share,
)
from analysis.studies.claims import row
from analysis.studies.pages import Cell, markdown_table, page, template
from analysis.studies.study import gaps_of_faults
from harness.model.campaigns.ledger import Lines
from harness.model.campaigns.ledger_line import Line

ENOUGH: Final = 5  # calm runs; study.md has the gaps of fewer
HEADS = (
    "scenario",
    "runs",
    "runs as demanded",
    "acknowledged records lost",
    "duplicates",
    "also seen",
    "longest time without an ack, s",
    "longest time without a read, s",
)


class Measured:
    """What the template asks of the data, by a cell's name.

    Raises KeyError for a cell that is none, or that has no runs.
    """

    def __init__(self, campaign: Cell, lines: Sequence[Line]) -> None:
        self._cells = {cell.get("name", cell["scenario"]): cell for cell in campaign["cells"]}
        self._lines: dict[str, list[Line]] = {}
        self._all: dict[str, list[Line]] = {}
        for name, cell in self._cells.items():
            self._all[name] = runs = [line for line in lines if line["cell"] == name]
            if seen := checked(settled(runs, cell["repeats"])):
                self._lines[name] = seen
        self.enough = ENOUGH
        self.versions = ", ".join(kafkas(lines))

    def table(self, *names: str) -> str:
        """A row for each cell: medians over its runs, with the extremes."""
        return markdown_table(HEADS, map(self._row, names))

    def _row(self, name: str) -> list[str]:
        lines, cells = self._lines[name], row(self._cells[name], self._lines[name])
        return [
            f"`{self._cells[name]['scenario']}`",
            str(len(lines)),
            share([line["verdict"] == "valid" for line in lines]),
            cells["lost"],
            cells["duplicates"],
            cells["others"],
            _gap(lines, "produce"),
            _gap(lines, "consume"),
        ]

    def seen(self, anomaly: str, *names: str) -> str:
        """How many of an anomaly their runs saw: `4 to 7`, or one number where all agree."""
        lines = [line for name in names for line in self._lines[name]]
        return _span([line["anomalies"].get(anomaly, 0) for line in lines])

    def counted(self, key: str, *names: str) -> str:
        """The same of a count of the ledger's lines, as `undelivered`."""
        lines: list[Mapping[str, Any]] = [line for name in names for line in self._lines[name]]
        return _span([line[key] for line in lines])

    def runs(self, *names: str) -> str:
        """How many runs they have together: `10 runs`."""
        return f"{sum(len(self._lines[name]) for name in names)} runs"

    def failures(self, *names: str) -> dict[str, str]:
        """The gaps of all failures of their calm runs, older ones too: `median`, `least` and `most`
        in seconds, how many `failures`, in how many `runs`."""
        measured = calm(checked([line for name in names for line in self._all[name]]))
        gaps_s = [gap for line in measured for gap in gaps_of_faults(line)]
        return {
            "median": f"{statistics.median(gaps_s):.2f}",
            "least": f"{min(gaps_s):.2f}",
            "most": f"{max(gaps_s):.2f}",
            "failures": str(len(gaps_s)),
            "runs": str(len(measured)),
        }


def _gap(lines: Sequence[Line], kind: str) -> str:
    """The middle of the calm runs' gaps, if there are enough."""
    return middle_gap(lines, kind) if len(calm(lines)) >= ENOUGH else NOT_CALM


def _span(values: Sequence[int]) -> str:
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def render(campaign: Cell, ledger: Lines) -> str:
    """The whole page."""
    return template("faq.md.j2").render(measured=Measured(campaign, ledger.standing))


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.with_name("faq.md").write_text(page(file, render))
