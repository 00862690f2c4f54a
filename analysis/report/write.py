"""What comes out of Spark, and where it goes: tables, reports, each replaced in one step.

Evidence is written by Spark, however much there is, and only its counts and first rows are read
back. Windows and the timeline are small (a row a window, a row a bucket of time) and collected.

    analysis/<anomaly>.parquet/   evidence, docs/report.md      analysis/windows.parquet/
    analysis/timeline.parquet/    report.json  report.html  junit.xml
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.anomalies import NAMES
from analysis.elsewhere.evidence_place import EvidencePlace
from analysis.frames import schema
from analysis.frames.by_driver.evidence import evidence
from analysis.frames.by_driver.found import COLUMNS
from analysis.measures.by_driver.measured import Measured
from analysis.measures.consumer_lag import lag
from analysis.measures.drawn_sends import drawn, limits, points
from analysis.measures.latency_and_rates import QUANTILES
from analysis.measures.replication import behind
from analysis.measures.work_done import Work
from analysis.queries import Queries
from analysis.report.build import COUNTED, EXAMPLES, PAST, AnomalyFinding, Found, no_finding
from analysis.report.parts.run_files import run_files
from analysis.spark.at_once import Asking, at_once
from analysis.stored.stored_run import Run
from analysis.stories.tell import tell

Row = dict[str, Any]
ROWS = 1 << 16  # of evidence that is made at a time
BLOCK = 1 << 24  # bytes in which Spark writes what it is made of
_ORDER = ("time_ns", "value", "partition", "offset")  # of examples, however Spark wrote them
_NO_EVIDENCE = schema.arrow(schema.EVIDENCE).empty_table()
# The timeline's columns by the counts that they show.
_TIMELINE = {"acks": "acked", "fails": "failed", "infos": "indeterminate", "reads": "deliveries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One run's results, and where Spark left its evidence."""

    found: Found
    timeline: Sequence[Row]
    evidence: Mapping[str, Path]
    sends: Sequence[Row] = ()  # rows of `drawn_sends.points`


def unique() -> str:
    """A name part that no other check of the same run uses at the same time."""
    return str(os.getpid())


def compute(
    spark: SparkSession,
    queries: Queries,
    runs: Sequence[Run],
    place: EvidencePlace,
    known: Mapping[str, Measured] | None = None,
) -> dict[str, Results]:
    """Let Spark answer all queries, but for the measures that are known already; evidence goes
    to `place`. By run_id."""
    with at_once(spark) as ask:
        written = ask(lambda: _write_evidence(queries, [run.run_id for run in runs], place))
        measures = _measures(ask, queries, runs, known)
        ask(_load_views)
    evidence = written.result()
    measured = measures()
    return {
        run.run_id: _results(
            run, evidence=evidence.get(run.run_id, {}), measured=measured[run.run_id]
        )
        for run in runs
    }


def _measures(
    ask: Asking, queries: Queries, runs: Sequence[Run], known: Mapping[str, Measured] | None
) -> Callable[[], Mapping[str, Measured]]:
    """Ask Spark for what is not known: what will have all measures, once all is answered."""
    of_fates = {}
    if known is None or any(each.windows is None for each in known.values()):
        of_fates = {
            "landings": ask(lambda: _by_run(queries.landings())),
            "windows": ask(lambda: _by_run(queries.windows())),
        }
    if known is not None:

        def with_known(run: Run) -> Measured:
            more = {name: each.result().get(run.run_id, []) for name, each in of_fates.items()}
            return replace(known[run.run_id], **more)

        return lambda: {run.run_id: with_known(run) for run in runs}
    counts = ask(lambda: _by_run(queries.counts()))
    asked = {
        **of_fates,
        "counts": counts,
        "acks": ask(lambda: _by_run(queries.acks())),
        "work": ask(lambda: _by_run(queries.work())),
        "sends": ask(lambda: _by_run(drawn(queries.sends(), _drawn_limits(counts.result())))),
        "positions": ask(lambda: _by_run(queries.positions())),
        "redeliveries": ask(lambda: _by_run(queries.redeliveries())),
    }

    def of(run: Run) -> Measured:
        return Measured(**{name: each.result().get(run.run_id, []) for name, each in asked.items()})

    return lambda: {run.run_id: of(run) for run in runs}


