"""What a small check takes: `python -m bench.small_check [--operations N] [--rounds N]`.

Three ways, each in a process of its own, one after the other in every round:

    after a run   from the end of a run's collecting to the verdict: Spark was started when the load
                  ended, LEAD_S before; a run that heals longer has tried it on a made-up run, too
    stored run    `kafka-harness check`: from nothing to the verdict
    bare Spark    an ordinary Spark session that counts the same operations, from nothing

Prints the median of each in seconds, and by how much the bare session takes longer.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.checker import make

LEAD_S = 0.7  # of the study's runs: ISRs are full when the load ends, and the log is short
AFTER_A_RUN = """
import sys, time
from pathlib import Path
from analysis.ahead import Ahead
from analysis.job import check
with Ahead(scratch=Path(sys.argv[1])) as ahead:
    ahead.start()
    time.sleep(float(sys.argv[2]))
    begin = time.monotonic()
    report = check([Path(sys.argv[1])], started=ahead.spark(20_000))[0]
    print(time.monotonic() - begin)
assert report["anomalies"]["lost"]["count"], "the history is meant to have losses"
"""
STORED = """
import sys, time
begin = time.monotonic()
from pathlib import Path
from analysis.job import check
check([Path(sys.argv[1])])
print(time.monotonic() - begin)
"""
BARE = """
import sys, time
begin = time.monotonic()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.read.parquet(sys.argv[1] + "/history/operations").groupBy("f", "type").count().collect()
print(time.monotonic() - begin)
"""
WAYS = {"after a run": AFTER_A_RUN, "stored run": STORED, "bare Spark": BARE}


def took_s(program: str, folder: Path) -> float:
    """What one of the programs says it took."""
    argv = [sys.executable, "-c", program, str(folder), str(LEAD_S)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Print a line a way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = make(Path(temporary) / "run", asked.operations)
        rounds = [
            {way: took_s(program, folder) for way, program in WAYS.items()}
            for _ in range(asked.rounds)
        ]
    medians = {way: statistics.median(each[way] for each in rounds) for way in WAYS}
    for way, median_s in medians.items():
        ratio = medians["bare Spark"] / median_s
        print(f"{way:12} {median_s:6.1f} s   bare Spark takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
