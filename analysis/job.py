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
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from analysis.elsewhere.evidence_place import EvidencePlace, is_local, require_shared
from analysis.elsewhere.masters import require_master, starting
from analysis.elsewhere.staged import Staged
from analysis.elsewhere.store import connect
from analysis.elsewhere.trouble import TROUBLE, Unreachable, reason_of
from analysis.frames.history import history_of
from analysis.measures.by_driver.acked_unseen import acked_unseen
from analysis.prepared import Prepared, prepared
from analysis.queries import Queries
from analysis.report import write
from analysis.report.build import report
from analysis.report.parts import imported
from analysis.spark.ahead import Ahead
from analysis.spark.jvm import BIG
from analysis.spark.session import HERE, make_room_for, session
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from analysis.verdict.demands import ALONE
from harness.model.runs.disk import trouble_told

__all__ = ["CheckError", "Unreachable", "check"]

Reports = dict[Path | str, dict[str, Any]]  # by folder or URI


def check(
    runs: Sequence[Path | str],
    master: str | None = None,
    started: SparkSession | None = None,
    ahead: Ahead | None = None,
) -> list[dict[str, Any]]:
    """Check sealed runs and write their reports; returns them in the order of `runs`: folders, or
    texts that are URIs.

    `master`: a Spark cluster's URL; this machine when None. `started`: a session that is there
    already. `ahead`: one on this machine that is starting; it is stopped at the end. Raises
    CheckError, Unreachable and, where there is no room, DiskError.
    """
    if master is not None and started is None:
        require_master(master)
    asked = [run.rstrip("/") if isinstance(run, str) else run.resolve() for run in runs]
    places = list(dict.fromkeys(asked))
    if any(isinstance(place, str) for place in places):
        reports = _check_elsewhere(places, master, started)
    else:
        reports = _check_folders([Path(place) for place in places], master, started, ahead)
    return [reports[place] for place in asked]


def _check_folders(
    folders: Sequence[Path],
    master: str | None,
    started: SparkSession | None,
    ahead: Ahead | None,
) -> Reports:
    runs = [open_run(folder) for folder in folders]
    _check_distinct(runs)
    if not runs:
        return {}
    operations = sum(run.operations for run in runs)
    with ExitStack() as stack:
        there = started or SparkSession.getActiveSession()  # of this thread
        if master is None and there is None and operations < BIG:
            ahead = stack.enter_context(ahead or Ahead(scratch=folders[0]))
            ahead.start()
            ready = prepared(runs, by_driver=True)
            size, there = operations, ahead.spark(operations)
        else:
            if ahead is not None:
                ahead.close()
            ready = prepared(runs, by_driver=True)
            size = ready.left(operations)
        start = session(master, size, started=there, scratch=folders[0])
        spark = _started(stack, start, master)
        local = is_local(spark)
        if not local:
            require_shared(spark, folders)
        elif ready.screens is not None:
            make_room_for(spark, ready.left(operations))
        place = EvidencePlace(folder=_evidence_folder(runs), shared=local)
        with _cleared(runs, place):
            answers = answers_of(spark, runs, ready, place)
            with _ending(stack.pop_all()):
                return {run.path: _publish(run, answers, ready) for run in runs}


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
        store = next(each.store for each in staged.values())
        place = EvidencePlace(folder=_evidence_folder(runs), store=store, shared=False)
        ready = prepared(runs, by_driver=False)
        with _cleared(runs, place):
            answers = answers_of(spark, runs, ready, place)
            return {
                run.uri or run.path: _publish(run, answers, ready, staged.get(run.uri or ""))
                for run in runs
            }


def _started(
    stack: ExitStack, start: AbstractContextManager[SparkSession], master: str | None
) -> SparkSession:
    with starting(master):
        return stack.enter_context(start)


def answers_of(
    spark: SparkSession, runs: Sequence[Run], ready: Prepared, place: EvidencePlace
) -> Mapping[str, write.Results]:
    """What Spark says of runs, and what the driver found, by run_id; evidence is at its place."""
    asked = None
    try:
        history = history_of(spark, runs, ready.facts)
        left = ready.screens.left(spark, history, _left_folder(runs)) if ready.screens else None
        asked = Queries(history, left=left)
        found = write.compute(spark, asked, runs, place, ready.measured)
    except TROUBLE as error:  # whose words the session still has to tell
        raise _told(runs[0], error) from error
    finally:
        if asked is not None:
            asked.forget()
    told = {run.run_id: _told_by_driver(run, ready) for run in runs}
    return {
        run_id: replace(each, found=replace(each.found, **told[run_id]))
        for run_id, each in found.items()
    }


def _told_by_driver(run: Run, ready: Prepared) -> dict[str, Any]:
    """Fields of what was found, of which Spark is not asked."""
    demanded = ALONE in (run.scenario.get("expect") or {})
    return {
        "circles": ready.circles[run.run_id],
        "acked_unseen": acked_unseen(run) if demanded else 0,
    }


def _evidence_folder(runs: Sequence[Run]) -> Path:
    return runs[0].path / f".check-{write.unique()}"


def _left_folder(runs: Sequence[Run]) -> Path:
    """Where what a screen has left is until Spark has read it."""
    return runs[0].path / f".suspects-{write.unique()}"


@contextmanager
def _cleared(runs: Sequence[Run], place: EvidencePlace) -> Iterator[None]:
    """After the block nothing is there but the reports."""
    try:
        yield
    except TROUBLE as error:
        raise _told(runs[0], error) from error
    finally:
        with suppress(CheckError, Unreachable):  # what is left there says less than what happened
            place.clear()
        for unused in (place.folder, _left_folder(runs), *map(write.unfinished, runs)):
            shutil.rmtree(unused, ignore_errors=True)


@contextmanager
def _ending(session: ExitStack) -> Iterator[None]:
    """Inside the block a session ends, which is not needed any more."""
    with ThreadPoolExecutor(1, thread_name_prefix="spark") as threads:
        ended = threads.submit(session.close)
        yield
        ended.result()


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


def _publish(
    run: Run,
    answers: Mapping[str, write.Results],
    ready: Prepared,
    staged: Staged | None = None,
) -> dict[str, Any]:
    """Write what was found of one run into its folder, the tables first, report.json last."""
    found = answers[run.run_id]
    if run.untold:
        found = replace(
            found,
            found=imported.found_as_told(run, found.found),
            timeline=imported.timeline_as_told(run, found.timeline),
            sends=imported.sends_as_told(run, found.sends),
        )
    made = report(run, found.found, ready.permissions[run.run_id])
    write.publish_tables(run, found, made)
    write.publish_texts(run, found, made)
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
