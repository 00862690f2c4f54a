"""Acks that arrived while nobody saw who was in the ISR of their partition: whether its leader
acknowledged them alone is not known.

    first view of partition 0 at 1 s; nobody could tell from 5 s to 7 s
    =>  its acks before 1 s and from 5 s to 7 s, and all acks of a partition without any view

The driver counts them in the files, since nobody asks but a demand on `acked-isr-alone`, and of
most runs everything was seen.
"""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

from analysis.stored.columns import Numbers
from analysis.stored.stored_run import Run

_COLUMNS = ("partition", "end_ns")
_ACKED = [("f", "==", "send"), ("type", "==", "ok")]
_EVER_NS = np.iinfo(np.int64).max


def acked_unseen(run: Run) -> int:
    """How many of a run."""
    dark = [
        (row["start_ns"], _EVER_NS if row["end_ns"] is None else row["end_ns"]) for row in run.blind
    ]
    first = [
        min((v["time_ns"] for v in run.views if v["partition"] == number), default=_EVER_NS)
        for number in range(int(run.scenario["topic"]["partitions"]))
    ]
    if not dark and max(first) <= run.load_start_ns:
        return 0
    first_ns: Numbers = np.array(first, dtype=np.int64)
    found = 0
    for file in run.tables:
        acked = pq.read_table(file, columns=list(_COLUMNS), filters=_ACKED).drop_null()
        partition, end_ns = (acked[name].to_numpy() for name in _COLUMNS)
        unseen = end_ns < first_ns[partition]
        for start_ns, until_ns in dark:
            unseen |= (end_ns >= start_ns) & (end_ns < until_ns)
        found += int(np.count_nonzero(unseen))
    return found
