"""kafka-harness campaign --dry-run: a campaign's cells, and how long what is missing will take."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.commands.campaigns.file import of, read_campaign
from harness.commands.campaigns.make_runs import CampaignOptions, prepared, still_to_do
from harness.commands.campaigns.todo import counting, fitting
from harness.commands.closing_table import plain
from harness.model.exit_codes import VALID
from harness.model.runs.ledger import name_of, read
from harness.scenario.expected_length import expected_s, in_words


def show_what_is_missing(file: Path, options: CampaignOptions, *, console: Console) -> int:
    """A row for each cell and backend, and the sum; every run that is missing is prepared, so that
    one that cannot be is refused here already. Starts and writes nothing."""
    plan = read_campaign(file)
    standing = read(options.ledger or file.parent / plan.data).standing
    todo = still_to_do(plan, standing, options)
    took_s = [expected_s(each.scenario) for each in prepared(todo)]
    finished = Counter(name_of(line)[:2] for line in counting(plan, standing))
    left, left_s = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for (cell, request), each_s in zip(todo, took_s, strict=True):
        left[cell.key, request.backend] += 1
        left_s[cell.key, request.backend] += round(each_s)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("cell", "backend", "finished", "to do", "about"):
        table.add_column(head, justify="left" if head in ("cell", "backend") else "right")
    for cell in fitting(plan.every_cell(), options.cells):
        for backend in of(plan, options.backends):
            place = (cell.key, backend)
            about = in_words(left_s[place]) if left[place] else ""
            done = sum(finished[name, backend] for name in cell.names)
            counts = (str(done), str(left[place]), about)
            table.add_row(plain(cell.key), backend, *counts)
    console.print(table)
    console.print(
        f"{len(todo)} runs to do, about {in_words(sum(took_s))} on a machine of two cores, one "
        "after the other"
    )
    return VALID
