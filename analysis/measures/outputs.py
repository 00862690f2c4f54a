"""How long inputs wait for the outputs of programs: windows without any, and the time through.

    a acked at 1.0, no output from 0.9 to 4.0    =>  a window of kind `output`, from 1.0 to 4.0
    a due at 1.0, its output read at 1.3         =>  0.3 s through

A window lasts while an acknowledged input waited and nobody's output was read, within the load. The
time through is counted from the time at which a send was due to the live reader's first output of
it, so a fault of that reader counts. An input that the reader never had an output of was through
late: no quantile that it may decide is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.frames.operations import ACKED
from analysis.measures.fates import Fates
from analysis.measures.latency_and_rates import Tally, hundredths, quantiles
from analysis.measures.windows import WindowRow
from analysis.stored.batches import NONE, Batch
from analysis.stored.columns import Numbers, found_at
from analysis.stored.fact_rows import RunRow

_OPEN = np.iinfo(np.int64).max
_NEVER_MS = 1e12


class Answers:
    """When the outputs of inputs were first read: see all operations, then what became of all
    values."""

    def __init__(self, run: RunRow) -> None:
        asked = run.get("outputs")
        self._run, self._asked = run, asked if asked and asked["followed"] else None
        self._parts: list[tuple[Numbers, Numbers]] = []
        self._value = self._read_ns = np.zeros(0, dtype=np.int64)
        self._waits: list[tuple[Numbers, Numbers]] = []
        self._through = Tally()

    def see(self, batch: Batch) -> None:
        """Look at a batch's outputs."""
        if self._asked is not None and np.any(mine := batch.did("output")):
            self._parts.append((batch.value[mine], batch.end_ns[mine]))

    def answer(self, fates: Fates) -> None:
        """Find the outputs of some values."""
        if self._asked is None or not self._asked["least"] or not len(fates.value):
            return
        if self._parts:
            value, read_ns = (np.concatenate(each) for each in zip(*self._parts, strict=True))
            order = np.lexsort((read_ns, value))
            self._value, self._read_ns = value[order], read_ns[order]
            self._parts = []
        acked = (fates.sent == ACKED) & (fates.acked_ns != NONE) & ~fates.absent
        value = fates.value[acked]
        at = found_at(self._value, value)
        found = at >= 0
        answered_ns = np.full(len(value), _OPEN)
        answered_ns[found] = self._read_ns[at[found]]
        self._waits.append((fates.acked_ns[acked], answered_ns))
        due_ns = fates.intended_ns[acked]
        took = np.full(len(value), int(_NEVER_MS * 100))
        took[found] = hundredths(answered_ns[found] - due_ns[found])
        self._through.see(took)

    def row(self) -> dict[str, Any]:
        """`through_ms`: the quantiles of the time through; None for one that inputs without output
        decide. {} without any input."""
        numbers, times = self._through.counted
        if not len(numbers):
            return {}
        found = quantiles(numbers, times)
        return {"through_ms": [each if each < _NEVER_MS / 2 else None for each in found]}

    def windows(self) -> Iterator[WindowRow]:
        """The stretches without an output in which an input waited."""
        if not self._waits:
            return
        acked_ns, answered_ns = (np.concatenate(each) for each in zip(*self._waits, strict=True))
        begin_ns, end_ns = self._run["load_start_ns"], self._run["load_end_ns"]
        read_ns = np.sort(self._read_ns)
        within = read_ns[(read_ns > begin_ns) & (read_ns < end_ns)]
        edges = np.concatenate(([begin_ns], within, [end_ns]))
        for number in np.flatnonzero(np.diff(edges) >= self._run["threshold_ns"]).tolist():
            from_ns, to_ns = int(edges[number]), int(edges[number + 1])
            waiting = (acked_ns < to_ns) & (answered_ns > from_ns)
            if not np.any(waiting):
                continue
            start_ns = max(from_ns, int(acked_ns[waiting].min()))
            if to_ns - start_ns >= self._run["threshold_ns"]:
                later = read_ns[read_ns >= to_ns]
                yield {
                    "kind": "output",
                    "partition": 0,
                    "start_ns": start_ns,
                    "end_ns": to_ns,
                    "next_success_ns": int(later[0]) if len(later) else None,
                    "attempts": int(np.count_nonzero(waiting)),
                }
