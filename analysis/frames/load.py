"""From run folders to what the checkers work on; whatever is not ours is refused here.

`open_run` reads what is small on the driver: run.json and the tables beside the operations. It
looks at every operations file's footer too, so that a damaged or foreign file is named in one
sentence before Spark starts. `frames` hands everything to Spark, all runs together; operations are
only ever read by Spark. A run's folder must be readable by the driver and, with a cluster, under
the same path by its executors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType

from analysis.frames import elections, schema
from analysis.frames.replica_samples import looks_of
from harness.history import tables
from harness.history.recorder import SEQUENCE_BITS
from harness.model.run_folder import RunFolder, StoreError

WATERMARKS = "history/watermarks.parquet"
SEEN_LATE_NS = 10**9  # an ISR is looked at every 50 ms, and acks reach a busy worker late
SHORT_RUN_NS = 120 * 10**9  # up to here the timeline has buckets of 100 ms, beyond of 500 ms


class CheckError(Exception):
    """The runs cannot be checked as they are: one sentence with file, key and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One stored run, as far as the driver holds it."""

    path: Path
    record: dict[str, Any]  # run.json
    faults: tuple[dict[str, Any], ...]
    ends: tuple[dict[str, Any], ...]  # what the final read reached, one row a partition and pass
    findings: tuple[dict[str, Any], ...]
    views: tuple[dict[str, Any], ...]
    blind: tuple[dict[str, Any], ...]
    watermarks: tuple[dict[str, Any], ...]  # of runs whose replicas were followed
    worker_errors: int
    processes: frozenset[str]  # those that left operations
    deaths: tuple[dict[str, int], ...]  # of producers without an end: producer (its index), died_ns
    operations: int
    load_start_ns: int
    load_end_ns: int

    @property
    def run_id(self) -> str:
        """<scenario>/<UTC time>-<seed>."""
        return str(self.record["run_id"])

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario."""
        scenario: dict[str, Any] = self.record["scenario"]
        return scenario

    @property
    def node_settings(self) -> dict[str, Any]:
        """`server` and `zoo` as they were in force; of an old run, as the scenario set them."""
        settings: dict[str, Any] = self.record.get("node_settings") or self.scenario["cluster"]
        return settings

    @property
    def grouped(self) -> bool:
        """Whether a consumer group was at work beside the consumers that follow the log."""
        return int(self.scenario["workload"].get("group_consumers", 0)) > 0

    @property
    def compared(self) -> bool:
        """Whether the replicas' logs were compared at the end."""
        return bool(self.scenario["check"].get("replicas", False))

    @property
    def watched(self) -> bool:
        """Whether the replicas' watermarks and log ends were followed."""
        return bool(self.scenario["check"].get("watermarks", False))

    @property
    def members_died(self) -> bool:
        """Whether a member of the group ended otherwise than in order, planned or not."""
        workers = self.record.get("workers") or []
        return any(w.get("role") == "group-consumer" and w.get("exit") != 0 for w in workers)

    @property
    def threshold_ms(self) -> float:
        """From which length on a stretch without success is a window."""
        return float(self.scenario["check"]["unavailability_threshold_ms"])

    @property
    def bucket_ms(self) -> int:
        """The timeline's resolution."""
        return 100 if self.load_end_ns - self.load_start_ns < SHORT_RUN_NS else 500

    def seconds(self, time_ns: int | None) -> float | None:
        """A time relative to the start of the load."""
        return None if time_ns is None else (time_ns - self.load_start_ns) / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All runs of one check, for Spark."""

    operations: DataFrame  # schema.OPERATIONS
    runs: DataFrame  # schema.RUNS
    groups: bool = False  # whether any of them has a consumer group
    replicas: bool = False  # whether the replicas of any were compared
    watermarks: DataFrame | None = None  # schema.WATERMARKS; None: nobody followed them


def open_run(path: Path) -> Run:
    """A sealed run. Raises CheckError."""
    record = _read_record(path)
    events = _table(path / "history/events.parquet", tables.EVENT_COLUMNS)
    files = sorted((path / "history/operations").glob("*.parquet"))
    footers = [_footer(file, str(record["run_id"])) for file in files]
    start_ns, end_ns = _load_bounds(record, footers)
    findings = _table(path / "history/findings.parquet", tables.FINDING_COLUMNS)
    by_process = {file.stem: footer for file, footer in zip(files, footers, strict=True)}
    watched = record["scenario"]["check"].get("watermarks", False)
    return Run(
        path=path,
        record=record,
        faults=_table(path / "history/faults.parquet", tables.FAULT_COLUMNS),
        ends=tuple(row for row in events if row["event"] == "ends"),
        findings=findings,
        views=_table(path / "history/views.parquet", tables.VIEW_COLUMNS),
        blind=_table(path / "history/blind.parquet", tables.BLIND_COLUMNS),
        watermarks=_table(path / WATERMARKS, tables.WATERMARK_COLUMNS) if watched else (),
        worker_errors=sum(row["event"] == "client-error" for row in events),
        processes=frozenset(by_process),
        deaths=tuple(_deaths(findings, by_process)),
        operations=sum(footer.num_rows for footer in footers),
        load_start_ns=start_ns,
        load_end_ns=end_ns,
    )


def frames(spark: SparkSession, runs: Sequence[Run]) -> History:
    """Everything the checks need of these runs."""
    folders = [str(run.path / "history/operations") for run in runs]
    watched = [str(run.path / WATERMARKS) for run in runs if run.watched]
    return History(
        operations=spark.read.schema(schema.OPERATIONS).parquet(*folders),
        runs=facts_frame(spark, [facts(run) for run in runs]),
        groups=any(run.grouped for run in runs),
        replicas=any(run.compared for run in runs),
        watermarks=spark.read.schema(schema.WATERMARKS).parquet(*watched) if watched else None,
    )


def facts_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Facts of runs as a table, through one JSON text: this way no Python worker has to start."""
    parsed = F.from_json(F.lit(json.dumps(rows)), ArrayType(schema.RUNS))
    return spark.range(1).select(F.inline(parsed))


