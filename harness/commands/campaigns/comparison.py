"""kafka-harness compare: tells what changed between two sets of runs, and whether it is worse.

    kafka-harness compare last-night.jsonl tonight.jsonl
    kafka-harness compare night-1.jsonl night-2.jsonl night-3.jsonl tonight.jsonl

Each side is a campaign's ledger or a folder of results. The last one is tonight; it is compared
with all others together. A folder's cells are its scenarios.

A side may come from anywhere, so every value that is compared is validated. Lines may lack what
older releases did not write: versions, settings, what is forbidden, the letters of CAP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table

from analysis.studies.compare.compared import (
    Both,
    Compared,
    Tested,
    compare,
    settings_that_differ,
    versions_that_differ,
)
from analysis.studies.matrix_rows import row
from analysis.studies.pages import markdown_table
from harness.commands.campaigns.lines import line_of
from harness.commands.closing_table import plain
from harness.model.campaigns.ledger import LedgerError, Lines, has_digest, read
from harness.model.campaigns.ledger_line import Line
from harness.model.exit_codes import INVALID, VALID
from harness.model.runs.run_folder import RunFolder, StoreError, runs_below, store_errors
from harness.model.runs.run_record import problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison in words: what differs in settings and versions, a row for each cell, what
    changed, and why tonight is worse."""

    differs: Sequence[str]
    rows: Sequence[Sequence[str]]  # by HEADS
    sentences: Sequence[str]
    changed: Sequence[str]
    alarms: Sequence[str]

    @property
    def code(self) -> int:
        """1 where tonight is worse."""
        return INVALID if self.alarms else VALID


_LINE: Final = TypeAdapter(Line)
# What a line of a checked run must have to be compared.
_OF_CHECKED: Final = ("verdict", "anomalies", "produce_gaps_s", "consume_gaps_s")
HEADS = (
    "cell",
    "runs",
    "with loss",
    "with duplicates",
    "not delivered",
    "no ack for, s",
    "would show",
)


def compare_runs(sides: Sequence[Path], *, gap_factor: float, console: Console) -> int:
    """Show the comparison; 1 where tonight is worse. Raises StoreError for a side that has no
    runs, or a damaged one."""
    comparison = compare_sides(sides, gap_factor=gap_factor)
    show(comparison, console)
    return comparison.code


def compare_sides(sides: Sequence[Path], *, gap_factor: float) -> Comparison:
    """The comparison. Raises StoreError for a side that has no runs, or a damaged one."""
    old = [line for side in sides[:-1] for line in lines_of(side)]
    new = lines_of(sides[-1])
    compared = compare(old, new, gap_factor=gap_factor)
    only = (("before", compared.only_old), ("now", compared.only_new))
    return Comparison(
        differs=list(_what_differs(compared, old, new)),
        rows=[_row(both, compared) for both in compared.cells],
        sentences=[
            *(f"only {words}: {', '.join(cells)}" for words, cells in only if cells),
            _sentence(compared),
        ],
        changed=[_changed(change) for change in compared.changed],
        alarms=compared.alarms,
    )


