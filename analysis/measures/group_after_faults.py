"""Whether a consumer group got to records that were acknowledged after the last fault.

    last fault healed at 5 s, acked after it: offsets 40 to 60    processed: up to 45    =>  yes
    the same                                                      committed: 40          =>  no
    acked after it: nothing                                                           =>  no row

A fault that nobody healed counts from its injection. One row for each partition in which something
was acknowledged after the last fault; none in a run without faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from analysis.stored.batches import NONE, Batch, Mask
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow


class AfterFaultsRow(TypedDict):
    """A partition with records that were acknowledged after the last fault."""

    partition: int
    acked_from: int  # the lowest offset that was acknowledged then
    done_to: int  # the highest that a member processed or that lies before a commit; -1: none


class GroupAfterFaults:
    """Offsets by partition, in one pass over the operations."""

    def __init__(self, run: RunRow) -> None:
        over = (f["invoke_ns"] if f["end_ns"] is None else f["end_ns"] for f in run["faults"])
        self._since_ns = max(over, default=None)
        self._acked: dict[int, int] = {}
        self._done: dict[int, int] = {}

    def see(self, batch: Batch) -> None:
        """Look at a batch's acks, processings and commits."""
        if self._since_ns is None:
            return
        known = (batch.offset != NONE) & batch.ended("ok")
        acked = known & batch.did("send") & (batch.end_ns > self._since_ns)
        for partition, offset in _by_partition(batch, acked, batch.offset, np.minimum):
            self._acked[partition] = min(offset, self._acked.get(partition, offset))
        processed, committed = batch.did("process"), batch.did("commit") | batch.did("committed")
        upto = np.where(committed, batch.offset - 1, batch.offset)
        for partition, offset in _by_partition(
            batch, known & (processed | committed), upto, np.maximum
        ):
            self._done[partition] = max(offset, self._done.get(partition, -1))

    def rows(self) -> Iterator[AfterFaultsRow]:
        """One for each partition."""
        for partition, offset in self._acked.items():
            done = self._done.get(partition, -1)
            yield {"partition": partition, "acked_from": offset, "done_to": done}


def _by_partition(
    batch: Batch, which: Mask, offsets: Numbers, least_or_most: np.ufunc
) -> Iterator[tuple[int, int]]:
    for partition in np.unique(batch.partition[which]).tolist():
        mine = which & (batch.partition == partition)
        yield int(partition), int(least_or_most.reduce(offsets[mine]))
