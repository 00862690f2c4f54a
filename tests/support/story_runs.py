"""Stories of tests/support/histories.py as sealed runs: their run.json and their tables.

`CheckedStories` has them checked, many in one Spark job and none before it is asked for. Spark is
given all of each: a screen leaves it the records that it suspects, and if one story of a job is not
plain everything, so which rule a story asks would hang on the others. What a screen says of each is
held against Spark's answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.history import tables
from harness.model.runs.old_runs import complete_steps
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from tests.support.histories import LOAD_MS, STEP_MS, Part, Story, doubtful, ms_of, ns_of, view
from tests.support.recorded_runs import run_record

# What a story does not say of its plan's steps and its workers.
STEP = {
    "series": 0,
    "unit": "seconds",
    "at": 1.0,
    "for_s": 1.0,
    "until": None,
    "options": {},
    "seed": 1,
}
WORKER = {"role": "producer", "exit": 0, "config": {}}
LOAD_VALUE = 99 << 40  # of the sends that stories have beside their own
NODES = {
    f"{name}{number}": {"role": role, "id": number, "address": f"{name}{number}:1"}
    for name, role in (("zk", "zookeeper"), ("kafka", "broker"))
    for number in (1, 2, 3)
}
JOB = 1000  # stories: in effect all, since a job costs some seconds, however few it has

Reported = tuple[dict[str, Any], Path]  # the report and the run's folder


class CheckedStories:
    """The stories of many tests, checked by the JOB: a job has the story that is asked for and
    those after it, so a process that takes over in the middle checks only what is left."""

    def __init__(self, stories: Mapping[str, Story], folder: Path) -> None:
        self._left = dict(stories)  # by test
        self._folder = folder
        self._done: dict[str, Reported | Exception] = {}

    def of(self, test: str) -> Reported:
        """A test's story. A job that fails does so for each of its tests, once."""
        if test in self._left:
            self._check([*self._left][[*self._left].index(test) :][:JOB])
        done = self._done[test]
        if isinstance(done, Exception):
            raise done
        return done

    def _check(self, tests: Sequence[str]) -> None:
        # Most of those who write stories need no Spark.
        from analysis.frames import history  # noqa: PLC0415
        from analysis.job import job  # noqa: PLC0415
        from analysis.report import page  # noqa: PLC0415

        screens = _Screens()
        stories = [self._left.pop(test) for test in tests]
        try:
            paths = [
                write_story(story, self._folder / str(number), f"told/{number}")
                for number, story in enumerate(stories, len(self._done))
            ]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(page, "render", lambda *_: "")  # megabytes, and none looks at it
                patch.setattr(job, "screens", screens.look)
                together = self._folder / f"from-{len(self._done)}"
                read = partial(_from_one_file, together, history.files_frame)
                patch.setattr(history, "files_frame", read)
                reports = checked(paths)
            for test, report, path in zip(tests, reports, paths, strict=True):
                missed = screens.missed(report)
                wrong = AssertionError(f"no sign of {missed} was seen by the screen of {path}")
                self._done[test] = wrong if missed else (report, path)
        except Exception as error:
            self._done |= dict.fromkeys(tests, error)


def _from_one_file(folder: Path, read: Any, spark: Any, columns: Any, files: Sequence[str]) -> Any:
    """In place of `read`, analysis.frames.history's: the rows of all files from one in `folder`,
    since Spark takes longer to open a file than to read a story's rows."""
    folder.mkdir(exist_ok=True)
    together = folder / Path(files[0]).name
    pq.write_table(pa.concat_tables(pq.ParquetFile(file).read() for file in files), together)
    return read(spark, columns, [str(together)])


class _Screens:
    """The screens of a job's stories, one by one; Spark is left with all that they are of."""

    def __init__(self) -> None:
        self._signs: dict[str, Collection[Any]] = {}  # by run_id; of plain ones

    def look(self, runs: Sequence[Any], facts: Mapping[str, Any], scratch: Path) -> None:
        """In place of analysis.job.job's."""
        from analysis.screens.several import screens  # noqa: PLC0415

        told = {run.run_id: screens([run], facts, scratch) for run in runs}
        self._signs = {run_id: each.signs for run_id, each in told.items() if each is not None}

    def missed(self, report: Mapping[str, Any]) -> list[str]:
        """The anomalies of a report of which its run's screen saw no sign: it acquits them."""
        from analysis.anomalies import BY_NAME  # noqa: PLC0415

        found = [name for name, told in report["anomalies"].items() if told["count"]]
        signs = self._signs.get(report["run_id"]) if found else None
        return [name for name in found if signs is not None and not BY_NAME[name].tables(signs)]


