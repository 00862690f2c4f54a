"""A live process that checks: `python -m bench.checker.worker ours|duckdb OPERATIONS`.

Reads a task a line and answers each with a line (bench.checker.measure.Worker). Ours has a Spark
session for histories of about so many operations; DuckDB's has none that outlives a task.

    check       the whole check, report included; ours tells what parts took and what was shuffled
    unscreened  ours: what the anomalies cost that no screen knows, and are looked for in everything
    profile     ours: each query by itself, one after the other, and the CPU seconds of each
    scan        DuckDB's: the same columns, read and thrown away
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from bench.checker.measure import cpu_s

Task = Callable[[Path, bool], dict[str, Any]]
# What is timed by itself: of analysis.job, and what is prepared for it.
APART = {"open": "open_run", "circles": "circles_of", "publish": "_publish"}


def main() -> None:
    """Do what is asked until nothing more is."""
    side, operations = sys.argv[1], int(sys.argv[2])
    with _ours(operations) if side == "ours" else _duckdb() as tasks:
        print("{}", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            told = tasks[asked["task"]](Path(asked["folder"]), bool(asked.get("plain")))
            print(json.dumps(told), flush=True)


@contextmanager
def _ours(operations: int) -> Iterator[dict[str, Task]]:
    from analysis.spark.session import session  # noqa: PLC0415  DuckDB's side is without Spark

    with session(None, operations) as spark:
        yield {
            "check": functools.partial(_check, spark),
            "unscreened": functools.partial(_unscreened, spark),
            "profile": functools.partial(_profile, spark),
        }


def _check(spark: Any, folder: Path, plain: bool) -> dict[str, Any]:
    """`plain`: by Spark SQL alone, as where the driver cannot open the files."""
    from analysis import job, prepared  # noqa: PLC0415

    took: dict[str, float] = dict.fromkeys(APART.values(), 0.0)
    shuffled = _shuffled(spark)
    with ExitStack() as patched:
        for name in APART.values():
            of = prepared if hasattr(prepared, name) else job
            patched.enter_context(mock.patch.object(of, name, _timed(of, name, took)))
        if plain:
            for name in ("screens", "measured"):
                patched.enter_context(mock.patch.object(prepared, name, return_value=None))
        report = job.check([folder], started=spark)[0]
    counts = {name: each["count"] for name, each in report["anomalies"].items() if each["count"]}
    return {
        "counts": counts,
        "shuffled": _shuffled(spark) - shuffled,
        "apart": {word: took[name] for word, name in APART.items()},
    }


def _timed(module: Any, name: str, took: dict[str, float]) -> Callable[..., Any]:
    called = getattr(module, name)

    def timed(*given: Any, **more: Any) -> Any:
        before = cpu_s(os.getpid())
        try:
            return called(*given, **more)
        finally:
            took[name] += cpu_s(os.getpid()) - before

    return timed


def _shuffled(spark: Any) -> int:
    """How many bytes Spark's tasks have written for others since it started."""
    store = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(store.apply(n).totalShuffleWrite()) for n in range(store.size()))


def _unscreened(spark: Any, folder: Path, _: bool) -> dict[str, Any]:
    from analysis import anomalies  # noqa: PLC0415
    from analysis.frames.history import history_of  # noqa: PLC0415
    from analysis.prepared import prepared  # noqa: PLC0415
    from analysis.queries import Queries  # noqa: PLC0415
    from analysis.stored.stored_run import open_run  # noqa: PLC0415

    run = open_run(folder)
    ready = prepared([run], by_driver=True)
    if ready.screens is None:
        raise RuntimeError(f"{folder}: not screened")
    history = history_of(spark, [run], ready.facts)
    out = Path(tempfile.mkdtemp(prefix="bench-"))
    without = [each for each in anomalies.ANOMALIES if each.signs is None]
    asked = Queries(history, without, left=ready.screens.left(spark, history, out / "suspects"))
    before = cpu_s(os.getpid())
    try:
        if (found := asked.found()) is not None:
            found.toArrow()
        return {"cpu_s": cpu_s(os.getpid()) - before}
    finally:
        asked.forget()
        shutil.rmtree(out)


def _profile(spark: Any, folder: Path, plain: bool) -> dict[str, Any]:
    from analysis.elsewhere.evidence_place import EvidencePlace  # noqa: PLC0415
    from analysis.frames.history import history_of, run_row  # noqa: PLC0415
    from analysis.measures.by_driver.measured import measured  # noqa: PLC0415
    from analysis.permission import permission_of  # noqa: PLC0415
    from analysis.queries import Queries  # noqa: PLC0415
    from analysis.report import write  # noqa: PLC0415
    from analysis.screens.several import screens  # noqa: PLC0415
    from analysis.stored.stored_run import open_run  # noqa: PLC0415
    from analysis.stored.transactions.circles import circles_of  # noqa: PLC0415
    from bench.checker.coverage import QUERIES  # noqa: PLC0415

    took: dict[str, float] = {}

    def timed(name: str, make: Callable[[], Any]) -> Any:
        before = cpu_s(os.getpid())
        made = make()
        took[name] = cpu_s(os.getpid()) - before
        return made

    run = timed("open", lambda: open_run(folder))
    rows = {run.run_id: permission_of(run).rows(run.load_start_ns)}
    circles = timed("circles", lambda: circles_of(run))
    facts = {run.run_id: run_row(run, rows[run.run_id], circles)}
    history = history_of(spark, [run], facts)
    out = Path(tempfile.mkdtemp(prefix="bench-"))
    told = None if plain else timed("screens", lambda: screens([run], facts, out))
    if told is not None:
        fates = {run_id: each.fates() for run_id, each in told.by_run.items()}
        timed("measures, by the driver", lambda: measured([run], facts, fates))
    left = told.left(spark, history, out / "suspects") if told else None
    asked = Queries(history, left=left)
    try:
        place = EvidencePlace(folder=out / "evidence")
        timed("evidence", lambda: write._write_evidence(asked, [run.run_id], place))
    finally:
        asked.forget()
        shutil.rmtree(out, ignore_errors=True)
    asked = Queries(history)
    timed("fates, kept", asked.fates.count)
    timed("places, kept", asked.places.count)
    for name in QUERIES.keys() - {"evidence"}:
        timed(name, functools.partial(_answered, getattr(asked, name)))
    asked.forget()
    return took


def _answered(query: Callable[[], Any]) -> None:
    """Compute all of its rows, and keep none."""
    query().write.format("noop").mode("overwrite").save()


@contextmanager
def _duckdb() -> Iterator[dict[str, Task]]:
    from bench.checker import duckdb_side  # noqa: PLC0415

    facts: dict[Path, dict[str, Any]] = {}

    def know(folder: Path, _: bool) -> dict[str, Any]:
        facts[folder] = duckdb_side.facts_of(folder)
        return {}

    def check(folder: Path, _: bool) -> dict[str, Any]:
        out = Path(tempfile.mkdtemp(prefix="bench-"))
        try:
            answers = duckdb_side.ask(folder, facts[folder], out / "evidence")
        finally:
            shutil.rmtree(out, ignore_errors=True)
        return {"counts": answers.counts}

    def scan(folder: Path, _: bool) -> dict[str, Any]:
        duckdb_side.scan(folder)
        return {}

    yield {"know": know, "check": check, "scan": scan}


if __name__ == "__main__":
    main()
