"""The check, from run folders to reports: open, check, write.

    reports = check([Path("results/study-1/20261121T021500Z-42")])

All runs are checked in one Spark job. Each run's folder gets `analysis/*.parquet`, report.json,
report.html and junit.xml, every one replaced in one step: a reader sees the old or the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.frames.history import history_of
from analysis.measures.by_driver.measured import measured
from analysis.permission import Permission, permission_of
from analysis.queries import Queries
from analysis.report import write
from analysis.report.build import report
from analysis.screens import proven_empty
from analysis.spark.session import session
from analysis.stored.circles import Circles, circles_of
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from harness.model.runs.disk import trouble_told

__all__ = ["CheckError", "check"]


def check(
    run_dirs: Sequence[Path], master: str | None = None, started: SparkSession | None = None
) -> list[dict[str, Any]]:
    """Check sealed runs and write their reports; returns them in the order of `run_dirs`.

    `master`: a Spark cluster's URL; this machine when None. `started`: a session that is there
    already. Raises CheckError, and DiskError where there is no room.
    """
    paths = list(dict.fromkeys(path.resolve() for path in run_dirs))
    runs = [open_run(path) for path in paths]
    _check_distinct(runs)
    reports = {}
    if runs:
        operations = sum(run.operations for run in runs)
        with session(master, operations, started=started, scratch=paths[0]) as spark:
            reports = _check(spark, runs)
    return [reports[path.resolve()] for path in run_dirs]


def _check(spark: SparkSession, runs: Sequence[Run]) -> dict[Path, dict[str, Any]]:
    folder = runs[0].path / f".check-{write.unique()}"
    permissions = {run.run_id: permission_of(run) for run in runs}
    rows = {run.run_id: permissions[run.run_id].rows(run.load_start_ns) for run in runs}
    asked = None
    try:
        circles = {run.run_id: circles_of(run) for run in runs}
        asked = Queries(history_of(spark, runs, rows, circles), empty=proven_empty(runs))
        found = write.compute(spark, asked, runs, folder, measured(runs))
        answers = {run.run_id: _with(found[run.run_id], circles[run.run_id]) for run in runs}
        return {
            run.path: _publish(run, answers[run.run_id], permissions[run.run_id]) for run in runs
        }
    except (PySparkException, Py4JError) as error:  # whose words the session still has to tell
        if full := trouble_told(str(error), runs[0].path):
            raise full from error
        reason = str(error).split("\n", 1)[0]
        raise CheckError(f"{runs[0].path}: Spark could not read its history: {reason}") from error
    finally:
        if asked is not None:
            asked.forget()
        for left in (folder, *map(write.unfinished, runs)):
            shutil.rmtree(left, ignore_errors=True)


def _with(answers: write.Results, circles: Circles | None) -> write.Results:
    """Spark's answers, and what the driver found."""
    return replace(answers, found=replace(answers.found, circles=circles))


def _publish(run: Run, answers: write.Results, permission: Permission) -> dict[str, Any]:
    """Write what was found of one run into its folder, the tables first, report.json last."""
    made = report(run, answers.found, permission)
    write.publish_tables(run, answers, made)
    write.publish_texts(run, answers, made)
    return made


def _check_distinct(runs: Sequence[Run]) -> None:
    by_id: dict[str, Run] = {}
    for run in runs:
        other = by_id.setdefault(run.run_id, run)
        if other is not run:
            raise CheckError(
                f"{run.path} and {other.path} are the same run {run.run_id}: check one of them"
            )
