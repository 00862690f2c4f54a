"""kafka-harness check: stored runs sealed and checked in one Spark job, each report shown."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.commands.closing_table import show_how_many_valid, show_report
from harness.history import sealing
from harness.host.java import find_java
from harness.host.unforeseen import details_go_to
from harness.model.exit_codes import worst
from harness.model.runs import run_folder
from harness.model.runs.run_folder import RunFolder, errors_told


def check_runs(folders: Sequence[RunFolder], *, master: str | None, console: Console) -> int:
    """Seal and check stored runs in one Spark job, show each report, return the exit code."""
    from analysis import job  # noqa: PLC0415  Spark is slow to import, and only needed here

    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(find_java().path.resolve().parents[1])
    for folder in folders:
        with errors_told(folder.path), details_go_to(folder.path):
            folder.refuse_links()
            folder.read()
            sealing.seal(folder.path)
            _try_to_write(folder)
    with (
        console.status("checking the history with Spark"),
        errors_told(folders[0].path if folders else Path()),
        details_go_to(folders[0].path if folders else Path()),
    ):
        try:
            reports = job.check([folder.path for folder in folders], master=master)
        except job.CheckError as error:
            raise run_folder.StoreError(str(error)) from None
    codes = []
    for folder, report in zip(folders, reports, strict=True):
        show_report(report, folder, console)
        codes.append(int(report["exit_code"]))
    show_how_many_valid(codes, len(folders), console)
    return worst(codes)


def _try_to_write(folder: RunFolder) -> None:
    """Whether reports can be written there, before Spark says so in words of its own."""
    with tempfile.TemporaryDirectory(prefix=".check-", dir=folder.path):
        pass
