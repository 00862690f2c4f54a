"""The one way to wait: a condition, a deadline and a sentence that says what was awaited; and the
one thread that does something again and again meanwhile (`Every`).

`time.sleep` is called nowhere else in the harness; a test holds the code to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import tenacity

T = TypeVar("T")


class WaitTimeout(TimeoutError):
    """The condition did not come true in time; the message says which one, and the last answer."""


def wait_until(
    condition: Callable[[], T],
    *,
    timeout_s: float,
    what: str,
    every_s: float = 0.05,
    ignoring: tuple[type[Exception], ...] = (),
) -> T:
    """Ask `condition` every `every_s` seconds until its answer is truthy, and return that answer.

    Exceptions of the types in `ignoring` count as "not yet"; any other one is raised at once.
    Raises WaitTimeout, naming `what` and the last reason, when `timeout_s` seconds are over.
    """
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(every_s),
        retry=tenacity.retry_if_exception_type(ignoring) | tenacity.retry_if_result(_not_yet),
        sleep=time.sleep,
    )
    try:
        return retrying(condition)
    except tenacity.RetryError as error:
        last = error.last_attempt
        reason = f" (last: {last.exception()})" if last.failed else ""
        raise WaitTimeout(f"waited {timeout_s:g} s for {what}{reason}") from None


def pause(seconds: float) -> None:
    """Let time pass on purpose: the length of a fault, never a guess at when something is done."""
    if seconds > 0:
        time.sleep(seconds)


def _not_yet(answer: object) -> bool:
    return not answer


class Every:
    """Calls `do` every `seconds` in a thread of its own, from `start` to `close`."""

    def __init__(self, seconds: float, do: Callable[[], None], *, name: str) -> None:
        self._seconds, self._do = seconds, do
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first call comes after `seconds`."""
        self._thread.start()

    def close(self, within_s: float = 5.0) -> None:
        """No more calls; returns when the last one has ended, or `within_s` has passed.

        Safe to call twice, and before `start`.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=within_s)

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self._do()


class Deadline:
    """A time limit that several waits share: each takes what is left of it."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s

    def within(self, seconds: float | None = None) -> float:
        """`seconds`, or less when less is left; all that is left for None."""
        left = max(0.0, self._end_s - time.monotonic())
        return left if seconds is None else min(seconds, left)
