"""docs/configurations.md: where settings put Kafka between consistent and available, as measured.

    python -m analysis.studies.configurations docs/configurations.toml  writes .md and .svg

Pure: campaign file + ledger -> text. Nothing is derived of a configuration but what
docs/promises.md derives, which stands beside what was seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from analysis.measures.position import POSITIONS
from analysis.studies.beside import beside
from analysis.studies.matrix_rows import HEADS, MORE_HEADS, more, positions, row
from analysis.studies.pages import markdown_table, page, template
from analysis.studies.shares import CALM_PERCENT, checked, counts, share, wilson
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.matrix import in_words, short
from harness.model.kafka_text import kafka_text
from harness.model.runs.ledger import Line, Lines

JUDGED: Final = {"lost": "loss", "duplicate": "duplicates"}
COLOURS: Final = {
    "CP": "#2b6cb0",
    "AP": "#c05621",
    "both": "#2f855a",
    "neither": "#9b2c2c",
    "unknown": "#a0aec0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A cell of a matrix, and its runs that count."""

    scenario: str
    settings: Mapping[str, Any]
    wanted: int
    note: str
    lines: Sequence[Line]

    @property
    def label(self) -> str:
        """Its settings in words."""
        return ", ".join(in_words(self.settings))

    @property
    def checked(self) -> Sequence[Line]:
        """Its runs that came to a report."""
        return checked(self.lines)


def measured(campaign: Mapping[str, Any], lines: Sequence[Line]) -> list[Measured]:
    """All cells of a campaign's matrices."""
    return [
        Measured(
            scenario=cell.scenario,
            settings={key: cell.set[key] for key in matrix.axes},
            wanted=cell.repeats,
            note=cell.note,
            lines=[line for line in lines if line["cell"] == cell.key],
        )
        for matrix in Campaign.model_validate(campaign).matrix
        for cell in matrix.cells()
    ]


def render(campaign: Mapping[str, Any], told: Lines) -> str:
    """The whole page."""
    cells = measured(campaign, told.standing)
    groups = _groups(cells)
    return template("configurations.md.j2").render(
        cells=cells,
        tables=[
            (group[0].scenario, _heading(group, groups), _table(group), _more(group))
            for group in groups
            if _begun(group)
        ],
        not_begun=[(group[0].scenario, group) for group in groups if not _begun(group)],
        differences=list(differences(cells)),
        promises=promises(cells),
        calm=f"{CALM_PERCENT:.0f} %",
        versions=", ".join(sorted({line["kafka"] for line in told.standing if line.get("kafka")})),
        missing=[c for c in cells if len(c.lines) < c.wanted],
        beside=beside(told),
    )


def figure(campaign: Mapping[str, Any], told: Lines) -> str:
    """The picture on top: for each cell a bar of its runs' positions."""
    bars = [
        {"scenario": cell.scenario, "label": cell.label, "runs": len(cell.lines)}
        | {"parts": _parts(positions(cell.lines), len(cell.lines))}
        for group in _groups(measured(campaign, told.standing))
        if _begun(group)
        for cell in group
    ]
    return template("configurations.svg.j2").render(bars=bars, colours=COLOURS)


def _groups(cells: Sequence[Measured]) -> list[list[Measured]]:
    """The cells that stand in one table: of one scenario, by the same settings."""
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for cell in cells:
        groups.setdefault((cell.scenario, *cell.settings), []).append(cell)
    return list(groups.values())


def _heading(group: Sequence[Measured], groups: Sequence[Sequence[Measured]]) -> str:
    """What tells a table from an earlier one of the same scenario: the settings that are new."""
    first = next(each for each in groups if each[0].scenario == group[0].scenario)
    new = [short(key) for key in group[0].settings if key not in first[0].settings]
    return f": {', '.join(new)}" if new else ""


def _begun(group: Sequence[Measured]) -> bool:
    return any(cell.lines for cell in group)


