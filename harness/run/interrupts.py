"""How a run or a cluster in the foreground is stopped: TERM and INT become an exception.

Python raises it wherever its main thread is. In a destructor or the callback of a weak reference
it is printed and forgotten, and nobody stops: `send_again_what_is_lost` sends such a signal anew.
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
    """Raise Stopped at the first TERM or INT, and pass over what comes after it: once is enough,
    what follows is cleaning up. Pid 1 of a pid namespace ignores what it does not handle."""

    def stop(number: int, _: FrameType | None) -> None:
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    def listen() -> None:
        for each in STOPPING:
            signal.signal(each, stop)

    listen()
    send_again_what_is_lost(Stopped, lambda stopped: stopped.number, listen)


def heed() -> None:
    """From now on INT is raised, too: the command outside has it blocked for whom it starts."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def send_again_what_is_lost(
    kind: type[BaseException], number_of: Callable[[Any], int], listen: Callable[[], None]
) -> None:
    """Where an exception of this kind is raised and nobody can catch it, `listen`, and send this
    process its signal once more, a moment later."""
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
