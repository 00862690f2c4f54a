"""What became of a run's values, counted by numpy: the row of latency_and_rates.landings.

Fates come in chunks, each value once, those without a home too. What is null in a fate is true of
nothing that is counted, as in SQL: a record without an offset lies neither below the log's start
nor past a log end.

    an acked record at 3, absent, complete final read from 5    =>  acked_below_log_start 1
    the same, acked without an offset                           =>  nothing is counted
    no value at all                                             =>  no row: {}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.frames.operations import ACKED, FAILED, OFFSET_BITS, UNASKED, UNKNOWN
from analysis.measures.by_driver.batches import NONE, Mask
from analysis.measures.by_driver.fates import Fates, offset_of
from analysis.measures.by_driver.timeline import Tally, hundredths, quantiles
from analysis.stored.columns import Numbers

Row = dict[str, Any]


class Landings:
    """The row of `landings`."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        self._run = run
        self._counts: Counter[str] = Counter()
        self._latencies = Tally()
        self._seen = False

    def see(self, fates: Fates) -> None:
        """Count some values."""
        if not len(fates.value):
            return
        self._seen = True
        absent, offset = fates.absent, offset_of(fates.acked_place)
        below = (offset != NONE) & (offset < fates.log_start)
        gone = absent & ((fates.complete & ~below) | (fates.passed & fates.one_copy))
        doubt = (fates.sent == UNKNOWN) | (fates.sent == UNASKED)
        unasked = (fates.sent == UNASKED) & (fates.log_start == 0)
        past = self._is_past(fates, offset)
        sorts = {
            "indeterminate_landed": doubt & ~absent,
            "indeterminate_not_landed": doubt & absent & fates.complete,
            "acked_below_log_start": absent & below,
            "unacknowledged_lost": unasked & absent & fates.complete,
            "lost_past_log_end": past & gone,
            "kept_past_log_end": past & ~absent,
        }
        for name, sort in sorts.items():
            self._counts[name] += int(np.count_nonzero(sort))
        self._latencies.see(self._late(fates))

    def _is_past(self, fates: Fates, offset: Numbers) -> Mask:
        """As analysis.frames.elections.is_past: acked, and with an offset."""
        past, known = np.zeros(len(offset), dtype=bool), fates.acked_ns != NONE
        for election in self._run["elections"]:
            mine = known & (fates.acked_place >> OFFSET_BITS == election["partition"])
            since = fates.acked_ns < election["looked_ns"]
            past |= mine & since & (offset >= election["log_end"])
        return past

    def _late(self, fates: Fates) -> Numbers:
        """How late each record was given to somebody that is known to be late, in hundredths."""
        had_ns = fates.delivered_ns
        if self._run["tailing"] or self._run["grouped"]:
            waits = (had_ns == NONE) & self._is_there(fates)
            had_ns = np.where(waits, self._run["load_end_ns"], had_ns)
        timed = (had_ns != NONE) & (fates.intended_ns != NONE)
        return hundredths(had_ns[timed] - fates.intended_ns[timed])

    def _is_there(self, fates: Fates) -> Mask:
        """Whether a record that was due within the load is there for those who read."""
        landed = ~fates.absent & (fates.sent != FAILED)
        there = landed | ((fates.sent == ACKED) & fates.readable)
        return np.asarray(there & (fates.intended_ns < self._run["load_end_ns"]))

    def row(self) -> Row:
        """The one row; {} of a run without any value."""
        if not self._seen:
            return {}
        numbers, times = self._latencies.told
        return {**self._counts, "latency_ms": quantiles(numbers, times) if len(numbers) else None}
