"""kafka-harness report: shows the result of a run's check."""

from __future__ import annotations

import shlex

from harness.commands.options import RESULTS, OneRun, Results, console


def report(run: OneRun, results: Results = RESULTS) -> None:
    """Show what the check of a run found, and where its HTML report is.

    kafka-harness report study-1
    """
    from harness.commands.closing_table import show_report
    from harness.model.runs.report import read_report
    from harness.model.runs.run_folder import StoreError, find_run, store_errors

    folder = find_run(run, results)
    file = folder.path / "report.json"
    check = f"`kafka-harness check {shlex.quote(str(folder.path))}`"
    if not file.exists():
        raise StoreError(f"{folder.path}: not checked yet: {check}")
    try:
        with store_errors(file), console.capture() as printed:
            show_report(read_report(file), folder, console)
    except (LookupError, ValueError):
        raise StoreError(f"{file}: not a report of this version: {check} makes it anew") from None
    console.file.write(printed.get())
