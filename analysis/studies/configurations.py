"""docs/configurations.md: where settings put Kafka between consistent and available, as measured.

    python -m analysis.studies.configurations docs/configurations.toml  writes .md and .svg

Pure: campaign file + ledger -> text. Nothing is derived of a configuration but what
docs/promises.md derives, which stands beside what was seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from analysis.measures.cap import POSITIONS
from analysis.studies.beside import beside
from analysis.studies.cells.pooled import HEADS as POOLED
from analysis.studies.cells.pooled import Pooled, pools
from analysis.studies.cells.shares import CALM_PERCENT, counts, kafkas, wilson
from analysis.studies.cells.sittings import FEW
from analysis.studies.matrix_rows import HEADS as ALL_HEADS
from analysis.studies.matrix_rows import MORE_HEADS, more, positions
from analysis.studies.measured import JUDGED, Measured, Spread, measured
from analysis.studies.pages import lean_table, markdown_table, page, template
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.ledger import Lines
from harness.model.campaigns.matrix import in_words, short
from harness.model.kafka_text import kafka_text

FAULTS: Final = {
    "one-kill": "The leader is killed (SIGKILL), and comes back 12 s later.",
    "one-cut-then-kill": "The leader is cut from its followers, not from ZooKeeper and clients. "
    "Two seconds after it is alone in the ISR it is killed. It comes back 17 s later.",
    "one-pause": "The leader stands still (SIGSTOP) for 12 s.",
    "one-power-loss": "All brokers lose what they had not synced, and come back after a second.",
}
HEADS: Final = {
    "experiment": "of",
    **{key: head for key, head in ALL_HEADS.items() if key != "pressure"},
    "sittings": "sittings",
    "dirty": "dirty",
    "clean_lost": "loss, clean alone",
    "clean_duplicate": "duplicates, clean alone",
}
ONCE: Final = {
    "experiment": (None, "All of {}."),
    "runs": (None, "{} runs each."),
    "dirty": ("0", "All from clean commits."),
    "clean_lost": ("—", ""),
    "clean_duplicate": ("—", ""),
}
COLOURS: Final = {
    "CP": "#2b6cb0",
    "AP": "#c05621",
    "both": "#2f855a",
    "neither": "#9b2c2c",
    "unknown": "#a0aec0",
}


def render(campaign: Mapping[str, Any], told: Lines) -> str:
    """The whole page."""
    cells = measured(campaign, told.standing)
    groups = _groups(cells)
    begun = [group for group in groups if _begun(group)]
    promises, promised = _promises(cells)
    spread = Spread.of(cells, told)
    together = pools(Campaign.model_validate(campaign), told)
    return template("configurations.md.j2").render(
        cells=cells,
        faults={group[0].scenario: FAULTS.get(group[0].scenario, "") for group in groups},
        one_table=[(_new(group, begun[0]), _table(group, spread)) for group in _alike(begun)],
        pooled=_pooled(together, spread),
        reasons={each.pool.name: each.pool.reason for each in together},
        spread=spread.table(together),
        sittings=spread.sittings(told.standing, together),
        hosts=spread.made_in.hosts,
        few=FEW,
        tables=[(group[0].scenario, _heading(group, groups), _more(group)) for group in begun],
        not_begun=[(group[0].scenario, group) for group in groups if not _begun(group)],
        differences=markdown_table(DIFFERS, found)
        if (found := list(differences(cells, spread)))
        else "",
        promises=promises,
        promised=promised,
        of={cell.key: spread.row(cell) for cell in cells if cell.lines},
        calm=f"{CALM_PERCENT:.0f} %",
        versions=", ".join(kafkas(told.standing)),
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
    new = _new(group, first)
    return f": {new}" if new else ""


def _new(group: Sequence[Measured], first: Sequence[Measured]) -> str:
    """The settings of a table that the first one has not."""
    return ", ".join(short(key) for key in group[0].settings if key not in first[0].settings)


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


def _alike(groups: Sequence[Sequence[Measured]]) -> list[list[Measured]]:
    """The cells of these groups that vary the same settings, whatever breaks."""
    alike: dict[tuple[str, ...], list[Measured]] = {}
    for group in groups:
        alike.setdefault(tuple(group[0].settings), []).extend(group)
    return list(alike.values())


def _rows(
    cells: Sequence[Measured], heads: Mapping[str, str], told: Sequence[Mapping[str, str]]
) -> str:
    """A table of cells that vary the same settings: what breaks, the settings, and what is told."""
    axes = {key: short(key) for key in cells[0].settings}
    rows: list[dict[str, str]] = []
    for cell, each in zip(cells, told, strict=True):
        settings = {key: kafka_text(value) for key, value in cell.settings.items()}
        rows.append({"scenario": cell.scenario, **settings, **each})
    return lean_table({"scenario": "what breaks", **axes, **heads}, rows, ONCE)


def _table(cells: Sequence[Measured], spread: Spread) -> str:
    """What the runs did. A cell without runs is of no experiment, and makes no column for it."""
    rows = [spread.row(cell) for cell in cells]
    of = {each["experiment"] for each in rows if each["experiment"]}
    for each in rows:
        each["experiment"] = each["experiment"] or ("—" if len(of) > 1 else next(iter(of), "—"))
    return _rows(cells, HEADS, rows)


def _pooled(together: Sequence[Pooled], spread: Spread) -> str:
    """What the runs of cells that are one experiment did."""
    rows = [{"experiment": each.experiment} | each.row(spread.made_in) for each in together]
    return lean_table({"experiment": "of", **POOLED}, rows, ONCE)


def _more(cells: Sequence[Measured]) -> str:
    """What else they show: how the time without acks splits, and what consumers saw."""
    return markdown_table(
        [*map(short, cells[0].settings), *MORE_HEADS.values()],
        ([*map(kafka_text, cell.settings.values()), *more(cell.lines).values()] for cell in cells),
    )


DIFFERS: Final = (
    *("what breaks", "all else", "of", "one setting: runs affected (95 % CI)"),
    "the other: runs affected (95 % CI)",
)


def _differences(cells: Sequence[Measured], spread: Spread) -> str:
    found = list(differences(cells, spread))
    return markdown_table(DIFFERS, found) if found else ""


def differences(cells: Sequence[Measured], spread: Spread) -> Iterator[list[str]]:
    """What one setting changed, all others equal, by DIFFERS: only shares whose intervals do not
    overlap."""
    pairs = (pair for group in _groups(cells) for pair in combinations(group, 2))
    for one, other in pairs:
        if one.experiment != other.experiment:
            continue
        changed = [key for key in one.settings if one.settings[key] != other.settings[key]]
        if len(changed) != 1:
            continue
        rest = {key: value for key, value in one.settings.items() if key != changed[0]}
        for anomaly, words in JUDGED.items():
            both = [
                (counts(cell.checked, anomaly), spread.factors(cell.scenario, cell.acks)[anomaly])
                for cell in (one, other)
            ]
            if _apart(*both):
                told = (
                    f"{next(in_words({changed[0]: cell.settings[changed[0]]}))}: "
                    f"{spread.made_in.affected(cell.lines, anomaly, factor)}"
                    for cell, (_, factor) in zip((one, other), both, strict=True)
                )
                yield [one.scenario, ", ".join(in_words(rest)), words, *told]


def _apart(*both: tuple[Sequence[int], float]) -> bool:
    """Whether the intervals of two shares, each with its dispersion, do not overlap."""
    a, b = (wilson(sum(map(bool, each)), len(each), factor) for each, factor in both)
    return a[1] < b[0] or b[1] < a[0]


def _promises(cells: Sequence[Measured]) -> tuple[list[str], list[str]]:
    """What docs/promises.md derives for the cells: its sentences, each once, and tables of what
    they allow, by their numbers, beside what the runs saw."""
    sentences: list[str] = []
    tables = []
    for group in _alike([[cell] for cell in cells if cell.checked]):
        told = [
            {anomaly: _promised(cell, anomaly, sentences) for anomaly in JUDGED} for cell in group
        ]
        tables.append(_rows(group, JUDGED, told))
    return sentences, tables


def _promised(cell: Measured, anomaly: str, sentences: list[str]) -> str:
    """Whether an anomaly may be, by the promise of this number, and whether it was seen."""
    told = [line["promises"][anomaly] for line in cell.checked]
    runs = len(told)
    may = sum(not each["forbidden"] for each in told)
    seen = sum(map(bool, counts(cell.checked, anomaly)))
    broken = sum(
        each["forbidden"] and line["anomalies"].get(anomaly, 0) > 0
        for each, line in zip(told, cell.checked, strict=True)
    )
    why = Counter(each["promise"] for each in told).most_common(1)[0][0]
    if why not in sentences:
        sentences.append(why)
    number = f"({sentences.index(why) + 1})"
    if broken:
        return f"**forbidden {number}, seen in {broken} of {runs}**"
    allowed = "allowed" if may == runs else f"allowed in {may} of {runs}" if may else "forbidden"
    return f"{allowed} {number}, {f'seen in {seen} of {runs}' if seen else 'not seen'}"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.with_suffix(".md").write_text(page(file, render))
    file.with_suffix(".svg").write_text(page(file, figure))