def checked(places: Sequence[Path | str], **more: Any) -> list[dict[str, Any]]:
    """The reports of a check (analysis.job.job.check), as their files have them."""
    from analysis.job import job  # noqa: PLC0415  as above

    return [report.written() for report in job.check(places, **more)]


def measured_rows(run: Any, measure: Any) -> list[Any]:
    """What one measure says of an opened run: `measure` is its class, such as WorkDone."""
    from analysis.checks.run_row import run_row  # noqa: PLC0415  as above
    from analysis.stored.batches import batches  # noqa: PLC0415

    made = measure(run_row(run))
    for file in run.tables:
        for batch in batches(file):
            made.see(batch)
    return list(made.rows())


def write_story(story: Story, folder: Path, run_id: str) -> Path:
    """The story as a sealed run in `folder`."""
    more = [*_views(story), *_load(story), *_looks(story)]
    told = story_tables([*story.parts, *more], run_id)
    operations = folder / "history" / "operations"
    operations.mkdir(parents=True)
    for process in sorted({row["process"] for row in told["operations"]}):
        rows = [row for row in told["operations"] if row["process"] == process]
        in_order = sorted(rows, key=lambda row: int(row["start_ns"]))
        client = {"instance": 0} if story.record.get("history_format") == 2 else {}
        numbered = [{**client, **row, "id": number} for number, row in enumerate(in_order)]
        _write(operations / f"{process}.parquet", tables.OPERATION_COLUMNS, numbered)
    for name, columns in tables.SMALL_TABLES.items():
        _write(folder / "history" / f"{name}.parquet", columns, told[name])
    record = story_record(run_id, {"plan": plan_of(told["faults"]), **story.record})
    RunFolder(path=folder).write(record)
    return folder


