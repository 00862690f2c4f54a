"""docs/configurations.md: where settings put Kafka between consistent and available, as measured.

    python -m analysis.studies.configurations docs/configurations.toml  writes .md and .svg

Pure: campaign file + ledger -> text. Beside what was seen stands what docs/promises.md derives of
each configuration.
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
from analysis.studies.pages import Cell, lean_table, markdown_table, page, template
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
    "undelivered": ("—", ""),
    "expired": ("—", ""),
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


def render(campaign: Cell, ledger: Lines) -> str:
    """The whole page."""
    lines = ledger.standing
    cells = measured(campaign, lines)
    groups = _groups(cells)
    begun = [group for group in groups if _begun(group)]
    promises, promised = _promises(cells)
    spread = Spread.of(cells, ledger)
    together = pools(Campaign.model_validate(campaign), ledger)
    return template("configurations.md.j2").render(
        cells=cells,
        faults={group[0].scenario: FAULTS.get(group[0].scenario, "") for group in groups},
        one_table=[(_new(group, begun[0]), _table(group, spread)) for group in _by_axes(begun)],
        pooled=_pools_table(together, spread),
        reasons={pooled.pool.name: pooled.pool.reason for pooled in together},
        spread=spread.table(together),
        sittings=spread.sittings(lines, together),
        hosts=spread.made_in.hosts,
        few=FEW,
        tables=[(group[0].scenario, _heading(group, groups), _more(group)) for group in begun],
        not_begun=[(group[0].scenario, group) for group in groups if not _begun(group)],
        differences=_differences(cells, spread),
        promises=promises,
        promised=promised,
        of={cell.key: spread.row(cell) for cell in cells if cell.lines},
        calm=f"{CALM_PERCENT:.0f} %",
        versions=", ".join(kafkas(lines)),
        missing=[c for c in cells if len(c.lines) < c.wanted],
        beside=beside(ledger),
    )


def figure(campaign: Cell, ledger: Lines) -> str:
    """The picture on top: a bar of each cell's runs by position."""
    bars = [
        {"scenario": cell.scenario, "label": cell.label, "runs": len(cell.lines)}
        | {"parts": _parts(positions(cell.lines), len(cell.lines))}
        for group in _groups(measured(campaign, ledger.standing))
        if _begun(group)
        for cell in group
    ]
    return template("configurations.svg.j2").render(bars=bars, colours=COLOURS)


def _groups(cells: Sequence[Measured]) -> list[list[Measured]]:
    """The cells of each table: of one scenario, varying the same settings."""
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for cell in cells:
        groups.setdefault((cell.scenario, *cell.settings), []).append(cell)
    return list(groups.values())


def _heading(group: Sequence[Measured], groups: Sequence[Sequence[Measured]]) -> str:
    """The settings that an earlier table of the same scenario lacks."""
    first = next(other for other in groups if other[0].scenario == group[0].scenario)
    new = _new(group, first)
    return f": {new}" if new else ""


def _new(group: Sequence[Measured], first: Sequence[Measured]) -> str:
    """The settings of a table that the first one lacks."""
    return ", ".join(short(key) for key in group[0].settings if key not in first[0].settings)


def _begun(group: Sequence[Measured]) -> bool:
    return any(cell.lines for cell in group)


def _parts(runs_of: Mapping[str, int], runs: int) -> list[dict[str, Any]]:
    """The parts of a bar, as shares of its width from the left."""
    begins, parts = 0.0, []
    for name in POSITIONS:
        if name in runs_of:
            width = runs_of[name] / runs
            parts.append({"name": name, "runs": runs_of[name], "at": begins, "width": width})
            begins += width
    return parts


def _by_axes(groups: Sequence[Sequence[Measured]]) -> list[list[Measured]]:
    """The cells of these groups that vary the same settings, of any scenario."""
    by_axes: dict[tuple[str, ...], list[Measured]] = {}
    for group in groups:
        by_axes.setdefault(tuple(group[0].settings), []).extend(group)
    return list(by_axes.values())


