"""The check, from run folders to reports: open, check, write.

    reports = check([Path("results/study-1/20261121T021500Z-42")])
    reports = check(["hdfs://namenode:8020/results/study-1/20261121T021500Z-42"], "spark://host:7077")

All runs are checked in one Spark job. Each run's folder gets `analysis/*.parquet`, report.json,
report.html and junit.xml, every one replaced in one step: a reader sees the old or the new one. Of
a run in a store that is its folder there, as far as the store can (analysis.elsewhere.store).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from analysis.elsewhere.evidence_place import EvidencePlace, is_local, require_shared
from analysis.elsewhere.masters import require_master
from analysis.elsewhere.staged import Staged
from analysis.elsewhere.store import connect
from analysis.elsewhere.trouble import TROUBLE, Unreachable, reason_of
from analysis.frames.history import history_of, run_row
from analysis.measures.by_driver.measured import measured
from analysis.permission import Permission, permission_of
from analysis.queries import Queries
from analysis.report import write
from analysis.report.build import report
from analysis.screens.several import screens
from analysis.spark.session import BIG, HERE, make_room_for, session
from analysis.stored.circles import Circles, circles_of
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from harness.model.runs.disk import trouble_told

__all__ = ["CheckError", "Unreachable", "check"]

Reports = dict[Path | str, dict[str, Any]]  # by folder or URI


def check(
    runs: Sequence[Path | str], master: str | None = None, started: SparkSession | None = None
) -> list[dict[str, Any]]:
    """Check sealed runs and write their reports; returns them in the order of `runs`: folders, or
    texts that are URIs.

    `master`: a Spark cluster's URL; this machine when None. `started`: a session that is there
    already. Raises CheckError, Unreachable and, where there is no room, DiskError.
    """
    if master is not None and started is None:
        require_master(master)
    asked = [run.rstrip("/") if isinstance(run, str) else run.resolve() for run in runs]
    places = list(dict.fromkeys(asked))
    if any(isinstance(place, str) for place in places):
        reports = _check_elsewhere(places, master, started)
    else:
        reports = _check_folders([Path(place) for place in places], master, started)
    return [reports[place] for place in asked]


def _check_folders(
    folders: Sequence[Path], master: str | None, started: SparkSession | None
) -> Reports:
    runs = [open_run(folder) for folder in folders]
    _check_distinct(runs)
    if not runs:
        return {}
    operations = sum(run.operations for run in runs)
    with ExitStack() as stack:
        start = session(master, operations, started=started, scratch=folders[0])
        spark = _started(stack, start, master)
        if not is_local(spark):
            require_shared(spark, folders)
        return _check(spark, runs, {})


def _check_elsewhere(
    places: Sequence[Path | str], master: str | None, started: SparkSession | None
) -> Reports:
    """The same where some of them are URIs: Spark has to be there to reach them. It starts in its
    ordinary way, which reads what a user told of connectors and credentials."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-harness-")))
        spark = _started(stack, session(master or HERE, BIG, started=started), master)
        staged: dict[str, Staged] = {}
        stack.enter_context(_named_by_uri(staged))
        for number, uri in enumerate(place for place in places if isinstance(place, str)):
            folder = scratch / str(number)
            staged[uri] = Staged(store=connect(spark, uri), folder=folder)
            staged[uri].fetch()
        folders = [place for place in places if isinstance(place, Path)]
        if folders and not is_local(spark):
            require_shared(spark, folders)
        runs = [
            replace(open_run(staged[place].folder), uri=place)
            if isinstance(place, str)
            else open_run(place)
            for place in places
        ]
        _check_distinct(runs)
        make_room_for(spark, sum(run.operations for run in runs))
        return _check(spark, runs, staged)


def _started(
    stack: ExitStack, start: AbstractContextManager[SparkSession], master: str | None
) -> SparkSession:
    try:
        return stack.enter_context(start)
    except TROUBLE as error:
        if master is None:
            raise
        raise Unreachable(
            f"--master {master}: Spark could not start there ({reason_of(error)})"
        ) from error


def _check(spark: SparkSession, runs: Sequence[Run], staged: Mapping[str, Staged]) -> Reports:
    store = next((each.store for each in staged.values()), None)
    place = EvidencePlace(
        folder=runs[0].path / f".check-{write.unique()}",
        store=store,
        shared=store is None and is_local(spark),
    )
    left_to = runs[0].path / f".suspects-{write.unique()}"
    permissions = {run.run_id: permission_of(run) for run in runs}
    asked = None
    try:
        circles = {run.run_id: circles_of(run) for run in runs}
        facts = {
            run.run_id: run_row(
                run, permissions[run.run_id].rows(run.load_start_ns), circles[run.run_id]
            )
            for run in runs
        }
        history = history_of(spark, runs, facts)
        # A screen is for folders: a store is left to plain Spark SQL.
        told = None if staged else screens(runs, facts, runs[0].path)
        left = told.left(spark, history, left_to) if told else None
        if told and is_local(spark):
            make_room_for(spark, told.suspects)
        asked = Queries(history, left=left)
        fates = {run_id: each.fates() for run_id, each in told.by_run.items()} if told else {}
        known = None if staged else measured(runs, facts, fates)
        found = write.compute(spark, asked, runs, place, known)
        answers = {run.run_id: _with(found[run.run_id], circles[run.run_id]) for run in runs}
        return {
            run.uri or run.path: _publish(
                run, answers[run.run_id], permissions[run.run_id], staged.get(run.uri or "")
            )
            for run in runs
        }
    except TROUBLE as error:  # whose words the session still has to tell
        raise _told(runs[0], error) from error
    finally:
        if asked is not None:
            asked.forget()
        with suppress(CheckError, Unreachable):  # what is left there says less than what happened
            place.clear()
        for unused in (place.folder, left_to, *map(write.unfinished, runs)):
            shutil.rmtree(unused, ignore_errors=True)


def _told(run: Run, error: Exception) -> Exception:
    if full := trouble_told(str(error), run.path):
        return full
    if run.uri is not None:  # each of its tables has been read: it is not damaged
        return Unreachable(f"{run.uri}: Spark could not check it there: {reason_of(error)}")
    reason = str(error).split("\n", 1)[0]
    return CheckError(f"{run.path}: Spark could not read its history: {reason}")


@contextmanager
def _named_by_uri(staged: Mapping[str, Staged]) -> Iterator[None]:
    """Inside the block, a sentence about a scratch folder names the run's URI."""
    try:
        yield
    except CheckError as error:
        words = str(error)
        for uri in sorted(staged, key=lambda uri: -len(str(staged[uri].folder))):
            words = words.replace(str(staged[uri].folder), uri)
        raise CheckError(words) from error


def _with(answers: write.Results, circles: Circles | None) -> write.Results:
    """Spark's answers, and what the driver found."""
    return replace(answers, found=replace(answers.found, circles=circles))


def _publish(
    run: Run, answers: write.Results, permission: Permission, staged: Staged | None
) -> dict[str, Any]:
    """Write what was found of one run into its folder, the tables first, report.json last."""
    made = report(run, answers.found, permission)
    write.publish_tables(run, answers, made)
    write.publish_texts(run, answers, made)
    if staged is not None:
        staged.publish()
    return made


def _check_distinct(runs: Sequence[Run]) -> None:
    by_id: dict[str, Run] = {}
    for run in runs:
        other = by_id.setdefault(run.run_id, run)
        if other is not run:
            one, two = (each.uri or each.path for each in (run, other))
            raise CheckError(f"{one} and {two} are the same run {run.run_id}: check one of them")
