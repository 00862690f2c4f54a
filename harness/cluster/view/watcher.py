"""The watcher: every change of the view, and every stretch of blindness, goes into the history.

A change lies between two looks: `since_ns` of its line is when the last look began that showed the
older state. A line says of a partition, too, that its committed metadata went back (`went_back`),
where the view can tell: `GoesBack`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from harness.cluster.view.state import BLIND, ClusterView, PartitionState, View
from harness.waiting import Every

LOOK_EVERY_S = 0.05


@runtime_checkable
class GoesBack(Protocol):
    """A view that tells when committed metadata go back."""

    def went_back(self) -> Sequence[int]:
        """The topic's partitions whose state went back so far, in order; one as often as it did."""


class Watcher:
    """A thread that looks every 50 ms and writes each change, and each blind stretch, down."""

    def __init__(self, view: ClusterView, write: Callable[..., None]) -> None:
        self._view = view
        self._write = write
        self._last: View | None = None
        self._seen_ns: int | None = None  # when the last look began that was answered
        self._blind = False
        self._backs = 0  # of partitions, that were told
        self._looks = Every(LOOK_EVERY_S, self._look, name="watcher")

    def start(self) -> None:
        """Begin to look; returns at once."""
        self._looks.start()

    def close(self) -> None:
        """Look no more; safe to call twice."""
        self._looks.close()

    def _look(self) -> None:
        begun_ns = time.monotonic_ns()
        try:
            view = self._view.look()
        except BLIND:
            if not self._blind:
                self._write("blind", type="start")
            self._blind = True
            return
        if self._blind:
            self._write("blind", type="end")
            self._blind = False
        back = self._gone_back()
        if view != self._last or back:
            self._write_changes(view, self._last, back)
            self._last = view
        self._seen_ns = begun_ns

    def _gone_back(self) -> frozenset[int]:
        """The partitions whose metadata went back since the last look."""
        if not isinstance(self._view, GoesBack):
            return frozenset()
        backs = self._view.went_back()
        new, self._backs = backs[self._backs :], len(backs)
        return frozenset(new)

    def _write_changes(self, view: View, last: View | None, back: frozenset[int]) -> None:
        for number, state in enumerate(view.partitions):
            before = last.partitions[number : number + 1] if last else ()
            same = last and before == (state,) and last.controller == view.controller
            if same and number not in back:
                continue
            self._write(
                "view",
                partition=number,
                leader=state.leader,
                isr=list(state.isr),
                leader_epoch=state.leader_epoch,
                controller=view.controller,
                since_ns=self._seen_ns,
                **_told_by_some(state),
                **({"went_back": True} if number in back else {}),
            )


def _told_by_some(state: PartitionState) -> dict[str, Any]:
    """What only some views tell of a partition; where one does, an empty ELR is told as well."""
    elr = None if state.elr is None else list(state.elr)
    optional = {"elr": elr, "partition_epoch": state.partition_epoch}
    return {name: value for name, value in optional.items() if value is not None}
