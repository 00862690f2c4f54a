"""Waits of the conductor: their limits, and how the end of the run interrupts them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from harness.cluster.nodes import NotInTime
from harness.cluster.view.state import BLIND
from harness.waiting import WaitTimeout, wait_until

FOR_EVER_S = 1e9
ASK_EVERY_S = 0.01
NOT_NOW = (*BLIND, NotInTime)  # no node answered, or did what it was asked to


class Interrupted(RuntimeError):
    """The run is ending; faults in force are healed, no new one begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The longest waits; a verb's patience multiplies those for its proofs."""

    proof_s: float = 60.0  # until the fault is proved to be in force
    heal_s: float = 120.0  # until it is proved to be healed, and then until every ISR is full
    target_s: float = 60.0  # until somebody plays the target's role and is free
    until_s: float = 120.0  # until what the step awaits before it is healed
    trigger_s: float = 120.0  # until what the step awaits before its time begins to count


class Waits:
    """Waits that end with Interrupted when the run is ending."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let every wait end now, and every later one at once."""
        self._stopped.set()

    def check(self, what: str) -> None:
        """Raise Interrupted when the run is ending."""
        if self._stopped.is_set():
            raise Interrupted(f"stopped while waiting for {what}")

    def wait(
        self, condition: Callable[[], str | bool | None], limit_s: float | None, what: str
    ) -> str:
        """The condition's answer, once it has one. Raises WaitTimeout, Interrupted."""

        def ask() -> str | bool | None:
            self.check(what)
            return condition()

        limit = FOR_EVER_S if limit_s is None else limit_s
        return str(wait_until(ask, timeout_s=limit, what=what, every_s=ASK_EVERY_S))

    def prove(self, proof: Callable[[], str | None], limit_s: float, what: str) -> str:
        """A verb's proof, once there is one. Raises WaitTimeout, with the last error."""
        last: Exception | None = None

        def ask() -> str | None:
            nonlocal last
            try:
                return proof()
            except NOT_NOW as problem:
                last = problem
                return None

        try:
            return self.wait(ask, limit_s, what)
        except WaitTimeout as error:
            if last is None:
                raise
            raise WaitTimeout(f"{error}: {last or type(last).__name__}") from None
