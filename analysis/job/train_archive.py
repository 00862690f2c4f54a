"""Makes the class archive that lets every later check start fast: `python -m
analysis.job.train_archive`.

A tiny made-up run is checked in a JVM that leaves an archive of all classes it loaded
(`-XX:ArchiveClassesAtExit`): as any run is, and once more with every query asked of everything. It
takes some fifteen seconds and 180 MB in the user's cache, once for each Java and each place of
Spark's jars; a later call finds it there and does nothing. Those of places that are gone are
removed. Without it checks are slower, never wrong.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analysis.anomalies import ANOMALIES
from analysis.checks.rules import Rules
from analysis.frames.history import history_of
from analysis.job.job import check, prepared
from analysis.spark.jvm import Jvm, archive_path, jars_folder
from analysis.spark.session import session
from analysis.stored.stored_run import open_run
from harness.history import tables
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario, WorkloadPart

_RUN_ID = "training/0"
_SENDS = 50


def main() -> int:
    """Make the archive unless it is there. 0 when it is, 1 when it could not be made."""
    archive = archive_path()
    if archive.exists():
        return 0
    sys.stdout.write("making the class archive that lets checks start faster\n")
    sys.stdout.flush()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".training-") as folder:
        made = Path(folder) / "spark.jsa"
        with Jvm(archive_to=made) as jvm, session(jvm=jvm) as spark:
            run = training_run(Path(folder))
            check([run])
            _ask_everything(spark, run)
        if not made.exists():
            sys.stderr.write("no class archive was made: checks will start slower\n")
            return 1
        _made_of(archive).write_text(str(jars_folder()))
        made.replace(archive)
    remove_unused(archive.parent)
    return 0


def rehearse(spark: SparkSession, scratch: Path) -> None:
    """Check a made-up run in a session that has nothing to do yet, in a folder below `scratch`:
    what the next check needs is loaded then. One that is interrupted by the check that matters
    (analysis.spark.ahead) raises."""
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=scratch) as folder:
        check([training_run(Path(folder))], started=spark)


def remove_unused(folder: Path) -> None:
    """Remove the archives there whose jars are gone; and those that do not say of which jars they
    are made, which no JVM is given any more."""
    for archive in folder.glob("spark-*.jsa"):
        jars = _made_of(archive)
        if not (jars.is_file() and Path(jars.read_text()).is_dir()):
            archive.unlink(missing_ok=True)
            jars.unlink(missing_ok=True)


def _made_of(archive: Path) -> Path:
    """The file that says where the jars of an archive lie."""
    return archive.with_suffix(".jars")


def _ask_everything(spark: SparkSession, folder: Path) -> None:
    runs = [open_run(folder)]
    rules = Rules(history_of(spark, runs, prepared(runs).facts), ANOMALIES)
    if (found := rules.found()) is not None:
        found.toArrow()
    rules.forget()


def training_run(folder: Path) -> Path:
    """A sealed run in which every kind of query finds something."""
    operations = folder / "history" / "operations"
    operations.mkdir(parents=True)
    for process, f, first, at_s in (
        ("producer-0", "send", 0, 0),
        ("consumer-0", "read", 1, 1),
        ("final-read-0", "final-read", 1, 60),
    ):
        rows = [
            {**_operation(process, f, value, at_s), "id": number}
            for number, value in enumerate(range(first, _SENDS))
        ]
        _write(operations / f"{process}.parquet", tables.OPERATION_COLUMNS, rows)
    ends = {
        "event": "ends",
        "process": "final-read-0",
        "time_ns": 120 * 10**9,
        "partition": 0,
        "log_start": 0,
        "committed_end": _SENDS,
        "uncommitted_end": _SENDS,
        "position": _SENDS,
        "complete": True,
    }
    for name, columns in tables.SMALL_TABLES.items():
        _write(folder / "history" / f"{name}.parquet", columns, [ends] if name == "events" else [])
    RunFolder(path=folder).write(_record())
    return folder


def _operation(process: str, f: str, value: int, at_s: int) -> dict[str, Any]:
    start_ns = (1 + at_s) * 10**9 + value * 10**8
    return {
        "process": process,
        "f": f,
        "type": "ok",
        "partition": 0,
        "value": value,
        "offset": value,
        "intended_ns": start_ns,
        "start_ns": start_ns,
        "end_ns": start_ns + 7 * 10**8,
    }


def _write(
    file: Path, columns: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, Any]]
) -> None:
    schema = tables.schema(columns)
    full = [{name: {"run_id": _RUN_ID, **row}.get(name) for name, _ in columns} for row in rows]
    pq.write_table(pa.Table.from_pylist(full, schema=schema), file, compression="zstd")


def _record() -> RunRecord:
    work = WorkloadPart(kind="stream", producer={"acks": "1", "retries": 0})
    scenario = Scenario(name="training", title="A made-up run", workload=work)
    return RunRecord(run_id=_RUN_ID, scenario=scenario, seed=0, backend="local", state="complete")


if __name__ == "__main__":
    sys.exit(main())