def show(result: Comparison, console: Console) -> None:
    """Show it: what differs first."""
    for words in result.differs:
        console.print(plain(words, "yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in HEADS:
        table.add_column(head)
    for cells in result.rows:
        table.add_row(*map(plain, cells))
    console.print(table)
    for words in result.sentences:
        console.print(plain(words))
    for words in result.changed:
        console.print(plain(f"  changed  {words}"))
    for words in result.alarms:
        console.print(plain(f"  worse    {words}", "bold red"))


def markdown(result: Comparison, title: str) -> str:
    """The comparison as Markdown, for a job's summary."""
    worse = [f"- {words}" for words in result.alarms] or ["- nothing"]
    parts = [
        [f"## {title}", "", "**Worse than before:**", "", *worse],
        *(
            [["Changed:", "", *(f"- {words}" for words in result.changed)]]
            if result.changed
            else []
        ),
        *(
            [["Differs:", "", *(f"- {words}" for words in result.differs)]]
            if result.differs
            else []
        ),
        ["\n\n".join(result.sentences)],
        [markdown_table(HEADS, result.rows)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def lines_of(side: Path) -> list[Line]:
    """A ledger's runs that count, or a results folder's checked runs. Raises StoreError where there
    are none, and for one that cannot be compared."""
    if side.is_dir():
        with store_errors(side):
            lines = [_line(RunFolder(path=folder)) for folder in runs_below(side)]
        checked = [line for line in lines if line is not None]
    elif side.is_file():
        checked = _sound(side, read(side))
    else:
        raise StoreError(f"{side}: neither a campaign's ledger nor a folder of results")
    if not checked:
        raise StoreError(f"{side}: no run that counts: give a ledger, or a folder of checked runs")
    return checked


def _sound(path: Path, ledger: Lines) -> list[Line]:
    """A ledger's runs that count. Raises LedgerError for one that cannot be compared; a superseded
    one is not looked at."""
    numbers = {id(line): number for number, line in enumerate(ledger.all, 1)}
    for line in ledger.standing:
        if why := _unsound(line):
            raise LedgerError(
                f"{path}: line {numbers[id(line)]}: {why}: put back the file as git or a backup "
                "has it"
            )
    return list(ledger.standing)


def _unsound(line: Line) -> str | None:
    """Why a line cannot be compared."""
    # A verdict alone is a campaign's own, of a run without a report whose calibration failed.
    is_checked = "anomalies" in line or ("verdict" in line and "judged" not in line)
    if lacks := [key for key in _OF_CHECKED if is_checked and key not in line]:
        return f"{lacks[0]} is missing"
    try:
        _LINE.validate_python(line, strict=True)
    except ValidationError as error:
        return problem_of(error)
    return None


def _line(folder: RunFolder) -> Line | None:
    """A stored run's line, as in a ledger; None: it was not checked."""
    if not (folder.path / "report.json").is_file():
        return None
    folder.refuse_links()
    record = folder.read()
    names: Line = {
        "cell": record.scenario.name,
        "backend": record.backend,
        "seed": record.seed,
        "started_utc": record.started_utc or "",
    }
    with suppress(LookupError, ValueError):
        line: Line = {**names, **line_of(folder)}
        if _unsound(line) is None:
            return line
    raise StoreError(
        f"{folder.path / 'report.json'}: not what a check of this release writes: check the run "
        "again"
    )


def _what_differs(compared: Compared, old: Sequence[Line], new: Sequence[Line]) -> Iterator[str]:
    """A sentence for each difference of versions and settings."""
    recorded = {
        line["configuration"]: settings
        for line in [*old, *new]
        if has_digest(line) and (settings := line.get("settings"))
    }
    for words in versions_that_differ(old, new):
        yield f"versions {words}"
    for both in compared.cells:
        for words in settings_that_differ(both, recorded):
            yield f"settings {both.cell}: {words}"


def _row(both: Both, compared: Compared) -> Sequence[str]:
    """A cell's row: both sides' numbers, and the smallest change that would have shown."""
    old, new = row(both.old), row(both.new)
    keys = ("runs", "lossy", "duplicating", "undelivered", "gap")
    # Without their intervals: the sentences below the table have the tests.
    pairs = [f"{old[key].partition(' (')[0]} → {new[key].partition(' (')[0]}" for key in keys]
    return [both.cell, *pairs, f"loss in {compared.could_have_seen(both)}"]


def _changed(tested: Tested) -> str:
    size = f", effect {tested.effect:+.2f}" if tested.grown is not None else ""
    sides = f"{tested.old} before, {tested.new} now"
    return f"{tested.cell}: {tested.what}: {sides} (p = {tested.probability.p:.2g}{size})"


def _sentence(compared: Compared) -> str:
    many, cells = len(compared.changed), len(compared.cells)
    if not cells:
        return "there is nothing before to compare with"
    words = f"{many} things changed" if many != 1 else "one thing changed"
    return (
        f"{words if many else 'nothing changed'} in {cells} cells, {len(compared.tested)} tests "
        f"together wrong in 5 % of comparisons (losses held to p ≤ {compared.at[True]:.2g}, all "
        f"else to p ≤ {compared.at[False]:.2g})"
    )
