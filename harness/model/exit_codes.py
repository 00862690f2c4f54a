"""Exit codes of commands, and which of several wins.

    0    valid                       254  bad arguments or scenario
    1    invalid                     255  the harness or the cluster could not do its job
    2    unknown                     130, 143  interrupted by INT, by TERM

255 also follows an unexpected error (harness.host.unforeseen), and a `heal` that first needs a
permission.

Several runs exit with the worst code: an interruption before 1 before 255 before 2 before 0.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable

VALID, INVALID, UNKNOWN, BAD_ARGUMENTS, FAILED = 0, 1, 2, 254, 255
SEVERITY = (VALID, UNKNOWN, FAILED, INVALID)  # the last one is the worst


def interrupted(number: int) -> int:
    """The code of a command that this signal ended."""
    return 128 + number


INTERRUPTED = (interrupted(signal.SIGINT), interrupted(signal.SIGTERM))


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs."""
    given = list(codes)
    stopped = [code for code in given if code in INTERRUPTED]
    return stopped[0] if stopped else max(given, key=SEVERITY.index, default=UNKNOWN)
