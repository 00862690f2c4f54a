"""Sends and the log: each ack claims its place, and a send without one is kept aside.

send 1 -> ok at 0, send 2 -> ok at 1, send 3 -> info    final read: 1, 9, 3
=>  0 is claimed by 1; 2 is missed and contested; 3 has landed; 9 is unclaimed
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

import numpy as np

from analysis.frames.operations import ACKED, FAILED, NO_ACK, UNASKED, UNKNOWN
from analysis.frames.signs import Sign
from analysis.measures.fates import ABORTED, ABORTED_NAME
from analysis.screens.log import GARBLED, NOBODY, Log
from analysis.screens.suspects import Aside, Suspects
from analysis.screens.transactions import Transactions
from analysis.screens.values import Values, distinct
from analysis.stored.batches import NONE, Batch
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow
from analysis.stored.groups.passed_over import within
from harness.history.record_format import SEQUENCE_BITS


class Sends:
    """All sends of a run."""

    def __init__(
        self,
        log: Log,
        suspects: Suspects,
        transactions: Transactions,
        facts: RunRow,
        operations: int,
    ) -> None:
        self._log, self._suspects, self._transactions = log, suspects, transactions
        self._facts = facts
        self._sent = Values(operations)
        self._clients: dict[tuple[int, int], int] = {}
        self._aside: dict[str, list[Numbers]] = defaultdict(list)

    def see(self, batch: Batch) -> None:
        """Look at a batch's sends."""
        rows = np.flatnonzero(batch.did("send") & (batch.value != NONE))
        if not len(rows):
            return
        value, ok = batch.value[rows], batch.ended("ok")[rows]
        self._once(batch, rows)
        partition, offset = batch.partition[rows], batch.offset[rows]
        place = self._log.at(partition, np.where(ok, offset, NONE))
        claims = self._log.has(place, value)
        client = self._client(batch, rows)
        transaction = self._transactions.numbers(batch.process, batch.transaction[rows])
        self._claim(batch, rows[claims], place[claims], client[claims], transaction[claims])
        missed = ok & ~claims
        self._suspects.see(Sign.MISSED, value[missed])
        placed = missed & (offset != NONE)
        self._suspects.claim(self._log, partition[placed], offset[placed], value[placed])
        over = value[placed & within(self._facts["passed_over"], partition, offset)]
        self._suspects.see(Sign.PASSED, over)
        self._suspects.passed.add(over)
        aside = ~claims
        columns = {
            "value": value,
            "sent": _ranks(batch)[rows],
            "home": partition,
            "intended_ns": batch.intended_ns[rows],
            "sent_ns": batch.start_ns[rows],
            "ended_ns": batch.end_ns[rows],
            "client": client,
            "transaction": transaction,
        }
        for name, each in columns.items():
            self._aside[name].append(each[aside])

    def _once(self, batch: Batch, rows: Numbers) -> None:
        """See values that were sent before."""
        value = batch.value[rows]
        again = self._sent.has(value)
        if np.any(np.diff(value) <= 0):
            order = np.argsort(value, kind="stable")
            again[order[1:]] |= np.diff(value[order]) == 0
        self._suspects.see_everything(value[again])
        self._sent.add(value)

    def _claim(
        self, batch: Batch, rows: Numbers, place: Numbers, client: Numbers, transaction: Numbers
    ) -> None:
        log = self._log
        log.intended_ns[place] = batch.intended_ns[rows]
        log.sent_ns[place] = batch.start_ns[rows]
        log.acked_ns[place] = batch.end_ns[rows]
        log.client[place] = client
        log.transaction[place] = transaction

    def _client(self, batch: Batch, rows: Numbers) -> Numbers:
        """The number of each client; NOBODY if the history does not have it."""
        producer, instance = batch.value[rows] >> SEQUENCE_BITS, batch.instance[rows]
        client = np.full(len(rows), NOBODY)
        for of in distinct(producer):
            for one in distinct(instance):
                if one == NONE and self._facts["transactional"] is not False:
                    continue
                whose = of, 0 if one == NONE else one
                number = self._clients.setdefault(whose, len(self._clients))
                client[(producer == of) & (instance == one)] = number
        return client

    def aside(self) -> Aside:
        """The sends aside, compared with the unclaimed places of the log."""
        columns = {name: np.concatenate(each) for name, each in self._aside.items()}
        if not columns:
            nothing = np.zeros(0, dtype=np.int64)
            columns = {f.name: nothing for f in fields(Aside) if f.name != "landed"}
        self._aside.clear()
        order = np.argsort(columns["value"], kind="stable")
        columns = {name: each[order] for name, each in columns.items()}
        landed = self._landed(columns["value"], columns["sent"], columns["home"])
        aside = Aside(**columns, landed=landed)
        self._look(aside)
        return aside

    def _landed(self, values: Numbers, sent: Numbers, home: Numbers) -> Numbers:
        """The unclaimed place of each of these values in the log."""
        log = self._log
        place = np.flatnonzero((log.value > GARBLED) & (log.acked_ns == NONE))
        value = log.value[place]
        order = np.argsort(value, kind="stable")
        place, value = place[order], value[order]
        landed = np.full(len(values), NOBODY)
        if not len(value):
            return landed
        first = np.searchsorted(value, values)
        some = np.minimum(first, len(value) - 1)
        there = value[some] == values
        landed[there] = place[some[there]]
        partition = np.searchsorted(log.bounds, place, side="right") - 1
        twice = np.zeros(len(value), dtype=bool)
        twice[1:] = np.diff(value) == 0
        at = np.minimum(np.searchsorted(values, value), max(len(values) - 1, 0))
        known = (values[at] == value) if len(values) else np.zeros(len(value), dtype=bool)
        doubtful = np.isin(sent[at], (UNKNOWN, UNASKED)) if len(values) else known
        home_is = (home[at] == partition) if len(values) else known
        self._suspects.see(Sign.UNCLAIMED, value[twice | ~(known & doubtful & home_is)])
        return landed

    def _look(self, aside: Aside) -> None:
        """See sends without acks that the log lacks."""
        gone = (aside.sent == UNASKED) & (aside.landed == NOBODY)
        ends = self._facts["ends"]
        whole = [bool(end["complete"]) and (end["log_start"] or 0) == 0 for end in ends]
        is_whole = np.array([*whole, False])
        where = np.where((aside.home >= 0) & (aside.home < len(ends)), aside.home, len(ends))
        self._suspects.see(Sign.UNASKED, aside.value[gone & is_whole[where]])


def _ranks(batch: Batch) -> Numbers:
    """How each send ended, as in analysis.measures.fates.Fates."""
    unasked = np.where(batch.failed_by(NO_ACK), UNASKED, UNKNOWN)
    failed = np.where(batch.failed_by(ABORTED_NAME), ABORTED, FAILED)
    not_ok = np.where(batch.ended("fail"), failed, unasked)
    return np.where(batch.ended("ok"), ACKED, not_ok)