def _results(
    run: Run,
    *,
    evidence: Mapping[str, Path],
    measured: Measured,
) -> Results:
    landings = measured.landings[0] if measured.landings else {}
    windows = measured.windows or []
    by_bucket = {row["bucket"]: dict(row) for row in measured.counts}
    again = measured.redeliveries[0] if measured.redeliveries else {}
    whole: Row = {**landings, **again, **by_bucket.pop(None, {})}
    lost = _buckets_of_lost(run, evidence.get("lost"))
    findings = {name: _finding(name, evidence.get(name)) for name in NAMES}
    found = Found(
        counts={name: whole.get(name) or 0 for name in (*COUNTED, *PAST)},
        ack_ms=whole.get("latency_ms"),
        delivery_ms=landings.get("latency_ms"),
        findings=findings,
        stories=tell(run, evidence, {name: each.examples for name, each in findings.items()}),
        acks=measured.acks,
        windows=sorted(windows, key=lambda w: (w["start_ns"], w["partition"], w["kind"])),
        work=Work(rows=measured.work),
        lag=lag(run, measured.positions),
    )
    return Results(
        found=found,
        timeline=_timeline(run, by_bucket, lost),
        evidence=evidence,
        sends=points(run, measured.sends),
    )


def _drawn_limits(counts: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Of each run, how many sends of which sort are drawn."""
    whole = {
        row["run_id"]: row for rows in counts.values() for row in rows if row["bucket"] is None
    }
    return [
        dict(limits(run_id, row, dict(zip(QUANTILES, row["latency_ms"] or [], strict=False))))
        for run_id, row in whole.items()
    ]


def unfinished(run: Run) -> Path:
    """Where the tables are until all of them are written."""
    return run.path / f".analysis-{unique()}"


def publish_tables(run: Run, results: Results, report: Mapping[str, Any]) -> None:
    """Replace the run's `analysis` folder."""
    fresh = unfinished(run)
    shutil.rmtree(fresh, ignore_errors=True)
    for name in NAMES:
        folder = fresh / f"{name}.parquet"
        folder.mkdir(parents=True)
        parts = sorted(results.evidence[name].glob("*.parquet")) if name in results.evidence else []
        for number, part in enumerate(parts):
            shutil.move(part, folder / f"part-{number:05d}.parquet")
        if not parts:
            pq.write_table(_NO_EVIDENCE, folder / "part-00000.parquet")
    _write_small(fresh / "windows.parquet", schema.WINDOWS, run.run_id, report["windows"])
    _write_small(fresh / "timeline.parquet", schema.TIMELINE, run.run_id, results.timeline)
    old = run.path / f".analysis-old-{unique()}"
    if (run.path / "analysis").exists():
        (run.path / "analysis").rename(old)
    fresh.rename(run.path / "analysis")
    shutil.rmtree(old, ignore_errors=True)


def _views() -> tuple[ModuleType, ModuleType]:
    """The modules that show a report, which are slow to import."""
    from analysis.report import junit, page  # noqa: PLC0415

    return junit, page


def _load_views() -> None:
    """Beside the last query: all that shows a report and is the same for each."""
    _, page = _views()
    page.load()


def publish_texts(run: Run, results: Results, report: dict[str, Any]) -> None:
    """Replace report.html, junit.xml and, last, report.json."""
    junit, page = _views()
    views = [{"time_s": run.seconds(view["time_ns"]), **view} for view in run.views]
    more = page.More(sends=results.sends, lag=results.found.lag, files=run_files(run.path))
    text = page.render(report, results.timeline, views, behind(run), more)
    _replace(run.path / "report.html", text)
    _replace(run.path / "junit.xml", junit.render(report))
    _replace(run.path / "report.json", json.dumps(report, indent=1) + "\n")


# Evidence


def _write_evidence(
    queries: Queries, run_ids: Sequence[str], place: EvidencePlace
) -> dict[str, dict[str, Path]]:
    """run_id -> anomaly -> folder. A run's folder is named by its number: its id may be too long
    for a name, or empty. Both columns name the folders and stay in the rows."""
    if queries.left is not None and place.shared:
        place.keep(_evidence_by_driver(queries, queries.left.facts, run_ids, place.folder))
    elif (rows := queries.evidence()) is not None:
        number = F.array_position(F.array(*map(F.lit, run_ids)), F.col("run_id"))  # from 1 on
        copies = {"of_run": number, "of_anomaly": F.col("anomaly")}
        place.write(rows.withColumns(copies), list(copies))
    folders: dict[str, dict[str, Path]] = {}
    for found in place.folder.glob("of_run=*/of_anomaly=*"):
        of_run, anomaly = (part.split("=", 1)[1] for part in found.parts[-2:])
        folders.setdefault(run_ids[int(of_run) - 1], {})[anomaly] = found
    return folders


def _evidence_by_driver(
    queries: Queries,
    facts: Mapping[str, Mapping[str, Any]],
    run_ids: Sequence[str],
    folder: Path,
) -> Iterator[tuple[int, pa.Table]]:
    """Some evidence of a run at a time, and the run's number. Where much is found, Spark writes it
    into `folder` first: memory stays bounded."""
    found = queries.found()
    if found is None:
        return
    found = found.select(*COLUMNS)
    if queries.is_small:
        told = found.toArrow()
        parts: Iterable[pa.Table] = [told] if told.num_rows else []
    else:
        # Row groups of some hundred thousand rows, not of a million: who reads one holds it.
        small = found.write.option("parquet.block.size", BLOCK)
        small.parquet(str(folder / "found"), compression="lz4")
        parts = _parts(folder / "found")
    for rows in parts:
        for run_id in pc.unique(rows["run_id"]).to_pylist():
            mine = rows.filter(pc.equal(rows["run_id"], run_id))
            yield run_ids.index(run_id) + 1, evidence(mine, facts[run_id])


def _parts(folder: Path) -> Iterator[pa.Table]:
    found = ds.dataset(folder, format="parquet")
    # One batch ahead: by itself Arrow reads sixteen of each of four files, before any is asked for.
    for batch in found.to_batches(batch_size=ROWS, batch_readahead=1, fragment_readahead=1):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
        pa.default_memory_pool().release_unused()  # half a GiB, of ten million operations


def _finding(name: str, folder: Path | None) -> AnomalyFinding:
    """Counts are exact however many rows there are; only the first few rows are read whole."""
    nothing = no_finding(name)
    if folder is None:
        return nothing
    table = ds.dataset(folder, format="parquet")
    keys = table.to_table(columns=["outcome", "cause", "lasted_s", *_ORDER])
    split = _counted(keys["outcome"]) if nothing.split else {}
    order = [(name, "ascending") for name in _ORDER]
    first = pc.sort_indices(keys, sort_keys=order)[:EXAMPLES]  # unknown times come last
    rows = table.take(first).to_pylist()
    return AnomalyFinding(
        count=keys.num_rows,
        split={**nothing.split, **split},
        examples=[{k: v for k, v in row.items() if k != "run_id"} for row in rows],
        by_cause=_counted(keys["cause"]),
        lasted_s=_lasted(keys["lasted_s"].drop_null()),
    )


def _counted(column: pa.ChunkedArray) -> dict[Any, int]:
    counted = pc.value_counts(column.drop_null())
    return {each["values"]: each["counts"] for each in counted.to_pylist()}


def _lasted(lengths_s: pa.ChunkedArray) -> dict[str, float] | None:
    """The median and the longest, exact to a millisecond; None without any."""
    if not len(lengths_s):
        return None
    p50, most = pc.quantile(lengths_s, q=[0.5, 1.0]).to_pylist()
    return {"p50": round(p50, 3), "max": round(most, 3)}


# Small tables


def _by_run(answer: DataFrame) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in answer.collect():
        grouped.setdefault(row["run_id"], []).append(row.asDict())
    return grouped


def _timeline(run: Run, buckets: Mapping[int | None, Row], lost: Mapping[int, int]) -> list[Row]:
    """A row for every bucket of the load: where nothing happened it counts zero."""
    last = (run.load_end_ns - run.load_start_ns) // (run.bucket_ms * 10**6)  # the last, begun
    rows = []
    for bucket in range(last + 1):
        row = buckets.get(bucket, {})
        quantiles = dict(zip(QUANTILES, row.get("latency_ms") or [], strict=False))
        rows.append(
            {
                "t_s": bucket * run.bucket_ms / 1000,
                **{name: row.get(counted, 0) for name, counted in _TIMELINE.items()},
                "lost": lost.get(bucket, 0),
                "ack_p50_ms": quantiles.get("p50"),
                "ack_p99_ms": quantiles.get("p99"),
            }
        )
    return rows


def _buckets_of_lost(run: Run, folder: Path | None) -> dict[int, int]:
    """How many lost records were acked in each bucket."""
    if folder is None:
        return {}
    acked_ns = ds.dataset(folder, format="parquet").to_table(columns=["acked_ns"])["acked_ns"]
    since_ns = pc.subtract(acked_ns, run.load_start_ns)
    return _counted(pc.divide(since_ns, run.bucket_ms * 10**6))


def _write_small(folder: Path, table: Any, run_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir()
    full = [{"run_id": run_id, **row} for row in rows]
    written = pa.Table.from_pylist(full, schema=schema.arrow(table))
    pq.write_table(written, folder / "part-00000.parquet", compression="zstd")


def _replace(file: Path, text: str) -> None:
    partial = file.with_name(f".{file.name}.{unique()}")
    try:
        partial.write_text(text)
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
