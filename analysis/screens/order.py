"""Order: acked records that lie behind a later send of their client, or behind a send that began
after their ack.

The log's arrays show both, partition by partition: exactly the records that analysis.checks.order
finds, and the record that it names beside each. A record that is not where it was acked counts at
its first place, as there.
"""

from __future__ import annotations

import numpy as np

from analysis.frames.operations import ACKED
from analysis.frames.signs import Sign
from analysis.screens.log import GARBLED, NOBODY, Log
from analysis.screens.suspects import Aside, Suspects
from analysis.screens.values import Values, distinct
from analysis.stored.batches import NONE, Mask
from analysis.stored.columns import Numbers

_FEW = 64  # clients of a partition that are looked at one by one


def look(log: Log, aside: Aside, suspects: Suspects, operations: int) -> None:
    """See records that are out of order."""
    kept = log.acked_ns != NONE
    _place_moved(log, aside, kept, operations)
    for partition in range(log.partitions):
        span = log.span(partition)
        mine = np.flatnonzero(kept[span]) + span.start
        if len(mine) > 1:
            _out_of_time(log, mine, suspects)
            _overtaken(log, mine, suspects)


def _place_moved(log: Log, aside: Aside, kept: Mask, operations: int) -> None:
    """Let each acked record that the log has at an unclaimed place count at its first place."""
    unclaimed = np.flatnonzero((log.value > GARBLED) & (log.acked_ns == NONE))
    if not len(unclaimed):
        return
    odd = Values(operations)
    acked = aside.of(aside.sent == ACKED)
    doubtful = Values(operations)
    doubtful.add(aside.value[aside.sent != ACKED])
    odd.add(log.value[unclaimed][~doubtful.has(log.value[unclaimed])])
    place = np.flatnonzero(odd.has(log.value))
    place = place[np.argsort(log.value[place], kind="stable")]  # by value, then by place
    value = log.value[place]
    if not len(value):
        return
    firsts = np.flatnonzero(np.diff(value, prepend=value[0] - 1))
    for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(value)], strict=True):
        claimed = [at for at in place[first:last].tolist() if log.acked_ns[at] != NONE]
        at = int(place[first])
        if at in claimed:
            continue
        kept[claimed] = False
        home = int(np.searchsorted(log.bounds, at, side="right")) - 1
        if claimed:
            of = claimed[0]
            sent = int(log.sent_ns[of]), int(log.client[of])
            there = int(np.searchsorted(log.bounds, of, side="right")) - 1
        else:
            row = int(np.searchsorted(acked.value, value[first]))
            if row == len(acked.value) or acked.value[row] != value[first]:
                continue
            sent = int(acked.sent_ns[row]), int(acked.client[row])
            there = int(acked.home[row])
        if there == home:
            log.sent_ns[at], log.client[at] = sent
            kept[at] = True


def _out_of_time(log: Log, mine: Numbers, suspects: Suspects) -> None:
    """Records behind one whose send began after they were acked. Both are where they were acked."""
    mine = mine[log.acked_ns[mine] != NONE]
    sent, acked = log.sent_ns[mine], log.acked_ns[mine]
    latest = np.maximum.accumulate(sent)
    late = np.flatnonzero(latest[:-1] > acked[1:])
    if len(late):
        suspects.see(Sign.OUT_OF_TIME, log.value[mine[late + 1]])
        beside = np.isin(sent, np.unique(latest[late]))
        suspects.values.add(log.value[mine[beside]])


def _overtaken(log: Log, mine: Numbers, suspects: Suspects) -> None:
    client = log.client[mine]
    mine, client = mine[client != NOBODY], client[client != NOBODY]
    if not len(mine):
        return
    clients = distinct(client)
    if len(clients) <= _FEW:
        groups = [mine[client == each] for each in clients]
    else:
        order = np.argsort(client, kind="stable")
        cuts = np.flatnonzero(np.diff(client[order])) + 1
        groups = np.split(mine[order], cuts)
    for group in groups:
        value = log.value[group]
        if np.all(np.diff(value) > 0):
            continue
        most = np.maximum.accumulate(value)
        behind = np.flatnonzero(most[:-1] > value[1:])
        suspects.see(Sign.OVERTAKEN, value[behind + 1])
        suspects.values.add(most[behind])
