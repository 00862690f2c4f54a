"""`make bench`: what recording costs the measured client, what outputs of programs cost, what
evidence costs a run, what checking costs.

The recorder is measured twice: beside real brokers, and beside librdkafka's mock cluster, where
nothing but the client costs anything.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RECORDER = [sys.executable, "-m", "bench.recorder"]
HARNESS = str(Path(sys.executable).with_name("kafka-harness"))


def main() -> int:
    """One command after the other; returns the first exit code that is not 0."""
    codes = []
    for argv in (
        [HARNESS, "up", "baseline", "--", *RECORDER],
        [HARNESS, "up", "baseline", "--", sys.executable, "-m", "bench.outputs"],
        RECORDER,
        [sys.executable, "-m", "bench.evidence"],
        [sys.executable, "-m", "bench.checker.small"],
    ):
        print(f"== {' '.join(Path(word).name for word in argv)}", flush=True)
        codes.append(subprocess.run(argv, check=False).returncode)
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
