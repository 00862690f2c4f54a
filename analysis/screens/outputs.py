"""Outputs of programs: which inputs have not as many as they should, and which outputs are none's.

final read: 7, 8    outputs at the end: 7, 7, 9    =>  7, 8 and 9 are suspects
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from analysis.frames.signs import Sign
from analysis.screens.log import GARBLED, Log
from analysis.screens.suspects import Suspects
from analysis.stored.batches import NONE, Batch
from analysis.stored.columns import Numbers, found_at
from analysis.stored.fact_rows import RunRow

_NOTHING = np.zeros(0, dtype=np.int64)


class Outputs:
    """What programs have sent."""

    def __init__(self, log: Log, suspects: Suspects, facts: RunRow) -> None:
        self._log, self._suspects, self._asked = log, suspects, facts.get("outputs")
        self._seen: dict[str, list[Numbers]] = defaultdict(list)

    def see(self, batch: Batch) -> None:
        """Look at a batch's."""
        for name in ("output", "final-output") if self._asked else ():
            mine = batch.did(name)
            if np.any(mine):
                self._seen[name].append(batch.value[mine])

    def look(self) -> None:
        """See inputs with another number of outputs than theirs, and outputs of no input."""
        if self._asked is None:
            return
        final, live = (self._sorted(name) for name in ("final-output", "output"))
        if np.any(final == NONE):
            self._suspects.signs.add(Sign.OUTPUTS)
        final = final[final != NONE]
        inputs = np.sort(self._log.value[self._log.value > GARBLED])
        begin = np.flatnonzero(np.diff(final, prepend=NONE))
        times = np.diff(begin, append=len(final))
        most = self._asked["most"]
        wrong = times < self._asked["least"]
        wrong |= times > (times.max(initial=0) if most is None else most)
        self._suspects.see(Sign.OUTPUTS, final[begin[wrong]])
        self._suspects.see(Sign.OUTPUTS, _missing(final, inputs))
        self._suspects.see(Sign.OUTPUTS, _missing(live[live != NONE], final))
        if self._asked["least"]:
            self._suspects.see(Sign.OUTPUTS, _missing(inputs, final))

    def _sorted(self, name: str) -> Numbers:
        return np.sort(np.concatenate([_NOTHING, *self._seen[name]]))


def _missing(values: Numbers, among: Numbers) -> Numbers:
    """Those that are not among others; both sorted."""
    return values[found_at(among, values) < 0]
