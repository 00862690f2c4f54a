"""Seals and checks stored runs in one Spark job and shows each report."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack

from rich.console import Console

from analysis.spark.ahead import Ahead
from harness.commands.closing_table import show_how_many_valid, show_report
from harness.host import system_packages
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.host.unforeseen import details_go_to
from harness.model.exit_codes import worst
from harness.model.runs import run_folder
from harness.model.runs.disk import trouble_with
from harness.model.runs.run_folder import RunFolder, store_errors


def check_runs(
    folders: Sequence[RunFolder | str],
    *,
    master: str | None,
    console: Console,
    ahead: Ahead | None = None,
) -> int:
    """Seal and check stored runs in one Spark job, show each report, return the exit code.

    A run is a folder, or the URI of one in a store. `ahead`: a Spark session that is starting
    already.
    """
    system_packages.require(["chmod"])  # Spark's file system calls it
    tell_spark_of_java()
    here = [folder for folder in folders if isinstance(folder, RunFolder)]
    for folder in here:
        with store_errors(folder.path), details_go_to(folder.path):
            folder.refuse_links()
            folder.read()
            _try_to_write(folder)
    with ExitStack() as stack:
        stack.enter_context(console.status("checking the history with Spark"))
        if here:
            stack.enter_context(store_errors(here[0].path))
            stack.enter_context(details_go_to(here[0].path))
        all_here = bool(here) and len(here) == len(folders)
        ours = all_here and master is None and ahead is None
        if ours and "pyspark" not in sys.modules:  # else the slow imports are done
            ahead = stack.enter_context(Ahead(scratch=here[0].path))
            ahead.start()
        _seal(here)
        if ahead is not None:
            ahead.wait_for_imports()
        from analysis.job import job  # slow to import: meanwhile Spark starts

        try:
            places = [
                folder.path if isinstance(folder, RunFolder) else folder for folder in folders
            ]
            reports = job.check(places, master, ahead=ahead)
        except job.CheckError as error:
            raise run_folder.StoreError(str(error)) from None
        except job.Unreachable as error:
            raise HostError(str(error)) from None
    codes = []
    for where, report in zip(folders, reports, strict=True):
        show_report(report, where, console)
        codes.append(report.code)
    show_how_many_valid(codes, len(folders), console)
    return worst(codes)


def tell_spark_of_java() -> None:
    """Set JAVA_HOME, unless Java is on the PATH."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(find_java().path.resolve().parents[1])


def _seal(folders: Sequence[RunFolder]) -> None:
    """Seal runs."""
    from harness.history import sealing  # as slow

    for folder in folders:
        with store_errors(folder.path), details_go_to(folder.path):
            sealing.seal(folder.path)


def _try_to_write(folder: RunFolder) -> None:
    """Raise an error of ours where reports cannot be written, before Spark raises its own."""
    with tempfile.TemporaryDirectory(prefix=".check-", dir=folder.path):
        if full := trouble_with(folder.path):
            raise full
