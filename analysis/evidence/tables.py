"""Evidence as files: a folder for each run and anomaly, however much there is.

    folders = written(found, facts, folder)    {"study-1/…": {"lost": Path, …}, …}

Each is one Parquet file, schema.EVIDENCE, written as rows come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.evidence.evidence import evidence
from analysis.stored.fact_rows import RunRow

Folders = Mapping[str, Mapping[str, Path]]  # run_id -> anomaly -> folder


def written(found: Iterable[pa.Table], facts: Mapping[str, RunRow], folder: Path) -> Folders:
    """The evidence of found rows (analysis.evidence.found_rows), below `folder`. `facts`: rows of
    schema.RUNS by run_id. A run's folder is named by its number: its id may be too long for a name,
    or empty."""
    numbers = {run_id: number for number, run_id in enumerate(facts)}
    folders: dict[str, dict[str, Path]] = {run_id: {} for run_id in facts}
    with ExitStack() as stack:
        writers: dict[Path, pq.ParquetWriter] = {}
        for rows in found:
            for run_id, anomaly, some in _parts(rows, facts):
                part = folder / str(numbers[run_id]) / anomaly
                if part not in writers:
                    part.mkdir(parents=True)
                    writer = pq.ParquetWriter(
                        part / "part-0.parquet", some.schema, compression="zstd"
                    )
                    writers[part] = stack.enter_context(writer)
                    folders[run_id][anomaly] = part
                writers[part].write_table(some)
    return folders


def _parts(rows: pa.Table, facts: Mapping[str, RunRow]) -> Iterable[tuple[str, str, pa.Table]]:
    """The evidence of each run and anomaly among some found rows."""
    for run_id in pc.unique(rows["run_id"]).to_pylist():
        of_run = evidence(rows.filter(pc.equal(rows["run_id"], run_id)), facts[run_id])
        for anomaly in pc.unique(of_run["anomaly"]).to_pylist():
            yield run_id, anomaly, of_run.filter(pc.equal(of_run["anomaly"], anomaly))
