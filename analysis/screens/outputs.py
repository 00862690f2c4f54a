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
from analysis.stored.columns import Numbers
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
        final = np.concatenate([_NOTHING, *self._seen["final-output"]])
        live = np.concatenate([_NOTHING, *self._seen["output"]])
        if np.any(final == NONE):
            self._suspects.signs.add(Sign.OUTPUTS)
        value, times = np.unique(final[final != NONE], return_counts=True)
        inputs = self._log.value[self._log.value > GARBLED]
        most = self._asked["most"]
        wrong = times < self._asked["least"]
        wrong |= times > (times.max(initial=0) if most is None else most)
        self._suspects.see(Sign.OUTPUTS, value[wrong])
        self._suspects.see(Sign.OUTPUTS, np.setdiff1d(value, inputs))
        self._suspects.see(Sign.OUTPUTS, np.setdiff1d(live[live != NONE], value))
        if self._asked["least"]:
            self._suspects.see(Sign.OUTPUTS, np.setdiff1d(inputs, value))
