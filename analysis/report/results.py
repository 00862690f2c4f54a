"""What a check has of one run, complete: what was found and measured; and how it gets into the
run's folder, each table and text replaced in one step.

    results = results_of(run, evidence, measured, cycles=…, acked_unseen=…)

    analysis/<anomaly>.parquet/   evidence, docs/report.md      analysis/windows.parquet/
    analysis/timeline.parquet/    report.json  report.html  junit.xml

Evidence lies in files, however much there is (analysis.evidence): only its counts and first rows
are read back. Of an imported history nothing is shown that it does not tell
(analysis.report.parts.imported).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from analysis.anomalies import NAMES
from analysis.checks.transactions.cycles import Cycles
from analysis.frames import schema
from analysis.measures.consumer_lag import lag
from analysis.measures.drawn_sends import Point, points
from analysis.measures.latency_and_rates import QUANTILES
from analysis.measures.measured import Measured
from analysis.measures.replication import behind
from analysis.measures.work_done import Work
from analysis.report.found import COUNTED, EXAMPLES, PAST, AnomalyFinding, Found, no_finding
from analysis.report.parts import imported
from analysis.report.parts.run_files import run_files
from analysis.stored.stored_run import Run
from analysis.stories.tell import tell
from harness.model.runs.report import Report

Row = dict[str, Any]
_ORDER = ("time_ns", "value", "partition", "offset")  # of examples, however they were written
# The timeline's columns by the counts that they show.
_TIMELINE = {"acks": "acked", "fails": "failed", "infos": "indeterminate", "reads": "deliveries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One run's results, and where its evidence lies."""

    found: Found
    timeline: Sequence[Row]
    evidence: Mapping[str, Path]  # by anomaly
    sends: Sequence[Point] = ()


def results_of(
    run: Run,
    evidence: Mapping[str, Path],
    measured: Measured,
    *,
    cycles: Cycles | None,
    acked_unseen: int,
) -> Results:
    """Of one run; `cycles` and `acked_unseen`: see analysis.report.build.Found."""
    by_bucket = {row["bucket"]: dict(row) for row in measured.counts}
    whole: Row = {**measured.landings, **measured.redeliveries, **by_bucket.pop(None, {})}
    lost = _buckets_of_lost(run, evidence.get("lost"))
    findings = {name: _finding(name, evidence.get(name)) for name in NAMES}
    found = Found(
        counts={name: whole.get(name) or 0 for name in (*COUNTED, *PAST)},
        ack_ms=whole.get("latency_ms"),
        delivery_ms=measured.landings.get("latency_ms"),
        through_ms=dict(zip(QUANTILES, measured.landings.get("through_ms") or (), strict=False)),
        findings=findings,
        acked_unseen=acked_unseen,
        stories=tell(run, evidence, {name: each.examples for name, each in findings.items()}),
        acks=measured.acks,
        errors=measured.errors,
        after_faults=measured.after_faults,
        windows=sorted(measured.windows, key=lambda w: (w["start_ns"], w["partition"], w["kind"])),
        work=Work(rows=measured.work),
        lag=lag(run, measured.positions),
        cycles=cycles,
    )
    timeline, sends = _timeline(run, by_bucket, lost), points(run, measured.sends)
    if not run.untold:
        return Results(found=found, timeline=timeline, evidence=evidence, sends=sends)
    return Results(
        found=imported.shown_findings(run, found),
        timeline=imported.shown_timeline(run, timeline),
        evidence=evidence,
        sends=imported.shown_sends(run, sends),
    )


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


# Into its folder


def unique() -> str:
    """A name part that no other check of the same run uses at the same time."""
    return str(os.getpid())


def unfinished(run: Run) -> Path:
    """Where the tables are until all of them are written."""
    return run.path / f".analysis-{unique()}"


@cache
def _no_evidence() -> bytes:
    """A file without rows, for each anomaly that was not found: made once, since there are dozens
    a run."""
    made = pa.BufferOutputStream()
    pq.write_table(schema.arrow(schema.EVIDENCE).empty_table(), made)
    return bytes(made.getvalue())


def publish_tables(run: Run, results: Results, report: Report) -> None:
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
            (folder / "part-00000.parquet").write_bytes(_no_evidence())
    windows = [window.written() for window in report.windows]
    _write_small(fresh / "windows.parquet", schema.WINDOWS, run.run_id, windows)
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


def load_views() -> None:
    """Make ready all that shows a report and is the same for each, beside what takes longer."""
    _, page = _views()
    page.load()


def publish_texts(run: Run, results: Results, report: Report) -> None:
    """Replace report.html, junit.xml and, last, report.json."""
    junit, page = _views()
    views = [{"time_s": run.seconds(view["time_ns"]), **view} for view in run.views]
    more = page.More(sends=results.sends, lag=results.found.lag, files=run_files(run.path))
    text = page.render(report, results.timeline, views, behind(run), more)
    _replace(run.path / "report.html", text)
    _replace(run.path / "junit.xml", junit.render(report))
    _replace(run.path / "report.json", report.text())


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
