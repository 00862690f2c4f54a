"""kafka-harness compare: what changed between two sets of runs, and whether it is worse.

    kafka-harness compare last-night.jsonl tonight.jsonl
    kafka-harness compare night-1.jsonl night-2.jsonl night-3.jsonl tonight.jsonl

Each side is a campaign's ledger or a folder of results; of more than two, the last is tonight and
all others together are what it is held against. A folder's runs are cells by their scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.compare.compared import (
    Compared,
    compare,
    settings_that_differ,
    versions_that_differ,
)
from analysis.studies.matrix_rows import row
from harness.commands.campaigns.lines import line_of
from harness.commands.closing_table import plain
from harness.model.exit_codes import INVALID, VALID
from harness.model.runs import json_text
from harness.model.runs.ledger import Line, read
from harness.model.runs.run_folder import RunFolder, StoreError, errors_told, runs_below


def compare_runs(sides: Sequence[Path], *, gap_factor: float, console: Console) -> int:
    """Show the comparison; 1 where tonight is worse. Raises StoreError for a side that has no
    runs."""
    old = [line for side in sides[:-1] for line in lines_of(side)]
    new = lines_of(sides[-1])
    found = compare(old, new, gap_factor=gap_factor)
    _show_what_differs(found, old, new, console)
    console.print(_table(found))
    for words, cells in (("before", found.only_old), ("now", found.only_new)):
        if cells:
            console.print(plain(f"only {words}: {', '.join(cells)}"))
    console.print(plain(_sentence(found)))
    for each in found.changed:
        size = f", effect {each.effect:+.2f}" if each.grown is not None else ""
        told = f"{each.cell}: {each.what}: {each.old} before, {each.new} now"
        console.print(plain(f"  changed  {told} (p = {each.found.p:.2g}{size})"))
    for alarm in found.alarms:
        console.print(plain(f"  worse    {alarm}", "bold red"))
    return INVALID if found.alarms else VALID


def lines_of(side: Path) -> list[Line]:
    """The runs that count of a ledger, or all checked ones of a results folder."""
    if side.is_dir():
        with errors_told(side):
            found = [_line(RunFolder(path=folder)) for folder in runs_below(side)]
        lines = [line for line in found if line is not None]
    elif side.is_file():
        lines = list(read(side).standing)
    else:
        raise StoreError(f"{side}: neither a campaign's ledger nor a folder of results")
    if not lines:
        raise StoreError(f"{side}: no run that counts: give a ledger, or a folder of checked runs")
    return lines


def _line(folder: RunFolder) -> Line | None:
    """What a ledger would say of a stored run; None: it was not checked."""
    file = folder.path / "report.json"
    if not file.is_file():
        return None
    folder.refuse_links()
    record = folder.read()
    report = json_text.loads(json_text.read_bytes(file))
    return {
        "cell": record.scenario.name,
        "backend": record.backend,
        "seed": record.seed,
        "started_utc": record.started_utc,
        **line_of(folder, int(report["exit_code"])),
    }


def _show_what_differs(
    found: Compared, old: Sequence[Line], new: Sequence[Line], console: Console
) -> None:
    """Settings and versions, before anything is compared all the same."""
    told = {
        str(line["configuration"]): line["settings"]
        for line in [*old, *new]
        if line.get("settings")
    }
    for words in versions_that_differ(old, new):
        console.print(plain(f"versions {words}", "yellow"))
    for both in found.cells:
        for words in settings_that_differ(both, told):
            console.print(plain(f"settings {both.cell}: {words}", "yellow"))


def _table(found: Compared) -> Table:
    """A row for each cell: both sides' numbers, and the smallest change that would have shown."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("cell", "runs", "with loss", "with duplicates", "no ack for, s", "would show"):
        table.add_column(head)
    for both in found.cells:
        old, new = row(both.old), row(both.new)
        keys = ("runs", "lossy", "duplicating", "gap")
        # Without their intervals: what is sure is told below.
        pairs = (f"{old[key].partition(' (')[0]} → {new[key].partition(' (')[0]}" for key in keys)
        table.add_row(*map(plain, [both.cell, *pairs, f"loss in {found.could_have_seen(both)}"]))
    return table


def _sentence(found: Compared) -> str:
    many, cells = len(found.changed), len(found.cells)
    told = f"{many} things changed" if many != 1 else "one thing changed"
    return (
        f"{told if many else 'nothing changed'} in {cells} cells, {len(found.tested)} tests "
        f"together wrong in 5 % of comparisons (each held to p ≤ {found.at:.2g})"
    )