def final_ends(run: Run) -> list[dict[str, Any]]:
    """What the final read reached, one row a partition of the topic; incomplete where it is silent.

    With several passes a partition is complete if one of them was; the highest log start counts,
    so that nothing is called lost that might have been deleted.
    """
    rows = []
    for partition in range(int(run.scenario["topic"]["partitions"])):
        passes = [end for end in run.ends if end["partition"] == partition]
        complete = [end for end in passes if end["complete"]]
        best = max(complete or passes, key=lambda end: end["log_start"] or 0, default={})
        rows.append(
            {
                "run_id": run.run_id,
                "partition": partition,
                **{
                    key: best.get(key)
                    for key in ("log_start", "committed_end", "uncommitted_end", "position")
                },
                "complete": bool(complete),
            }
        )
    return rows


# Rows for Spark


def facts(run: Run) -> dict[str, Any]:
    """What the checks must know of a run: a row of schema.RUNS."""
    work = run.scenario["workload"]
    return {
        "run_id": run.run_id,
        "load_start_ns": run.load_start_ns,
        "load_end_ns": run.load_end_ns,
        "threshold_ns": int(run.threshold_ms * 1e6),
        "bucket_ns": run.bucket_ms * 10**6,
        "tailing": work["kind"] == "write-read" or int(work.get("consumers", 0)) > 0,
        "ends": [
            {"complete": end["complete"], "log_start": end["log_start"]} for end in final_ends(run)
        ],
        "deaths": list(run.deaths),
        "faults": in_force(run),
        "leaders": leaders_of(run),
        "alone": _alone(run),
        "elections": elections.facts(elections.elections(looks_of(run.watermarks))),
    }


def in_force(run: Run) -> list[dict[str, Any]]:
    """From injection until healed; a fault that found no target never was in force."""
    hit = [fault for fault in run.faults if fault["nodes"]]
    return [
        {"fault": f["fault"], "invoke_ns": f["invoke_ns"], "end_ns": f["heal_ok_ns"]}
        for f in sorted(hit, key=lambda fault: int(fault["invoke_ns"]))
    ]


def leaders_of(run: Run) -> list[dict[str, Any]]:
    """Who led from when to when, as far as ZooKeeper told."""
    rows: list[dict[str, Any]] = []
    last: dict[int, dict[str, Any]] = {}
    for view in sorted(run.views, key=lambda view: view["time_ns"]):
        before = last.get(view["partition"])
        if before is not None and before["leader"] == view["leader"]:
            continue
        row = {
            "partition": view["partition"],
            "leader": view["leader"],
            "from_ns": view["time_ns"],
            "to_ns": None,
        }
        if before is not None:
            before["to_ns"] = view["time_ns"]
        last[view["partition"]] = row
        rows.append(row)
    return rows


