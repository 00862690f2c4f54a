"""Transactions that the final read has in part, and records that were read before their commit.

send a, b in one transaction, commit asked at 2 s    final read: a           =>  torn
the same, and a was read at 1 s                                              =>  early
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from analysis.frames.operations import ACKED, UNKNOWN
from analysis.frames.signs import Sign
from analysis.screens.log import NEVER, NOBODY, CannotScreen, Log
from analysis.screens.suspects import Aside, Suspects
from analysis.stored.batches import NONE
from analysis.stored.columns import Numbers

COMMIT_ASKED = "commit-asked"
_MOST = 1 << 30

Note = tuple[str, int, str, int]  # process, transaction, name, time_ns


class Transactions:
    """The transactions in the workers' events, numbered."""

    def __init__(self, notes: Iterable[Note] | None) -> None:
        """`notes`: the events; None: the history has none."""
        self.recorded = notes is not None
        asked: dict[str, dict[int, int]] = defaultdict(dict)
        for process, number, name, time_ns in notes or ():
            known = asked[process]
            known.setdefault(number, NEVER)
            if name == COMMIT_ASKED:
                known[number] = min(known[number], time_ns)
        self._first: dict[str, tuple[int, int]] = {}
        first = 0
        for process, known in asked.items():
            most = max(known) + 1
            if first + most > _MOST:
                raise CannotScreen("more transactions than are recorded")
            self._first[process] = first, most
            first += most
        self._asked_ns = np.full(first, NEVER)
        self._known = np.zeros(first, dtype=bool)
        for process, known in asked.items():
            at = self._first[process][0] + np.fromiter(known, dtype=np.int64, count=len(known))
            self._asked_ns[at] = np.fromiter(known.values(), dtype=np.int64, count=len(known))
            self._known[at] = True

    def numbers(self, process: str, transaction: Numbers) -> Numbers:
        """The number of each transaction of a worker; NOBODY of one without events."""
        first, most = self._first.get(process, (0, 0))
        inside = (transaction != NONE) & (transaction >= 0) & (transaction < most)
        if not np.any(inside):
            return np.full(len(transaction), NOBODY)
        number = np.where(inside, first + np.where(inside, transaction, 0), first)
        return np.where(inside & self._known[number], number, NOBODY)

    def look(self, log: Log, aside: Aside, suspects: Suspects) -> None:
        """See torn transactions and early reads."""
        if not self.recorded or not len(self._asked_ns):
            return
        place = np.flatnonzero(log.transaction != NOBODY)
        mine = log.transaction[place]
        early = log.delivered_ns[place] < self._asked_ns[mine]
        early &= log.delivered_ns[place] != NEVER
        suspects.see(Sign.EARLY, log.value[place[early]])
        member = np.zeros(len(self._asked_ns), dtype=np.int64)  # a record that is there; NONE
        member[:] = NONE
        member[mine] = log.value[place]
        ours = aside.of(aside.transaction != NOBODY)
        there = ours.landed != NOBODY
        member[ours.transaction[there]] = ours.value[there]
        self._doubtful(log, ours, suspects)
        missing = ~there & np.isin(ours.sent, (ACKED, UNKNOWN))
        asked = self._asked_ns[ours.transaction] != NEVER
        torn = missing & asked & (member[ours.transaction] != NONE)
        suspects.see(Sign.TORN, ours.value[torn])
        suspects.values.add(member[ours.transaction[torn]])
        if Sign.STRAY in suspects.signs:
            suspects.signs.add(Sign.EARLY)

    def _doubtful(self, log: Log, ours: Aside, suspects: Suspects) -> None:
        """See sends of unknown end in the log: read before their commit was asked for, or never."""
        there = ours.of((ours.landed != NOBODY) & np.isin(ours.sent, (UNKNOWN, ACKED)))
        asked_ns = self._asked_ns[there.transaction]
        early = log.delivered_ns[there.landed] < asked_ns
        suspects.see(Sign.EARLY, there.value[early | (asked_ns == NEVER)])
