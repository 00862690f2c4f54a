"""kafka-harness report: what was found when the run was checked."""

from __future__ import annotations

import shlex

from harness.commands.options import RESULTS, OneRun, Results, console


def report(run: OneRun, results: Results = RESULTS) -> None:
    """Show what the check of a run found, and where its HTML report is.

    kafka-harness report study-1
    """
    from harness.commands.closing_table import show_report
    from harness.model.runs import json_text
    from harness.model.runs.run_folder import StoreError, find_run, store_errors

    folder = find_run(run, results)
    file = folder.path / "report.json"
    check = f"`kafka-harness check {shlex.quote(str(folder.path))}`"
    if not file.exists():
        raise StoreError(f"{folder.path}: not checked yet: {check}")
    try:
        with store_errors(file), console.capture() as printed:
            show_report(json_text.loads(json_text.read_bytes(file)), folder, console)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise StoreError(f"{file}: not a report of this version: {check} makes it anew") from None
    console.file.write(printed.get())