def _rows(
    cells: Sequence[Measured], heads: Mapping[str, str], columns: Sequence[Mapping[str, str]]
) -> str:
    """A table of cells that vary the same settings: what breaks, the settings, and more columns."""
    axes = {key: short(key) for key in cells[0].settings}
    rows: list[dict[str, str]] = []
    for cell, row in zip(cells, columns, strict=True):
        settings = {key: kafka_text(value) for key, value in cell.settings.items()}
        rows.append({"scenario": cell.scenario, **settings, **row})
    return lean_table({"scenario": "what breaks", **axes, **heads}, rows, ONCE)


def _table(cells: Sequence[Measured], spread: Spread) -> str:
    """What the runs did. A cell without runs has no experiment, and needs no column for it."""
    rows = [spread.row(cell) for cell in cells]
    of = {row["experiment"] for row in rows if row["experiment"]}
    for row in rows:
        row["experiment"] = row["experiment"] or ("—" if len(of) > 1 else next(iter(of), "—"))
    return _rows(cells, HEADS, rows)


def _pools_table(together: Sequence[Pooled], spread: Spread) -> str:
    """What the runs of cells that are one experiment did."""
    rows = [{"experiment": pool.experiment} | pool.row(spread.made_in) for pool in together]
    return lean_table({"experiment": "of", **POOLED}, rows, ONCE)


def _more(cells: Sequence[Measured]) -> str:
    """How the time without acks splits, and what consumers saw."""
    return markdown_table(
        [*map(short, cells[0].settings), *MORE_HEADS.values()],
        ([*map(kafka_text, cell.settings.values()), *more(cell.lines).values()] for cell in cells),
    )


DIFFERS: Final = (
    *("what breaks", "all else", "of", "one setting: runs affected (95 % CI)"),
    "the other: runs affected (95 % CI)",
)


def _differences(cells: Sequence[Measured], spread: Spread) -> str:
    rows = list(differences(cells, spread))
    return markdown_table(DIFFERS, rows) if rows else ""


def differences(cells: Sequence[Measured], spread: Spread) -> Iterator[list[str]]:
    """What one setting changed, all others equal, by DIFFERS: shares whose intervals do not
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
                words_of = (
                    f"{next(in_words({changed[0]: cell.settings[changed[0]]}))}: "
                    f"{spread.made_in.affected(cell.lines, anomaly, factor)}"
                    for cell, (_, factor) in zip((one, other), both, strict=True)
                )
                yield [one.scenario, ", ".join(in_words(rest)), words, *words_of]


def _apart(*both: tuple[Sequence[int], float]) -> bool:
    """Whether the intervals of two shares, each with its dispersion, do not overlap."""
    a, b = (wilson(sum(map(bool, runs)), len(runs), factor) for runs, factor in both)
    return a[1] < b[0] or b[1] < a[0]


def _promises(cells: Sequence[Measured]) -> tuple[list[str], list[str]]:
    """The sentences of docs/promises.md for the cells, each once, and tables of what they allow,
    by their numbers, beside what the runs saw."""
    sentences: list[str] = []
    tables = []
    for group in _by_axes([[cell] for cell in cells if cell.checked]):
        rows = [
            {anomaly: _promise(cell, anomaly, sentences) for anomaly in JUDGED} for cell in group
        ]
        tables.append(_rows(group, JUDGED, rows))
    return sentences, tables


def _promise(cell: Measured, anomaly: str, sentences: list[str]) -> str:
    """Whether a promise, by its number, allows an anomaly, and whether it was seen."""
    promises = [line["promises"][anomaly] for line in cell.checked]
    runs = len(promises)
    may = sum(not promise["forbidden"] for promise in promises)
    seen = sum(map(bool, counts(cell.checked, anomaly)))
    broken = sum(
        promise["forbidden"] and line["anomalies"].get(anomaly, 0) > 0
        for promise, line in zip(promises, cell.checked, strict=True)
    )
    why = Counter(promise["promise"] for promise in promises).most_common(1)[0][0]
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
