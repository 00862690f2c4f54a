"""A live process that checks: `python -m bench.checker.worker ours|duckdb OPERATIONS`.

Reads a task a line and answers each with a line (bench.checker.measure.Worker). Ours has a Spark
session for histories of about so many operations; DuckDB's has none that outlives a task.

    check       the whole check, report included; ours tells what parts took and what was shuffled
    unscreened  ours: what the anomalies cost that no screen knows, and are looked for in everything
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
# What is timed by itself, of analysis.job.job.
APART = {"open": "open_run", "cycles": "cycles_of", "publish": "_publish"}


def main() -> None:
    """Do what is asked until nothing more is."""
    side, operations = sys.argv[1], int(sys.argv[2])
    with _ours(operations) if side == "ours" else _duckdb() as tasks:
        print("{}", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            told = tasks[asked["task"]](Path(asked["folder"]), bool(asked.get("by_uri")))
            print(json.dumps(told), flush=True)


@contextmanager
def _ours(operations: int) -> Iterator[dict[str, Task]]:
    from analysis.spark.session import session  # noqa: PLC0415  DuckDB's side is without Spark

    with session(None, operations) as spark:
        yield {
            "check": functools.partial(_check, spark),
            "unscreened": functools.partial(_unscreened, spark),
        }


def _check(spark: Any, folder: Path, by_uri: bool) -> dict[str, Any]:
    """`by_uri`: as a run in a store, which is staged first."""
    from analysis.job import job  # noqa: PLC0415

    took: dict[str, float] = dict.fromkeys(APART.values(), 0.0)
    shuffled = _shuffled(spark)
    with ExitStack() as patched:
        for name in APART.values():
            patched.enter_context(mock.patch.object(job, name, _timed(job, name, took)))
        report = job.check([folder.as_uri() if by_uri else folder], started=spark)[0]
    counts = {name: each.count for name, each in report.anomalies.items() if each.count}
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
    from analysis.anomalies import ANOMALIES  # noqa: PLC0415
    from analysis.checks.rules import Rules  # noqa: PLC0415
    from analysis.frames.history import history_of  # noqa: PLC0415
    from analysis.job.job import prepared  # noqa: PLC0415
    from analysis.remote.shared_place import SharedPlace  # noqa: PLC0415
    from analysis.stored.stored_run import open_run  # noqa: PLC0415

    run = open_run(folder)
    ready = prepared([run])
    if ready.screens is None:
        raise RuntimeError(f"{folder}: not screened")
    history = history_of(spark, [run], ready.facts)
    out = Path(tempfile.mkdtemp(prefix="bench-"))
    left = ready.screens.left(spark, history, SharedPlace(folder=out / "suspects"))
    rules = Rules(history, [each for each in ANOMALIES if each.signs is None], left)
    before = cpu_s(os.getpid())
    try:
        if (found := rules.found()) is not None:
            found.toArrow()
        return {"cpu_s": cpu_s(os.getpid()) - before}
    finally:
        rules.forget()
        shutil.rmtree(out)


@contextmanager
def _duckdb() -> Iterator[dict[str, Task]]:
    from bench.checker import duckdb_side  # noqa: PLC0415

    facts: dict[Path, Any] = {}

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
