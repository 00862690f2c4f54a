"""What a consumer group did with the log: records processed twice or passed over, offsets set back.

process a at 0, twice                                   =>  again
poll 0 to 4, process all but 2, commit 5                =>  2 was passed
commit 5, acknowledged    the coordinator answers 3     =>  lower
"""

from __future__ import annotations

import numpy as np

from analysis.frames.signs import Sign
from analysis.screens.log import GARBLED, NEVER, Log, least_at
from analysis.screens.suspects import Suspects, known
from analysis.screens.values import distinct
from analysis.stored.batches import NONE, Batch
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow


class Groups:
    """What members were given, processed and committed."""

    def __init__(self, log: Log, suspects: Suspects, facts: RunRow) -> None:
        self._log, self._suspects = log, suspects
        self._from_start = bool(facts["from_start"])
        self._was_at: dict[int, int] = {}  # by partition: where a reset found the group
        for row in facts["passed_over"]:
            at = row["from_offset"]
            self._was_at[row["partition"]] = min(at, self._was_at.get(row["partition"], at))
        self._started: dict[int, tuple[int, int]] = {}  # by partition: lowest offset, its value
        self._commits: list[tuple[Numbers, ...]] = []  # partition, offset, start, end; acknowledged
        self._answers: list[tuple[Numbers, ...]] = []

    def see(self, batch: Batch) -> None:
        """Look at a batch's."""
        self._polled(batch)
        ok = batch.ended("ok")
        rows = np.flatnonzero(batch.did("process") & ok & (batch.value != NONE))
        if len(rows):
            self._processed(batch, rows)
        for name, kept in (("commit", self._commits), ("committed", self._answers)):
            mine = batch.did(name) & ok
            if np.any(mine):
                columns = (batch.partition, batch.offset, batch.start_ns, batch.end_ns)
                kept.append(tuple(each[mine] for each in columns))

    def _polled(self, batch: Batch) -> None:
        rows = np.flatnonzero(batch.did("poll"))
        if not len(rows):
            return
        partition = batch.partition[rows]
        for each in distinct(partition):
            mine = rows[partition == each]
            first = int(mine[np.argmin(batch.offset[mine])])
            start = int(batch.offset[first]), int(batch.value[first])
            self._started[each] = min(self._started.get(each, start), start)

    def _processed(self, batch: Batch, rows: Numbers) -> None:
        log, value = self._log, batch.value[rows]
        place = log.at(batch.partition[rows], batch.offset[rows])
        there = log.has(place, value)
        mine = place[there]
        again = log.done_ns[mine] != NEVER
        order = np.argsort(mine, kind="stable")
        again[order[1:]] |= np.diff(mine[order]) == 0
        self._suspects.see(Sign.AGAIN, value[there][again])
        self._suspects.see(Sign.AGAIN, value[~there])
        least_at(log.done_ns, mine, batch.end_ns[rows][there])

    def look(self) -> None:
        """See records that were passed over, and offsets that coordinators lost."""
        commits, answers = _joined(self._commits), _joined(self._answers)
        upto: dict[int, int] = {}
        for of, offset, _, _ in (commits, answers):
            for each in distinct(of) if len(of) else ():
                most = int(offset[of == each].max())
                upto[each] = max(upto.get(each, most), most)
        for partition, most in upto.items():
            first, _ = self._started.get(partition, (NEVER, NONE))
            started = 0 if self._from_start else min(first, self._was_at.get(partition, first))
            if 0 <= partition < self._log.partitions and most > started:
                self._passed(partition, started, most)
        if Sign.PASSED in self._suspects.signs:
            # A record shows where the group began.
            firsts = np.array([value for _, value in self._started.values()], dtype=np.int64)
            self._suspects.values.add(known(firsts))
        if not _never_lower(commits, answers):
            self._suspects.signs.add(Sign.LOWER)

    def _passed(self, partition: int, started: int, upto: int) -> None:
        log = self._log
        span = log.span(partition)
        first = max(0, started - log.first(partition)) + span.start
        last = min(span.stop, span.start + upto - log.first(partition))
        if first < last:
            part = slice(first, last)
            idle = (log.value[part] > GARBLED) & (log.done_ns[part] == NEVER)
            self._suspects.see(Sign.PASSED, log.value[part][idle])
            self._suspects.passed.add(log.value[part][idle])


def _joined(parts: list[tuple[Numbers, ...]]) -> tuple[Numbers, ...]:
    if not parts:
        return (np.zeros(0, dtype=np.int64),) * 4
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def _never_lower(commits: tuple[Numbers, ...], answers: tuple[Numbers, ...]) -> bool:
    """Whether no answer of a group's coordinator is below a commit that had been acknowledged."""
    if not len(answers[0]):
        return True
    if any(np.any(each == NONE) for each in (*commits, *answers)):
        return False
    (of, to, _, acked_ns), (about, answer, since_ns, _) = commits, answers
    for each in distinct(about):
        mine = np.flatnonzero(of == each)
        mine = mine[np.argsort(acked_ns[mine], kind="stable")]
        highest = np.concatenate(([0], np.maximum.accumulate(to[mine])))
        before = np.searchsorted(acked_ns[mine], since_ns[about == each])
        if np.any(highest[before] > answer[about == each]):
            return False
    return True
