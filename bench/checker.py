"""What a check costs: `python -m bench.checker [OPERATIONS …] [--starts]`.

Makes sealed histories of the shape that `stream` leaves (half sends, a quarter tailing reads, a
quarter final reads, five seconds of outage in every twenty, a few anomalies) and prints, for each
size, wall and CPU seconds of a whole check in a fresh process, JVM included, and its peak memory.
`--starts` compares ways to start Spark side by side, interleaved: Spark as it comes, our settings
and a JVM started directly, and the same with the class archive.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import tables
from tests.support import histories, told_runs

STARTS = ("stock", "direct", "archive")


def make(folder: Path, operations: int, run_id: str = "bench/1") -> Path:
    """A run with about `operations` operations: 1,000 sends a second, 5 s of outage in every 20."""
    sends = operations * 2 // 4
    told = histories.story(histories.client_error(), acks="1", phases=[])
    told_runs.write(told, folder, run_id)
    number = np.arange(sends, dtype=np.int64)
    due = histories.LOAD_START_NS + number * 1_000_000
    outage = (number % 20_000) >= 15_000
    until = histories.LOAD_START_NS + (number // 20_000 + 1) * 20_000 * 1_000_000
    rng = np.random.default_rng(7)
    end = np.where(outage, until, due) + rng.integers(800_000, 9_000_000, sends)
    value = number
    lost = (number % 5_000) == 4_999
    kept = ~lost
    offset = np.cumsum(kept) - 1
    base = {"run_id": run_id, "partition": 0, "type": "ok", "instance": 0, "epoch": 0}
    _write(
        folder,
        "producer-0",
        sends,
        base,
        f="send",
        value=value,
        offset=offset,
        intended_ns=due,
        start_ns=due + 20_000,
        end_ns=end,
    )
    read, places = value[kept], offset[kept]
    when = np.maximum.accumulate(end[kept]) + 500_000  # one after the other
    half = slice(0, len(read) // 2)  # the consumer starts late: half of the records
    given = when[half]
    _write(
        folder,
        "consumer-0",
        len(given),
        base,
        f="read",
        value=read[half],
        offset=places[half],
        intended_ns=given,
        start_ns=given,
        end_ns=given,
    )
    later = np.full(len(read), end.max() + 10**10)
    _write(
        folder,
        "final-read-0",
        len(read),
        base,
        f="final-read",
        value=read,
        offset=places,
        intended_ns=later,
        start_ns=later,
        end_ns=later,
    )
    _write_ends(folder, run_id, len(read))
    return folder


def _write_ends(folder: Path, run_id: str, end: int) -> None:
    """The final read got to the end of the one partition."""
    ends = {
        "event": "ends",
        "run_id": run_id,
        "process": "final-read-0",
        "time_ns": 1,
        "partition": 0,
        "log_start": 0,
        "committed_end": end,
        "uncommitted_end": end,
        "position": end,
        "complete": True,
    }
    rows = [{name: ends.get(name) for name, _ in tables.EVENT_COLUMNS}]
    schema = tables.schema(tables.EVENT_COLUMNS)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "history/events.parquet")


def _write(
    folder: Path, process: str, count: int, base: dict[str, object], **columns: object
) -> None:
    schema = tables.schema(tables.OPERATION_COLUMNS)
    unsaid = dict.fromkeys(schema.names)
    given = {**unsaid, **base, "process": process, "id": np.arange(count), **columns}
    arrays = [
        pa.array(given[f.name], type=f.type)
        if isinstance(given[f.name], np.ndarray)
        else pa.array([given[f.name]] * count, type=f.type)
        for f in schema
    ]
    file = folder / "history/operations" / f"{process}.parquet"
    table = pa.table(arrays, schema=schema)
    pq.write_table(table, file, compression="zstd", row_group_size=100_000)


CHECK = """
import sys, time
begin = time.monotonic()
from pathlib import Path
from analysis.spark import session as spark
if sys.argv[2] == "stock":
    spark._start = lambda command: None
    spark._sizes = lambda operations: {}
    spark._SETTINGS.clear()
if sys.argv[2] == "direct":
    spark.archive_path = lambda: Path("/nonexistent")
from analysis.job import check
reports = check([Path(sys.argv[1])])
print(time.monotonic() - begin, reports[0]["verdict"], reports[0]["anomalies"]["lost"]["count"])
"""


def measure(folder: Path, start: str = "archive") -> dict[str, float]:
    """One check in a fresh process: wall_s, cpu_s (its JVM's too), peak_mb (the larger)."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", CHECK, str(folder), start],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # Spark as it comes is talkative
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, "the check failed"
    return {
        "wall_s": round(time.monotonic() - begin, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    """Print one JSON line for each check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("operations", nargs="*", type=int, default=[20_000])
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for operations in options.operations:
            folder = make(Path(temporary) / str(operations), operations)
            for _ in range(options.repeat):
                for start in STARTS if options.starts else ("archive",):
                    told = {"operations": operations, "start": start}
                    print(json.dumps({**told, **measure(folder, start)}), flush=True)


if __name__ == "__main__":
    main()
