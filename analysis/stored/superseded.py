"""Superseded records: those that compaction may delete, since their key has a later one, or is
deleted.

    keys: 1 and 2 the same, 3 another    1 acked at 0, 2 acked at 1, 3 acked at 2    =>  1
    the same, 2 read at 1, not acked                                                 =>  1
    the same, 2 in doubt and never read: it may lie anywhere                         =>  1
    the same, 2 failed, or was aborted                                               =>  none

In each partition a record is superseded by any other of its key that was acknowledged or read at a
higher offset, or whose send has no known end or offset: it may have landed behind it. Failed sends,
those of aborted transactions among them, supersede nothing (KIP-534: what is aborted is removed).

A tombstone that no other record supersedes deletes its key. It may be gone itself, unless that
brings a value of the key back:

    1 acked at 0, tombstone 2 acked at 1    final read: nothing                      =>  1 and 2
    the same                                final read: 1                            =>  1
    the same, after delete.retention.ms     final read: 1                            =>  1 and 2

`delete.retention.ms` (a day by default) counts from the tombstone's send to the end of the final
read of its partition: earlier no cleaner removes it (KIP-534). The least that the setting ever was
holds, and none where a clock was set.

A record's key, and whether it is a tombstone, are drawn by its value and the run's seed
(harness.history.record_format); with a key for each record, or without keys, nothing is superseded.

Cannot see: a tombstone that was lost together with all values of its key; whether the cleaner had
come so far. A superseded record that was lost in the part of the log that is not compacted yet, its
last segment at least, is not found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.stored.batches import NONE, Batch, Mask, batches
from analysis.stored.columns import Numbers
from analysis.stored.stored_run import Run, final_ends, is_compacted, read_ended, topic_settings
from harness.history.record_format import drawn, is_tombstone, zipf_ends
from harness.model.sections.log_segments import delete_retention_ms

_SIGHTING = np.dtype(
    [
        *((name, np.int64) for name in ("value", "partition", "offset", "start_ns")),
        *((name, np.bool_) for name in ("sent", "failed", "final")),
    ]
)
Sightings = npt.NDArray[Any]  # of _SIGHTING; offset NONE: not known


def superseded(run: Run) -> list[int]:
    """The values of a run whose record a compacted log need not have any more."""
    keys = run.scenario["workload"].get("keys")
    if not isinstance(keys, int) or not is_compacted(run):
        return []
    parts = [_sightings(batch) for file in run.tables for batch in batches(file)]
    seen = np.concatenate([np.zeros(0, dtype=_SIGHTING), *parts])
    seen = seen[~np.isin(seen["value"], seen["value"][seen["failed"]])]
    if not seen.size:
        return []
    ends = np.array(zipf_ends(keys), dtype=np.uint64)
    drawn_ = drawn(seen["value"].astype(np.uint64), run.record["seed"])
    log = seen["partition"] * keys + np.searchsorted(ends, drawn_, side="right")  # of one key
    behind = _behind_another(seen["value"], log, seen["offset"])
    found: list[int] = np.union1d(behind, _gone_tombstones(run, seen, log, behind)).tolist()
    return found


def _gone_tombstones(run: Run, seen: Sightings, log: Numbers, behind: Numbers) -> Numbers:
    """The tombstones that need not be there, though no other record supersedes them."""
    if not (share := run.scenario["workload"].get("tombstones", 0.0)):
        return np.zeros(0, dtype=np.int64)
    deletes = is_tombstone(seen["value"].astype(np.uint64), run.record["seed"], share)
    kept_ns, ended = _kept_ns(run), read_ended(run)
    whole = [end["partition"] for end in final_ends(run) if end["complete"]]
    last = seen["sent"] & deletes & ~np.isin(seen["value"], behind)
    back = np.isin(log, log[seen["final"] & ~deletes])
    absent = np.isin(seen["partition"], whole) & ~back
    until = np.array([ended.get(n, run.load_end_ns) for n in range(run.partitions)])
    expired = until[seen["partition"]] - seen["start_ns"] >= kept_ns
    gone: Numbers = seen["value"][last & (absent | expired)]
    return gone


def _kept_ns(run: Run) -> float:
    """How long a tombstone stays for certain."""
    if any((step.get("effects") or {}).get("skews_clock_s") for step in run.plan):
        return 0
    return min(map(delete_retention_ms, topic_settings(run))) * 1e6


def _behind_another(value: Numbers, log: Numbers, offset: Numbers) -> Numbers:
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
    found: Numbers = np.unique(value[behind])
    return found


def _sightings(batch: Batch) -> Sightings:
    """What was sent or read, of a batch."""
    sent, read = batch.did("send"), batch.did("read", "lookup", "poll", "final-read")
    some = (batch.value != NONE) & (sent | (read & (batch.offset != NONE)))
    seen = np.zeros(int(some.sum()), dtype=_SIGHTING)
    for name in ("value", "partition", "offset", "start_ns"):
        seen[name] = getattr(batch, name)[some]
    seen["sent"], seen["failed"] = sent[some], (sent & batch.ended("fail"))[some]
    seen["final"] = batch.did("final-read")[some]
    return seen
