"""Deliveries that the log does not have, look-ups in vain, and what replicas hold."""

from __future__ import annotations

import numpy as np

from analysis.frames.signs import Sign
from analysis.screens.log import GARBLED, NEVER, Log, least_at
from analysis.screens.suspects import Suspects, known
from analysis.stored.batches import NONE, Batch
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow


class Reads:
    """All deliveries and look-ups of a run."""

    def __init__(self, log: Log, suspects: Suspects, facts: RunRow) -> None:
        self._log, self._suspects, self._facts = log, suspects, facts

    def see(self, batch: Batch) -> None:
        """Look at a batch's reads."""
        ok = batch.ended("ok")
        given = batch.did("read", "lookup", "poll") & ok
        if np.any(given):
            self._see(batch, np.flatnonzero(given))
        vain = batch.did("lookup") & ~ok & (batch.end_ns != NONE)
        self._suspects.see(Sign.NOT_FOUND, known(batch.value[vain]))

    def _see(self, batch: Batch, rows: Numbers) -> None:
        log, suspects = self._log, self._suspects
        value, partition, offset = batch.value[rows], batch.partition[rows], batch.offset[rows]
        place = log.at(partition, offset)
        there = log.has(place, value)
        least_at(log.delivered_ns, place[there], batch.end_ns[rows][there])
        garbled = value == NONE
        if np.any(garbled):
            suspects.signs.add(Sign.GARBLED)
            beside = log.values_at(place[garbled])
            suspects.values.add(beside[beside > GARBLED])
        stray = ~there & ~garbled
        suspects.see(Sign.STRAY, value[stray])
        suspects.claim(log, partition[stray], offset[stray], value[stray])

    def furthest(self) -> None:
        """See the furthest record of each partition that was read, if it is not below the last
        stable offset."""
        log, furthest, unstable = self._log, [], False
        for partition, end in enumerate(self._facts["ends"][: log.partitions]):
            stable, high = end["committed_end"], end["uncommitted_end"]
            if stable is None or high is None:
                continue
            span = log.span(partition)
            read = np.flatnonzero(log.delivered_ns[span] != NEVER)
            offset = log.offset(partition, read + span.start)
            read = read[offset < high]
            unstable |= Sign.STRAY in self._suspects.signs
            if len(read):
                place = int(read[-1]) + span.start
                furthest.append(int(log.value[place]))
                unstable |= int(log.offset(partition, np.array([place]))[0]) >= stable
        if unstable:
            self._suspects.signs.add(Sign.UNSTABLE)
            self._suspects.values.add(np.array(furthest, dtype=np.int64))


class Replicas:
    """What dumped replicas hold."""

    def __init__(self, log: Log, suspects: Suspects, facts: RunRow) -> None:
        self._log, self._suspects, self._facts = log, suspects, facts
        self._holders = np.zeros(len(log.value), dtype=np.int32)

    def see(self, batch: Batch) -> None:
        """Look at a batch's records of replicas."""
        rows = np.flatnonzero(batch.did("replica") & (batch.value != NONE))
        if not len(rows):
            return
        place = self._log.at(batch.partition[rows], batch.offset[rows])
        there = self._log.has(place, batch.value[rows])
        np.add.at(self._holders, place[there], 1)
        self._suspects.see(Sign.DIFFERS, batch.value[rows[~there]])
        beside = self._log.values_at(place[~there])
        self._suspects.see(Sign.DIFFERS, beside[beside > GARBLED])

    def look(self) -> None:
        """See records that too few replicas hold."""
        log = self._log
        for partition, end in enumerate(self._facts["ends"][: log.partitions]):
            starts = [d["log_start"] for d in self._facts["dumps"] if d["partition"] == partition]
            if not end["complete"] or not starts:
                continue
            span = log.span(partition)
            there = np.flatnonzero(log.value[span] > GARBLED) + span.start
            offset = log.offset(partition, there)
            owed = sum((offset >= start).astype(np.int32) for start in starts if start is not None)
            self._suspects.see(Sign.DIFFERS, log.value[there[self._holders[there] < owed]])
