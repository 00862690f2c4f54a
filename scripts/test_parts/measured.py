"""Runs a command and measures it with all that descends from it, whoever its parents are.

    python -m scripts.test_parts.measured FILE COMMAND...

FILE gets one JSON object: `wall_s`; `cpu_s`, user and system, of every process below;
`starved_percent`, the share of the time in which something on this host waited for a CPU, None
where the kernel does not tell; `left`, the command lines of processes that the command left behind
and that did not end within ten seconds: they are killed. The exit code is the command's, 1 if
something was left.

As their subreaper it inherits orphans and reaps them, so that what they used is counted
(prctl(2), PR_SET_CHILD_SUBREAPER; getrusage(2), RUSAGE_CHILDREN).
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from harness.host import machine
from harness.waiting import WaitTimeout, wait_until

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LEFT_S = 10


def main(argv: list[str]) -> int:
    """Run the command. At SIGTERM, or if the caller dies, it is told to end as Ctrl-C does."""
    file, command = Path(argv[0]), argv[1:]
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(
        signal.SIGINT, lambda *_: None
    )  # a handler is not inherited, as ignoring would be
    before, begun_s = machine.cpu_counters(), time.monotonic()
    with subprocess.Popen(command) as process:
        signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
        code = _reap_until_ended(process)
    left = _left_behind()
    wall_s = time.monotonic() - begun_s
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    starved = machine.starvation(before, machine.cpu_counters(), wall_s)["pressure_some_percent"]
    found = {
        "wall_s": round(wall_s, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "starved_percent": starved if before["pressure_us"] else None,
        "left": left,
    }
    file.write_text(json.dumps(found))
    return code or int(bool(left))


def _reap_until_ended(process: subprocess.Popen[bytes]) -> int:
    """The command's exit code as a shell tells it; orphans that end meanwhile are reaped too."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == process.pid:
            code = os.waitstatus_to_exitcode(status)
            process.returncode = code if code >= 0 else 128 - code
            return process.returncode


def _left_behind() -> list[str]:
    """What still runs below this process some seconds later, killed."""
    with suppress(WaitTimeout):
        wait_until(_nothing_runs, timeout_s=LEFT_S, what="the end of what the command started")
    left = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            left.append(" ".join(each.cmdline()) or each.name())
            each.kill()
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return left


def _nothing_runs() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
