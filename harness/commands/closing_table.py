"""What a command prints of a report at its end: verdict, anomalies, windows, where the page is.

A report's texts may be anybody's: they are printed as they are, without marks of `rich`, and what
would steer the terminal is shown instead of obeyed.
"""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.model.printable import printable
from harness.model.runs import json_text
from harness.model.runs.run_folder import RunFolder, StoreError, errors_told

STYLE = {"valid": "bold green", "invalid": "bold red", "unknown": "bold yellow"}


def show_stored_report(folder: RunFolder, console: Console) -> None:
    """The same of a run that was checked before. Raises StoreError."""
    file = folder.path / "report.json"
    if not file.exists():
        raise StoreError(f"{folder.path}: not checked yet: {_check_of(folder)}")
    try:
        with errors_told(file), console.capture() as printed:
            show_report(json_text.loads(json_text.read_bytes(file)), folder, console)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise StoreError(
            f"{file}: not a report of this version: {_check_of(folder)} makes it anew"
        ) from None
    console.file.write(printed.get())


def _check_of(folder: RunFolder) -> str:
    return f"`kafka-harness check {shlex.quote(str(folder.path))}`"


def show_report(report: dict[str, Any], folder: RunFolder, console: Console) -> None:
    """The closing table: anomalies, demands, windows, the page, the command to run it again."""
    verdict = report["verdict"]
    console.print()
    console.print(_text(f"{verdict.upper()}: {report['sentence']}", STYLE[verdict]))
    for reason in report["reasons"]:
        console.print(_text(f"  because {reason}"))
    console.print(_anomaly_table(report))
    if report["windows"]:
        console.print(_window_table(report))
    console.print(_text(f"report   {shown(folder.path / 'report.html')}"))
    console.print(_text(f"rerun    {report['run']['command']}"))


def _text(line: str, style: str = "") -> Text:
    return Text(printable(line), style=style)


def _anomaly_table(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("anomaly", "seen", "forbidden", "demanded"):
        table.add_column(column, justify="right" if column == "seen" else "left")
    for name, found in report["anomalies"].items():
        demand = found["demanded"] or ""
        if demand:
            demand += {True: "  met", False: "  NOT met", None: "  unknown"}[found["demand_met"]]
        bad = found["convicts"] or found["demand_met"] is False
        table.add_row(
            _text(name),
            f"{found['count']:,}",
            "yes" if found["forbidden"] else "no",
            _text(demand),
            style="red" if bad else None,
        )
    return table


def _window_table(report: dict[str, Any], most: int = 12) -> Table:
    windows = report["windows"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("unavailable", "partition", "from s", "for s", "attempts", "fault"):
        table.add_column(column, justify="left" if column in ("unavailable", "fault") else "right")
    faults = {fault["fault"]: fault for fault in report["faults"]}
    for window in windows[:most]:
        hit = [faults[i] for i in window["faults"] if i in faults]
        names = ", ".join(f"{f['verb']} {'+'.join(f['nodes'])}" for f in hit)
        table.add_row(
            _text(window["kind"]),
            str(window["partition"]),
            f"{window['start_s']:.2f}",
            f"{window['length_s']:.2f}",
            f"{window['attempts']:,}",
            _text(names),
        )
    if len(windows) > most:
        table.caption = f"and {len(windows) - most} more in the report"
    return table


def shown(path: Path) -> str:
    """A path as short as it can be from here."""
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
