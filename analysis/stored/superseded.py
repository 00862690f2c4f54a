"""Superseded records: those that compaction may delete, since their key has a later one.

    keys: 1 and 2 the same, 3 another    1 acked at 0, 2 acked at 1, 3 acked at 2    =>  1
    the same, 2 read at 1, not acked                                                 =>  1
    the same, 2 in doubt and never read: it may lie anywhere                         =>  1
    the same, 2 failed, or was aborted                                               =>  none

In each partition a record is superseded by any other of its key that was acknowledged or read at a
higher offset, or whose send has no known end or offset: it may have landed behind it. Failed sends,
those of aborted transactions among them, supersede nothing (KIP-534: what is aborted is removed).

A record's key is drawn by its value and the run's seed (harness.history.record_format); with a key
for each record, or without keys, nothing is superseded.

Cannot see: whether the cleaner had come so far. A superseded record that was lost in the part of
the log that is not compacted yet, its last segment at least, is not found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.stored.batches import NONE, Mask, batches
from analysis.stored.columns import Numbers
from analysis.stored.stored_run import Run, is_compacted
from harness.history.record_format import drawn, zipf_ends


def superseded(run: Run) -> list[int]:
    """The values of a run whose record a compacted log need not have any more."""
    keys = run.scenario["workload"].get("keys")
    if not isinstance(keys, int) or not is_compacted(run):
        return []
    seen = list(_sightings(run))
    if not seen:
        return []
    value, partition, offset, failed = (np.concatenate(each) for each in zip(*seen, strict=True))
    there = ~np.isin(value, value[failed == 1])
    value, partition, offset = value[there], partition[there], offset[there]
    if not len(value):
        return []
    ends = np.array(zipf_ends(keys), dtype=np.uint64)
    key = np.searchsorted(ends, drawn(value.astype(np.uint64), run.record["seed"]), side="right")
    log = partition * keys + key  # of one key in one partition
    return _behind_another(value, log, offset)


def _behind_another(value: Numbers, log: Numbers, offset: Numbers) -> list[int]:
    """The values of which another of the same log lies at a higher offset, or may."""
    order = np.lexsort((offset, value, log))
    value, log, offset = value[order], log[order], offset[order]
    last = np.ones(len(value), dtype=bool)  # the highest offset of each value in a log
    last[:-1] = (np.diff(value) != 0) | (np.diff(log) != 0)
    value, log, offset = value[last], log[last], offset[last]
    _, number = np.unique(log, return_inverse=True)
    highest = np.full(int(number.max()) + 1, NONE)
    np.maximum.at(highest, number, offset)
    doubtful = offset == NONE
    in_doubt = np.bincount(number, doubtful)[number] - doubtful  # others of the same log
    behind: Mask = (highest[number] > offset) | (in_doubt > 0)
    found: list[int] = np.unique(value[behind]).tolist()
    return found


def _sightings(run: Run) -> Iterator[tuple[Numbers, Numbers, Numbers, Numbers]]:
    """Value, partition, offset (NONE: not known) and 1 if the send failed, of all that was sent or
    read."""
    for file in run.tables:
        for batch in batches(file):
            sent, read = batch.did("send"), batch.did("read", "lookup", "poll", "final-read")
            some = (batch.value != NONE) & (sent | (read & (batch.offset != NONE)))
            failed = (sent & batch.ended("fail")).astype(np.int64)
            yield batch.value[some], batch.partition[some], batch.offset[some], failed[some]
