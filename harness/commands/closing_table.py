"""Prints a report at the end of a command: what happened to the data, the verdict, anomalies,
windows, the page's place; and of several runs how many are valid.

What broke comes first: in the verdict's line and in each table. Not all windows are shown, the
longest first.

A report's texts may come from anywhere: markup of `rich` is printed as text, and control characters
are shown, not obeyed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.report.wording import none_words, remarks, seen_and_unseen
from harness.model.exit_codes import FAILED, INTERRUPTED, INVALID, UNKNOWN, VALID
from harness.model.printable import printable
from harness.model.runs.run_folder import RunFolder

if TYPE_CHECKING:  # slow to import, and made by whoever has a report to show
    from harness.model.runs.report import Report
    from harness.model.runs.report_findings import Finding

STYLE = {"valid": "bold green", "invalid": "bold red", "unknown": "bold yellow"}
# The labels of what happened to the data have colours of their own.
DATA_STYLE = {
    "lost": "bold magenta",
    "disturbed": "magenta",
    "undelivered": "yellow",
    "kept": "bold cyan",
    "unknown": "bold yellow",
}
ENDS = {VALID: "valid", INVALID: "invalid", UNKNOWN: "unknown", FAILED: "failed"}
ENDS |= dict.fromkeys(INTERRUPTED, "interrupted")
OTHER_ENDS = ("invalid", "unknown", "failed", "interrupted", "not begun")


def show_report(report: Report, folder: RunFolder | str, console: Console) -> None:
    """The labels, the sentence, anomalies, demands, windows, the page, the command to run it
    again. `folder`: the run's, or its URI."""
    verdict, outcome = report.verdict, report.outcome
    console.print()
    if outcome is not None:
        console.print(plain(f"outcome  {outcome.words}", DATA_STYLE[outcome.data]))
    console.print(plain(f"verdict  {verdict.upper()}: {report.verdict_words}", STYLE[verdict]))
    if report.cap is not None and report.cap.words:
        console.print(plain(f"CAP      {report.cap.words}"))
    console.print(plain(report.sentence))
    for reason in report.reasons[1:]:
        console.print(plain(f"  and {reason}"))
    for remark in remarks(report):
        console.print(plain(remark.words, "yellow" if remark.tone == "doubt" else ""))
    told, none = seen_and_unseen(report.anomalies)
    if told:
        console.print(_anomaly_table({name: report.anomalies[name] for name in told}))
    if none:
        console.print(plain(none_words(report)))
    if report.windows:
        console.print(_window_table(report))
    where = folder if isinstance(folder, str) else shown(folder.path)
    console.print(plain(f"report   {where.rstrip('/')}/report.html"))
    console.print(plain(f"rerun    {report.run.command}"))


def show_how_many_valid(codes: Sequence[int], of: int, console: Console) -> None:
    """Print the last line of several runs: `1 of 3 valid, 1 invalid, 1 unknown`."""
    if of < 2:
        return
    ends = Counter(ENDS.get(code, "failed") for code in codes)
    ends["not begun"] = of - len(codes)
    valid = ends["valid"]
    others = [f"{ends[end]} {end}" for end in OTHER_ENDS if ends[end]]
    style = STYLE["valid"] if valid == of else ""
    console.print()
    console.print(plain(", ".join([f"{valid} of {of} valid", *others]), style))


def plain(line: str, style: str = "") -> Text:
    """A line of any text, without markup of `rich` and control characters."""
    return Text(printable(line), style=style)


def _anomaly_table(anomalies: Mapping[str, Finding]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("anomaly", "seen", "forbidden", "demanded"):
        table.add_column(column, justify="right" if column == "seen" else "left")
    for name, anomaly in sorted(anomalies.items(), key=lambda row: not _broken(row[1])):
        demand = anomaly.demanded or ""
        if demand:
            demand += {True: "  met", False: "  NOT met", None: "  unknown"}[anomaly.demand_met]
        table.add_row(
            plain(name),
            f"{anomaly.count:,}",
            "yes" if anomaly.forbidden else "no",
            plain(demand),
            style="red" if _broken(anomaly) else None,
        )
    return table


def _broken(anomaly: Finding) -> bool:
    return anomaly.convicts or anomaly.demand_met is False


def _window_table(report: Report, most: int = 12) -> Table:
    """Those of a kind that breaks a demand first, of each kind the longest first."""
    demands = report.gap_demands.items()
    unmet = {name.removesuffix("-gap-s") for name, gap in demands if gap.demand_met is False}
    windows = sorted(report.windows, key=lambda w: (w.kind not in unmet, -w.length_s))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("unavailable", "partition", "from s", "for s", "attempts", "fault"):
        table.add_column(column, justify="left" if column in ("unavailable", "fault") else "right")
    faults = {fault.fault: fault for fault in report.faults}
    judged = set(unmet)  # by their longest window
    for window in windows[:most]:
        hit = [faults[i] for i in window.faults if i in faults]
        names = ", ".join(f"{f.verb} {'+'.join(f.nodes or ())}" for f in hit)
        table.add_row(
            plain(window.kind),
            str(window.partition),
            f"{window.start_s:.2f}",
            f"{window.length_s:.2f}",
            f"{window.attempts:,}",
            plain(names),
            style="red" if window.kind in judged else None,
        )
        judged.discard(window.kind)
    if len(windows) > most:
        table.caption = f"and {len(windows) - most} shorter in the report"
    return table


def shown(path: Path) -> str:
    """A path, relative to the working directory where it is below."""
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
