"""Asks nodes, each on a connection and a thread of its own, so that one that hangs delays no other.

A look asks all of them at once and waits until each is settled: it has answered since, it failed,
or its answer is overdue by SILENT_S already. So a node that hangs is waited for once, not in every
look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from harness.cluster.nodes import Node
from harness.cluster.view.connection import Link, Unanswered

SILENT_S = 0.5  # a node that has not answered for so long is not waited for
T = TypeVar("T")


class Asker(threading.Thread, Generic[T]):
    """Asks one node when a look wants to know; the condition `heard` guards its answer."""

    def __init__(
        self,
        node: Node,
        link: Link,
        question: Callable[[Link], T | None],
        heard: threading.Condition,
    ) -> None:
        super().__init__(name=f"asks-{node.name}", daemon=True)
        self.id = node.id
        self.answer: T | None = None
        self.asked_s = 0.0  # when it was asked for its answer
        self.problem: Unanswered | None = None
        self._link, self._question, self._heard = link, question, heard
        self._wanted_s = 0.0
        self._silent_s: float | None = None  # since when it owes an answer
        self._closed = False

    def want(self, since_s: float) -> None:
        """Let it be asked not before `since_s`; `heard` is held."""
        self._wanted_s = since_s

    def settled(self, since_s: float) -> bool:
        """Whether it was heard, or failed, since then, or keeps silent; `heard` is held."""
        silent = self._silent_s is not None and time.monotonic() - self._silent_s > SILENT_S
        return silent or self.asked_s >= since_s

    def end(self) -> None:
        """Ask no more."""
        with self._heard:
            self._closed = True
            self._heard.notify_all()

    def run(self) -> None:
        """Until `end`; a question that is under way then is cut short by its own limit."""
        while True:
            with self._heard:
                self._heard.wait_for(lambda: self._closed or self._wanted_s > self.asked_s)
                if self._closed:
                    break
                begun_s = time.monotonic()
                self._silent_s = self._silent_s or begun_s
            answer, problem = self._ask()
            with self._heard:
                self.answer, self.problem, self.asked_s = answer, problem, begun_s
                if answer is not None or time.monotonic() - begun_s < SILENT_S:
                    self._silent_s = None
                self._heard.notify_all()
        self._link.close()

    def _ask(self) -> tuple[T | None, Unanswered | None]:
        try:
            return self._question(self._link), None
        except Unanswered as problem:
            return None, problem
