"""What a question costs over 100 stored runs, and over 1,000 different ones.

    python -m bench.ask                     docs/sample/study-1, copied with different ids
    python -m bench.ask RUN --folder DIR    another run; the copies stay in DIR

Each question is asked by a process of its own, from start to end, as `kafka-harness sql` is: over
1,000 runs it may take at most `MOST` times as long as over 100. Exit code 1 where it takes more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.checkout import DOCS

FEW, MANY, MOST = 100, 1000, 3.0
SAMPLE = DOCS / "sample" / "study-1"
QUESTIONS = (
    "select count(*), count(distinct run_id) from anomalies",
    "select run_id, count(*) from faults group by run_id order by 2 desc limit 3",
    "select type, count(*), count(distinct run_id) from sends group by type",
    "select floor(start_s), percentile_approx(took_ms, 0.99) from sends group by 1 limit 9",
    "select verdict, count(*) from runs group by verdict",
)


def copy_run(source: Path, to: Path, run_id: str) -> Path:
    """A copy of a checked run that is another run: each of its tables, digests and records says
    so."""
    to.mkdir(parents=True)
    for name in ("run.json", "report.json"):
        if (source / name).exists():
            record = json.loads((source / name).read_text())
            (to / name).write_text(json.dumps({**record, "run_id": run_id}))
    for file in source.rglob("*.parquet"):
        if file.is_file():
            _copy_table(file, to / file.relative_to(source), run_id)
    seal = json.loads((source / "history" / "sealed.json").read_text())
    for name, table in seal["tables"].items():
        data = (to / "history" / name).read_bytes()
        table["sha256"] = hashlib.sha256(data).hexdigest()
    (to / "history" / "sealed.json").write_text(json.dumps({**seal, "run_id": run_id}))
    return to


def _copy_table(file: Path, to: Path, run_id: str) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    table = pq.read_table(file)
    if not table.num_rows:
        shutil.copyfile(file, to)
        return
    at, kind = table.schema.get_field_index("run_id"), table.schema.field("run_id").type
    renamed = pa.array([run_id] * table.num_rows, pa.string()).cast(kind)
    pq.write_table(table.set_column(at, "run_id", renamed), to, compression="zstd")


def _asked(question: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the command."""
    begun, before = time.monotonic(), _cpu_s()
    command = [sys.executable, "-m", "harness.cli", "sql", str(folder), question]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun, _cpu_s() - before


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compared(run: Path, folder: Path) -> dict[str, tuple[float, float]]:
    """Of each question, by how many times its wall and CPU time grow; each is printed. The copies
    are below `folder`, and are made where they are not there."""
    few, many = folder / "few", folder / "many"
    for number in range(MANY if not many.exists() else 0):
        copy = copy_run(run, many / f"{number:04d}", f"copies/{number:04d}")
        if number < FEW:
            shutil.copytree(copy, few / copy.name, copy_function=os.link)
    grown = {}
    for question in QUESTIONS:
        (wall, cpu), (more_wall, more_cpu) = _asked(question, few), _asked(question, many)
        grown[question] = more_wall / wall, more_cpu / cpu
        print(
            f"    {more_wall / wall:5.2f}x wall ({wall:.1f} -> {more_wall:.1f} s), "
            f"{more_cpu / cpu:5.2f}x CPU ({cpu:.1f} -> {more_cpu:.1f} s)  {question}",
            flush=True,
        )
    return grown


def main() -> int:
    """Print both times of each question; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--folder", type=Path, help="keeps the copies, and uses those it has")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="bench-ask-"))
    try:
        grown = compared(options.run, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if any(wall > MOST for wall, _ in grown.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
