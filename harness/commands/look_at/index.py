"""kafka-harness index: one page over all runs of a results folder, results/index.html.

Runs are the folders that hold a run.json (harness.model.runs.run_folder: `runs_below`). A run that
cannot be read is one line of the page. No Spark and no JVM is started, and nothing is judged again.
"""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.commands.options import RESULTS, Results, console
from harness.model.runs import json_text


def index(results: Results = RESULTS) -> None:
    """Make one page over all runs of the results folder: index.html in it, with relative links.

    kafka-harness index
    """
    write_index(results, console)


def write_index(results: Path, console: Console) -> Path:
    """Make the page; returns its path. Raises StoreError without a results folder."""
    from analysis.report.index.entries import Entry, Unshown, entry_of
    from analysis.report.index.page import render
    from harness.commands.closing_table import plain, shown
    from harness.model.runs.run_folder import StoreError, runs_below, store_errors, write_atomically

    if not results.is_dir():
        raise StoreError(f"{results}: no results folder: make a run first, or give --results")
    entries: list[Entry] = []
    unshown: list[Unshown] = []
    with store_errors(results):
        for folder in runs_below(results):
            place = folder.relative_to(results).parts
            try:
                entries.append(entry_of(place, _report(folder)))
            except (ValueError, OSError) as error:
                unshown.append(Unshown(place=place, why=_why(error)))
        page = results / "index.html"
        write_atomically(page, render(entries, unshown))
    rest = f", {len(unshown)} not shown" if unshown else ""
    console.print(plain(f"index    {shown(page)}: {len(entries)} judged{rest}"))
    return page


def _report(folder: Path) -> Any:
    """The content of report.json. Raises ValueError or OSError, with a reason for people."""
    file = folder / "report.json"
    try:
        regular = stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        raise ValueError(
            f"not checked yet: `kafka-harness check {shlex.quote(str(folder))}`"
        ) from None
    if not regular:
        raise ValueError("report.json is a link or no file: put the file itself in its place")
    try:
        return json_text.loads(json_text.read_bytes(file))
    except ValueError as error:
        raise ValueError(f"report.json cannot be read: {error}") from None


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"report.json cannot be read: {error.strerror or 'unknown reason'}"
    return str(error)
