"""What keeping the brokers' evidence costs a run: `python -m bench.evidence [--pairs N]`.

A scenario is run with `check.evidence` and without, in turns, and timed from the end of its load to
its end. What the run itself says that it took, copying and decoding, stands behind it: on a busy
host the difference of two runs is mostly chance. Two loads: few records at a time, and many.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.model.runs.run_folder import find_run

HARNESS = [sys.executable, "-m", "harness.cli", "run"]
FAULT = '{ verb = "kill", target = "leader", at_s = 4.0, until = "leader-moved" }'
LOADS = {
    "100 sends/s, one kill": {"workload.rate": 100},
    "5,000 sends/s, one kill": {"workload.rate": 5000},
}
LIMIT_S = 600


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3, help="runs of each kind at each load")
    asked = parser.parse_args()
    print(f"{'load':<26} {'without':>9} {'with':>9} {'cost':>9}   kept")
    for name, settings in LOADS.items():
        without, with_evidence, kept = [], [], ""
        for _ in range(asked.pairs):
            without.append(measured({**settings, "check.evidence": "false"})[0])
            took_s, kept = measured({**settings, "check.evidence": "true"})
            with_evidence.append(took_s)
        before, after = statistics.median(without), statistics.median(with_evidence)
        print(f"{name:<26} {before:>7.2f} s {after:>7.2f} s {after - before:>7.2f} s   {kept}")


def measured(settings: dict[str, Any]) -> tuple[float, str]:
    """One run: seconds from the end of its load to its end, and what it says of its evidence."""
    fixed = {"workload.kind": "stream", "workload.duration_s": 12, "faults": f"[{FAULT}]"}
    words = [f"{key}={value}" for key, value in {**fixed, **settings}.items()]
    with tempfile.TemporaryDirectory() as folder:
        argv = [*HARNESS, "baseline", "--no-check", "--results", folder]
        for word in words:
            argv += ["--set", word]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        phases = find_run("baseline", Path(folder)).read().phases
    ends = {phase.name: phase.end_ns for phase in phases}
    said = [line for line in done.stdout.splitlines() if "evidence: " in line]
    return (ends["collect"] - ends["load"]) / 1e9, said[-1].split("evidence: ")[1] if said else ""


if __name__ == "__main__":
    main()