def _alone(run: Run) -> list[dict[str, Any]]:
    """When a leader was alone in its ISR, but for the margins in which that may be seen late."""
    found = []
    for partition in {view["partition"] for view in run.views}:
        mine = [view for view in run.views if view["partition"] == partition]
        mine.sort(key=lambda view: int(view["time_ns"]))
        ends_ns = [view["time_ns"] for view in mine[1:]] + [run.load_end_ns]
        for view, end_ns in zip(mine, ends_ns, strict=True):
            from_ns, to_ns = view["time_ns"] + SEEN_LATE_NS, end_ns - SEEN_LATE_NS
            if view["leader"] and view["isr"] == [view["leader"]] and from_ns < to_ns:
                found.append({"partition": partition, "from_ns": from_ns, "to_ns": to_ns})
    return found


# Reading with suspicion


def _read_record(folder: Path) -> dict[str, Any]:
    """run.json, whichever harness wrote it, as the newest would have."""
    try:
        return RunFolder(path=folder).read().model_dump(mode="json")
    except StoreError as error:
        raise CheckError(str(error)) from None


def _table(file: Path, columns: tuple[tuple[str, str], ...]) -> tuple[dict[str, Any], ...]:
    """A small table of a sealed history, checked against its columns."""
    _check_columns(file, columns)
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return tuple(rows)


def _footer(file: Path, run_id: str) -> pq.FileMetaData:
    _check_columns(file, tables.OPERATION_COLUMNS)
    footer = pq.read_metadata(file)
    for low, high in _statistics(footer, "run_id"):
        if low != run_id or high != run_id:
            raise CheckError(
                f"{file}: run_id is {low}, but run.json says {run_id}: put back the run's own files"
            )
    return footer


def _check_columns(file: Path, columns: tuple[tuple[str, str], ...]) -> None:
    try:
        found = pq.read_schema(file)
    except FileNotFoundError:
        raise CheckError(f"{file}: missing: seal the history again or restore the file") from None
    except (OSError, pa.ArrowException) as error:
        reason = str(error).split("\n", 1)[0]
        raise CheckError(f"{file}: cannot be read as Parquet ({reason}): restore it") from None
    kinds = {field.name: str(field.type).replace("element: ", "") for field in found}
    for name, kind in columns:
        if kinds.get(name, "").replace("item: ", "") != kind:
            has = f"is {kinds[name]}" if name in kinds else "is missing"
            raise CheckError(
                f"{file}: column {name} {has}, expected {kind}: not a history of this version"
            )


def _statistics(footer: pq.FileMetaData, column: str) -> list[tuple[Any, Any]]:
    """Smallest and largest value of a column in each row group, from the file's footer."""
    at = footer.schema.names.index(column)
    found = []
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(at).statistics
        if statistics is not None and statistics.has_min_max:
            found.append((statistics.min, statistics.max))
    return found


def _deaths(
    findings: Sequence[Mapping[str, Any]], footers: Mapping[str, pq.FileMetaData]
) -> Iterator[dict[str, int]]:
    """When each producer that left no end did something last: from then on it tried nothing."""
    ended_badly = {finding["process"] for finding in findings if finding["kind"] == "no-end"}
    for footer in (footer for name, footer in footers.items() if name in ended_badly):
        if set(_statistics(footer, "f")) != {("send", "send")}:
            continue
        times = [
            high for column in ("start_ns", "end_ns") for _, high in _statistics(footer, column)
        ]
        for first, _ in _statistics(footer, "value")[:1]:
            yield {"producer": int(first) >> SEQUENCE_BITS, "died_ns": int(max(times))}


def _load_bounds(record: dict[str, Any], footers: Sequence[pq.FileMetaData]) -> tuple[int, int]:
    """When the load began and ended: its phase or, of a run that was killed, its operations."""
    for phase in record.get("phases") or []:
        if phase["name"] == "load":
            return int(phase["start_ns"]), int(phase["end_ns"])
    load = [
        footer
        for footer in footers
        if any(low != "final-read" for low, _ in _statistics(footer, "f"))
    ]
    starts = [low for footer in load for low, _ in _statistics(footer, "start_ns")]
    ends = [
        high
        for footer in load
        for column in ("start_ns", "end_ns")
        for _, high in _statistics(footer, column)
    ]
    return min(starts, default=0), max(ends, default=0)
