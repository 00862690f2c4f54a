"""A program from start to end: `python -m bench.checker.whole PROGRAM…` prints wall_s and cpu_s.

Spark as it comes leaves its JVM to end by itself: processes that outlive their parent become
children of this one (PR_SET_CHILD_SUBREAPER), which waits for them, so that their CPU time counts.
The wall time is that of the program alone. Its exit code may be any of a check's verdicts.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
VERDICTS = (0, 1, 2)


def main() -> None:
    """Run it, wait for all that it leaves, and print one line."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as words:  # Spark as it comes is talkative
        done = subprocess.run(
            sys.argv[1:],
            stdout=subprocess.DEVNULL,
            stderr=words,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        wall_s = time.monotonic() - began
        if done.returncode not in VERDICTS:
            words.seek(0)
            sys.stderr.write(words.read())
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"wall_s": wall_s, "cpu_s": used.ru_utime + used.ru_stime}))
    sys.exit(0 if done.returncode in VERDICTS else done.returncode)


if __name__ == "__main__":
    main()
