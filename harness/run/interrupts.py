"""Stops a run, or a cluster in the foreground: TERM and INT become an exception.

Python raises it wherever its main thread is. In a destructor or the callback of a weak reference
Python prints and forgets it, and nothing stops: `resend_lost_signals` sends such a signal again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.02


class Stopped(BaseException):
    """TERM or INT came; raised in the main thread, wherever it is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_on_signals() -> None:
    """Raise Stopped at the first TERM or INT, and ignore later ones: clean-up follows. Pid 1 of a
    pid namespace ignores what it does not handle."""

    def stop(number: int, _: FrameType | None) -> None:
        for stopping in STOPPING:
            signal.signal(stopping, signal.SIG_IGN)
        raise Stopped(number)

    def listen() -> None:
        for number in STOPPING:
            signal.signal(number, stop)

    listen()
    resend_lost_signals(Stopped, lambda stopped: stopped.number, listen)


def unblock_signals() -> None:
    """Let INT in from now on: the command outside starts its children with INT blocked."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def resend_lost_signals(
    kind: type[BaseException], number_of: Callable[[Any], int], listen: Callable[[], None]
) -> None:
    """Where an exception of this kind is raised and nobody can catch it, `listen`, and send this
    process the signal again a moment later."""
    others = sys.unraisablehook

    def look(lost: Any) -> None:
        if not isinstance(lost.exc_value, kind):
            others(lost)
            return
        listen()
        number = number_of(lost.exc_value)
        again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    sys.unraisablehook = look