def _parts(found: Mapping[str, int], runs: int) -> list[dict[str, Any]]:
    """The parts of a bar, as shares of its width from the left."""
    begins, parts = 0.0, []
    for name in POSITIONS:
        if name in found:
            width = found[name] / runs
            parts.append({"name": name, "runs": found[name], "at": begins, "width": width})
            begins += width
    return parts


def _table(cells: Sequence[Measured]) -> str:
    """The rows of a scenario: its settings, then what was measured."""
    return markdown_table(
        [*map(short, cells[0].settings), *HEADS.values()],
        ([*map(kafka_text, cell.settings.values()), *row(cell.lines).values()] for cell in cells),
    )


def _more(cells: Sequence[Measured]) -> str:
    """What else they show: how the time without acks splits, and what consumers saw."""
    return markdown_table(
        [*map(short, cells[0].settings), *MORE_HEADS.values()],
        ([*map(kafka_text, cell.settings.values()), *more(cell.lines).values()] for cell in cells),
    )


def differences(cells: Sequence[Measured]) -> Iterator[str]:
    """What one setting changed, all others equal: only shares whose intervals do not overlap."""
    pairs = (pair for group in _groups(cells) for pair in combinations(group, 2))
    for one, other in pairs:
        changed = [key for key in one.settings if one.settings[key] != other.settings[key]]
        if len(changed) != 1:
            continue
        rest = {key: value for key, value in one.settings.items() if key != changed[0]}
        where = f"`{one.scenario}`, {', '.join(in_words(rest))}"
        for anomaly, words in JUDGED.items():
            shares = counts(one.checked, anomaly), counts(other.checked, anomaly)
            if _apart(*shares):
                pair = (
                    f"{next(in_words({changed[0]: c.settings[changed[0]]}))}" for c in (one, other)
                )
                told = " against ".join(
                    f"{share(each)} with {setting}"
                    for each, setting in zip(shares, pair, strict=True)
                )
                yield f"{where}: {words} in {told}"


def _apart(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether the intervals of two shares do not overlap."""
    a, b = (wilson(sum(map(bool, each)), len(each)) for each in (one, other))
    return a[1] < b[0] or b[1] < a[0]


def promises(cells: Sequence[Measured]) -> list[dict[str, str]]:
    """What docs/promises.md derives for each cell, beside what its runs saw: a row for each cell
    and anomaly where the runs disagree with what may be, or where it may be."""
    return [_promised(cell, anomaly) for cell in cells for anomaly in JUDGED if cell.checked]


def _promised(cell: Measured, anomaly: str) -> dict[str, str]:
    told = [line["promises"][anomaly] for line in cell.checked]
    may = sum(not each["forbidden"] for each in told)
    seen = sum(map(bool, counts(cell.checked, anomaly)))
    broken = sum(
        each["forbidden"] and line["anomalies"].get(anomaly, 0) > 0
        for each, line in zip(told, cell.checked, strict=True)
    )
    return {
        "scenario": cell.scenario,
        "settings": cell.label,
        "anomaly": JUDGED[anomaly],
        "may": f"{may} of {len(told)}",
        "seen": f"{seen} of {len(told)}",
        "why": Counter(each["promise"] for each in told).most_common(1)[0][0],
        "agrees": _agreement(may, seen, broken, len(told)),
        "note": cell.note,
    }


def _agreement(may: int, seen: int, broken: int, runs: int) -> str:
    """In words, whether what was seen is what may be."""
    if broken:
        return f"**broken in {broken}**"
    if not may:
        return "forbidden, not seen"
    if seen:
        return "permitted, seen"
    most = wilson(0, runs)[1]
    return f"permitted, not seen: in less than {most:.0%} of runs, or not at all".replace("%", " %")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.with_suffix(".md").write_text(page(file, render))
    file.with_suffix(".svg").write_text(page(file, figure))
