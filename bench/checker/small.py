"""What a small check costs, in whole processes: `python -m bench.checker.small [--rounds N]`.

A recorded run with losses (`docs/sample/study-1`: 40,000 operations, three lost), and a made-up one
of 20,000 with two of each anomaly, each in three ways that take turns:

    check        `kafka-harness check`: from nothing to the verdict, report included
    stock        an ordinary Spark session that counts the same file, from nothing
    after a run  Spark was started when the load ended, LEAD_S before the check was asked for

and, with `--starts`, the check with Spark as it comes, with our settings and a JVM started
directly, and with the class archive too. Each is told by its median.

`campaign` lets one session check ten recorded runs: the first is told with the session's start.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.checker.histories import write
from bench.checker.measure import Cost, Worker, whole
from harness.checkout import ROOT

OPERATIONS, SHAPE, RUNS = 20_000, "planted", 10
RECORDED = ROOT / "docs/sample/study-1"
LEAD_S = 0.7  # of the study's runs: ISRs are full when the load ends, and the log is short
AFTER_A_RUN = f"""
import sys, time
from pathlib import Path
from analysis.spark.ahead import Ahead
from analysis.job.job import check
from analysis.job.train_archive import rehearse
with Ahead(scratch=Path(sys.argv[1]), rehearsal=lambda: rehearse) as ahead:
    ahead.start()
    time.sleep({LEAD_S})
    check([Path(sys.argv[1])], ahead=ahead)
"""
STOCK = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.read.parquet(sys.argv[1] + "/history/operations").count()
"""
START = """
import sys
from pathlib import Path
from analysis.spark import jvm, session as spark
def not_so(*_):
    raise OSError
if sys.argv[2] == "as it comes":
    jvm._start = not_so
    spark._sizes = lambda operations: {}
    spark._SETTINGS.clear()
if sys.argv[2] == "direct":
    jvm.archive_path = lambda: Path("/nonexistent")
from analysis.job.job import check
check([Path(sys.argv[1])])
"""
STARTS = ("as it comes", "direct", "archive")
HARNESS = str(Path(sys.executable).with_name("kafka-harness"))


def ways(folder: Path, *, starts: bool = False) -> dict[str, list[str]]:
    """The programs to compare."""
    python, run = sys.executable, str(folder)
    more = {f"start {name}": [python, "-c", START, run, name] for name in STARTS if starts}
    return {
        "check": [HARNESS, "check", run],
        "stock": [python, "-c", STOCK, run],
        "after a run": [python, "-c", AFTER_A_RUN, run],
        **more,
    }


def compared(programs: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """The median of each, where they take turns."""
    costs: dict[str, list[Cost]] = {way: [] for way in programs}
    for _ in range(rounds):
        for way, argv in programs.items():
            costs[way].append(whole(argv))
    return {
        way: Cost(
            cpu_s=statistics.median(each.cpu_s for each in told),
            wall_s=statistics.median(each.wall_s for each in told),
            pss_bytes=0,
        )
        for way, told in costs.items()
    }


def beside_stock(folder: Path, rounds: int) -> dict[str, float]:
    """The numbers that the bars ask for, and those of a run with all anomalies."""
    found: dict[str, float] = {}
    runs = {"": _recorded(folder / "small"), " planted": _planted(folder / "planted")}
    for of, run in runs.items():
        programs = ways(run)
        told = compared({way: programs[way] for way in ("check", "stock")}, rounds)
        found |= {
            f"{name}{of} {what}": getattr(told[way], f"{what}_s")
            for name, way in (("small", "check"), ("stock", "stock"))
            for what in ("wall", "cpu")
        }
    return found


def campaign(folder: Path) -> dict[str, float]:
    """What the first of ten checks in one session cost, its start included, and the tenth."""
    runs = [_recorded(folder / f"campaign-{n}") for n in range(RUNS)]
    with Worker("ours", str(OPERATIONS)) as ours:
        costs = [ours.do("check", folder=str(run)) for run in runs]
        return {
            "first cpu": costs[0].cpu_s + ours.start.cpu_s,
            "tenth cpu": costs[-1].cpu_s,
            "first wall": costs[0].wall_s + ours.start.wall_s,
            "tenth wall": costs[-1].wall_s,
        }


def _recorded(folder: Path) -> Path:
    shutil.copytree(RECORDED, folder)
    return folder


def _planted(folder: Path) -> Path:
    return write(folder, OPERATIONS, SHAPE).folder


def main() -> None:
    """Print one line per way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", action="store_true", help="ways to start Spark, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        folder = Path(temporary)
        for what, run in (
            ("recorded", _recorded(folder / "run")),
            ("planted", _planted(folder / "made")),
        ):
            told = compared(ways(run, starts=asked.starts), asked.rounds)
            for way, cost in told.items():
                print(f"{what:10} {way:18} {cost.wall_s:6.1f} s   {cost.cpu_s:6.1f} CPU s")


if __name__ == "__main__":
    main()
