"""The check, from histories to reports.

    reports = check([Path("results/study-1/20261121T021500Z-42")])
    reports = check(["hdfs://namenode:8020/results/study-1/20261121T021500Z-42"], "spark://host:7077")

One path for a folder, a URI and any master: open (a URI is staged: analysis.remote.staged),
screen and measure (the driver: `prepared`), Spark's rules over suspects
(analysis.checks.rules), evidence, report. All runs are checked in one Spark job. Each run's folder
gets `analysis/*.parquet`, report.json, report.html and junit.xml, every one replaced in one step: a
reader sees the old or the new one. Of a run in a store that is its folder there, as far as the
store can (analysis.remote.store).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from analysis.anomalies import ANOMALIES
from analysis.checks.rules import Rules
from analysis.checks.run_row import run_row
from analysis.checks.transactions.cycles import Cycles, cycles_of
from analysis.evidence.evidence import Folders, written
from analysis.evidence.found_rows import COLUMNS
from analysis.frames.history import history_of
from analysis.measures.fates import Fates, fates_of_files
from analysis.measures.leadership import acked_unseen
from analysis.measures.measured import Measured, measured
from analysis.remote import shared_place
from analysis.remote.masters import require_master, starting
from analysis.remote.shared_place import SharedPlace, is_local, require_shared
from analysis.remote.staged import Staged
from analysis.remote.store import connect
from analysis.remote.trouble import TROUBLE, Unreachable, reason_of
from analysis.report import results
from analysis.report.build import report
from analysis.screens.several import Screens, screens
from analysis.spark.ahead import Ahead
from analysis.spark.jvm import BIG
from analysis.spark.session import HERE, make_room_for, session
from analysis.stored.fact_rows import CauseRow, RunRow
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from analysis.stored.transactions.settled import settled_in
from analysis.verdict.permission import Permission, permission_of
from harness.model.runs.disk import trouble_in_words
from harness.model.runs.report import Report
from harness.model.sections.expect import ALONE

__all__ = ["CheckError", "Unreachable", "check"]

FEW = 500_000  # operations: as many found rows take some 100 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the driver knows of the runs of a check before Spark is asked, and without it: by
    run_id, in the order of the runs."""

    permissions: Mapping[str, Permission]
    cycles: Mapping[str, Cycles | None]
    facts: Mapping[str, RunRow]  # rows of schema.RUNS
    screens: Screens | None  # what Spark must still be asked about; None: everything
    measured: Mapping[str, Measured]
    acked_unseen: Mapping[str, int]  # counted where it is demanded
    left: int  # operations that Spark must go through


def check(
    runs: Sequence[Path | str],
    master: str | None = None,
    started: SparkSession | None = None,
    ahead: Ahead | None = None,
) -> list[Report]:
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
    if not places:
        return []
    with ExitStack() as stack:
        spark, staged = None, dict[str, Staged]()
        if uris := [place for place in places if isinstance(place, str)]:
            # Spark has to be there to reach them. It starts in its ordinary way, which reads what a
            # user told of connectors and credentials.
            spark = _started(stack, session(master or HERE, BIG, started=started), master)
            staged = stack.enter_context(_staged(spark, uris))
        opened = [_opened(place, staged) for place in places]
        _check_distinct(opened)
        ready, spark = _prepared(stack, opened, spark or started, master, ahead)
        if not is_local(spark) and (folders := [run.path for run in opened if run.uri is None]):
            require_shared(spark, folders)
        make_room_for(spark, ready.left)
        here = is_local(spark)
        place = SharedPlace(
            folder=opened[0].path / f".check-{results.unique()}",
            store=None if here else next((each.store for each in staged.values()), None),
            shared=here,
        )
        with _cleared(opened, place):
            evidence = _evidence(spark, opened, ready, place)
            with _ending(stack.pop_all() if not staged else ExitStack()):
                reports = {
                    run.uri or run.path: _publish(run, evidence, ready, staged.get(run.uri or ""))
                    for run in opened
                }
    return [reports[place] for place in asked]


@contextmanager
def _staged(spark: SparkSession, uris: Sequence[str]) -> Iterator[dict[str, Staged]]:
    """Inside the block, runs in stores lie in scratch folders as well; a sentence about such a
    folder names the run's URI."""
    staged: dict[str, Staged] = {}
    with tempfile.TemporaryDirectory(prefix="kafka-harness-") as scratch:
        try:
            for number, uri in enumerate(uris):
                staged[uri] = Staged(store=connect(spark, uri), folder=Path(scratch, str(number)))
                staged[uri].fetch()
            yield staged
        except CheckError as error:
            words = str(error)
            for uri in sorted(staged, key=lambda uri: -len(str(staged[uri].folder))):
                words = words.replace(str(staged[uri].folder), uri)
            raise CheckError(words) from error


def _opened(place: Path | str, staged: Mapping[str, Staged]) -> Run:
    if isinstance(place, Path):
        return open_run(place)
    return replace(open_run(staged[place].folder), uri=place)


