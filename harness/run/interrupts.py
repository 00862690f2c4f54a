"""How a run or a cluster in the foreground is stopped: TERM and INT become an exception."""

from __future__ import annotations

import signal
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


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

    for each in STOPPING:
        signal.signal(each, stop)