def story_record(run_id: str, said: Mapping[str, Any]) -> RunRecord:
    """What run.json says of a story's run."""
    load = {"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(LOAD_MS)}
    return run_record(
        run_id=run_id,
        seed=42,
        state=said.get("state", "complete"),
        started_utc="2026-11-21T02:15:00+00:00",
        command="kafka-harness run told --seed 42",
        plan=complete_steps({**STEP, **step} for step in said.get("plan", [])),
        workers=[{**WORKER, **worker} for worker in said.get("workers", [])],
        nodes=said.get("nodes", NODES),
        features=said.get("features", {}),
        replicas=said.get("placed", []),
        phases=said.get("phases", [load]),
        failure=said.get("failure"),
        scenario={
            "name": "told",
            "title": "A history told by a test",
            "description": "",
            "cluster": {"zookeepers": 3, "brokers": 3, "server": said.get("server", {}), "zoo": {}}
            | said.get("cluster", {}),
            "topic": {
                "name": "harness",
                "partitions": said.get("partitions", 1),
                "replication_factor": said.get("replicas", 3),
                "leader": "any",
                "placement": "kafka" if said.get("placed") else "ring",
                "config": said.get("topic", {}),
            },
            "workload": _workload(said),
            "faults": [],
            "check": {
                "unavailability_threshold_ms": said.get("threshold_ms", 500),
                "replicas": said.get("compared", False),
                "watermarks": said.get("watched", False),
            },
            "expect": said.get("expect", {}),
            **{key: said[key] for key in ("programs", "outputs") if key in said},
        },
        programs=said.get("lives", []),
    )


def _workload(said: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": said.get("kind", "stream"),
        "producers": said.get("producers", 1),
        "consumers": said.get("consumers", 0),
        "group_consumers": int("commit" in said and not said.get("transformers")),
        "transformers": said.get("transformers", 0),
        "commit": said.get("commit", "after"),
        "process_ms": said.get("process_ms", 0.0),
        "batch": 50,
        **{key: said[key] for key in ("use_added_partitions", "keys", "tombstones") if key in said},
        "read_via": said.get("read_via", "bootstrap"),
        "producer": {
            "acks": said.get("acks", "all"),
            "retries": said.get("retries", 0),
            "enable.idempotence": said.get("idempotent", False),
            **({"max.in.flight": said["in_flight"]} if "in_flight" in said else {}),
            **({"transactional.id": "t-0"} if "isolation" in said else {}),
        },
        "consumer": {
            **said.get("consumer", {}),
            **({"isolation.level": said["isolation"]} if "isolation" in said else {}),
        },
    }


def _views(story: Story) -> list[Part]:
    """Of a story that does not say who led: kafka1 did, always (views=False: nobody looked)."""
    said = story.record
    if not said.get("views", True) or any(part.table == "views" for part in story.parts):
        return []
    isr = [f"kafka{number}" for number in range(1, min(said.get("replicas", 3), 3) + 1)]
    return [
        view("kafka1", ms=-1000, partition=partition, isr=isr)
        for partition in range(said.get("partitions", 1))
    ]


def operation_rows(story: Story, run_id: str) -> list[dict[str, Any]]:
    """The story's operations as rows, for tests that need no folder."""
    return [
        {name: row.get(name) for name, _ in tables.OPERATION_COLUMNS}
        for row in story_tables(story.parts, run_id)["operations"]
    ]


def write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Operations of any runs as one Parquet file."""
    _write(file, tables.OPERATION_COLUMNS, rows)


def plan_of(faults: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The steps of the faults that happened."""
    return [{name: fault[name] for name in ("step", "verb", "target")} for fault in faults]


def _load(story: Story) -> list[Part]:
    """Sends of nobody in the story that meet its faults, unless it tells of its load itself
    (`loaded=False`): of doubtful end, one at each injection, one at each begin of a healing."""
    if not story.record.get("loaded", True):
        return []
    faults = [row for part in story.parts if part.table == "faults" for row in part.rows]
    moments = [
        row[name]
        for row in faults
        if row["nodes"]
        for name in ("invoke_ns", "heal_invoke_ns")
        if row[name] is not None
    ]
    return [
        doubtful(LOAD_VALUE + number, ms=ms_of(moment_ns) - 1, process="load-0")
        for number, moment_ns in enumerate(moments)
    ]


def _looks(story: Story) -> list[Part]:
    """Looks at the replicas beside those told, which saw nothing: ZooKeeper did not answer."""
    if not story.record.get("loaded", True):
        return []
    rows = [r for part in story.parts if part.table == "watermarks" for r in part.rows]
    blind = {"broker": "kafka1", "leads": None, "in_isr": None, "log_end": None}
    return [
        Part(
            table="watermarks",
            rows=({**blind, "partition": number, "time_ns": ns_of(ms), "end_ns": ns_of(ms)},),
        )
        for number in sorted({row["partition"] for row in rows})
        for ms in range(750, LOAD_MS, 1500)
    ]


# Rows


def story_tables(parts: Sequence[Part], run_id: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a history's tables that these parts tell."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("operations", *tables.SMALL_TABLES)
    }
    clock = 0.0
    for part in parts:
        ms = clock if part.ms is None else part.ms
        for row in part.rows:
            table = part.table if part.table != "final" else _final_table(row)
            timed = _timed(row, ms) if table == "operations" else {"time_ns": ns_of(ms), **row}
            rows[table].append({**timed, "run_id": run_id})
        if part.table == "operations":
            clock = ms + STEP_MS
    return rows


def _final_table(row: Mapping[str, Any]) -> str:
    return "events" if "event" in row else "operations"


def _timed(row: Mapping[str, Any], ms: float) -> dict[str, Any]:
    due, took = row.get("due"), row["took"]
    return {
        **row,
        "intended_ns": ns_of(ms if due is None else due),
        "start_ns": ns_of(ms),
        "end_ns": None if took is None else ns_of(ms + took),
    }


def _write(
    file: Path, columns: tuple[tuple[str, str], ...], rows: Sequence[Mapping[str, Any]]
) -> None:
    schema = tables.schema(columns)
    picked = [{name: row.get(name) for name, _ in columns} for row in rows]
    pq.write_table(pa.Table.from_pylist(picked, schema=schema), file, compression="zstd")