def _prepared(
    stack: ExitStack,
    runs: Sequence[Run],
    there: SparkSession | None,
    master: str | None,
    ahead: Ahead | None,
) -> tuple[Prepared, SparkSession]:
    """What the driver knows, and a session. Of few runs on this machine it starts meanwhile; else
    afterwards, when it is known how much is left for it."""
    operations, scratch = sum(run.operations for run in runs), runs[0].path
    there = there or SparkSession.getActiveSession()  # of this thread
    if master is None and there is None and operations < BIG:
        ahead = stack.enter_context(ahead or Ahead(scratch=scratch))
        ahead.start()
        ready = _looked_at(runs)
        there = ahead.spark(operations)
        size = operations
    else:
        if ahead is not None:
            ahead.close()
        ready = _looked_at(runs)
        size = ready.left
    start = session(master, size, started=there, scratch=scratch)
    return ready, _started(stack, start, master)


def _looked_at(runs: Sequence[Run]) -> Prepared:
    try:
        return prepared(runs)
    except (OSError, pa.ArrowException) as error:  # each table was whole a moment ago
        if full := trouble_in_words(str(error), runs[0].path):
            raise full from error
        reason = str(error).split("\n", 1)[0]
        raise CheckError(f"{runs[0].path}: its history cannot be read: {reason}") from error


def _started(
    stack: ExitStack, start: AbstractContextManager[SparkSession], master: str | None
) -> SparkSession:
    with starting(master):
        return stack.enter_context(start)


def prepared(runs: Sequence[Run]) -> Prepared:
    """Look at these runs."""
    permissions = {run.run_id: permission_of(run) for run in runs}
    cycles = {run.run_id: cycles_of(run) for run in runs}
    facts = {
        run.run_id: run_row(run, _causes(run, permissions[run.run_id]), cycles[run.run_id])
        for run in runs
    }
    screened = screens(runs, facts, runs[0].path)
    # Each record is held against samples of replicas, where there are any, by Spark.
    followed = any(run.watched and run.watermarks for run in runs)
    operations = sum(run.operations for run in runs)
    return Prepared(
        permissions=permissions,
        cycles=cycles,
        facts=facts,
        screens=screened,
        measured={run.run_id: _measured(run, facts[run.run_id], screened) for run in runs},
        acked_unseen={
            run.run_id: acked_unseen(run) if ALONE in (run.scenario.get("expect") or {}) else 0
            for run in runs
        },
        left=operations if screened is None or followed else screened.suspects,
    )


def _measured(run: Run, facts: RunRow, screened: Screens | None) -> Measured:
    fates: Iterable[Fates]
    if screened is None:
        fates = fates_of_files(run.tables, facts, run.operations, run.path)
    else:
        fates = screened.by_run[run.run_id].fates()
    return measured(run.tables, facts, run.operations, fates)


def _causes(run: Run, permission: Permission) -> list[CauseRow]:
    settled = settled_in(run) if permission.asks_what_is_settled else None
    return permission.rows(run.load_start_ns, settled)


def _evidence(
    spark: SparkSession, runs: Sequence[Run], ready: Prepared, place: SharedPlace
) -> Folders:
    """Where the evidence of what Spark finds lies."""
    with ThreadPoolExecutor(1, thread_name_prefix="views") as threads:
        loaded = threads.submit(results.load_views)
        history = history_of(spark, runs, ready.facts)
        left = ready.screens.left(spark, history, place) if ready.screens else None
        rules = Rules(history, ANOMALIES, left)
        few = ready.left <= (FEW if place.shared else shared_place.FEW)
        try:
            found = rules.found()
            rows = () if found is None else place.take(found.select(*COLUMNS), few=few)
            return written(rows, ready.facts, place.folder)
        finally:
            rules.forget()
            loaded.result()


@contextmanager
def _cleared(runs: Sequence[Run], place: SharedPlace) -> Iterator[None]:
    """After the block nothing is there but the reports."""
    try:
        yield
    except TROUBLE as error:
        raise _check_error(runs[0], error) from error
    finally:
        with suppress(CheckError, Unreachable):  # what is left there says less than what happened
            place.clear()
        for unused in (place.folder, *map(results.unfinished, runs)):
            shutil.rmtree(unused, ignore_errors=True)


@contextmanager
def _ending(session: ExitStack) -> Iterator[None]:
    """Inside the block a session ends, which is not needed any more."""
    with ThreadPoolExecutor(1, thread_name_prefix="spark") as threads:
        ended = threads.submit(session.close)
        yield
        ended.result()


def _check_error(run: Run, error: Exception) -> Exception:
    """The error to raise for one of Spark."""
    if full := trouble_in_words(str(error), run.path):
        return full
    if run.uri is not None:  # each of its tables has been read: it is not damaged
        return Unreachable(f"{run.uri}: Spark could not check it there: {reason_of(error)}")
    reason = str(error).split("\n", 1)[0]
    return CheckError(f"{run.path}: Spark could not read its history: {reason}")


def _publish(run: Run, evidence: Folders, ready: Prepared, staged: Staged | None) -> Report:
    """Write what was found of one run into its folder, the tables first, report.json last."""
    found = results.results_of(
        run,
        evidence[run.run_id],
        ready.measured[run.run_id],
        cycles=ready.cycles[run.run_id],
        acked_unseen=ready.acked_unseen[run.run_id],
    )
    made = report(run, found.found, ready.permissions[run.run_id])
    results.publish_tables(run, found, made)
    results.publish_texts(run, found, made)
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
