"""The log of a made-up load, twenty seconds at a time: 15 s of calm and 5 s in which nobody leads.

Eight producers send in an open loop, each in transactions of `window_s`. A send is appended a
millisecond after it began; the markers of its transaction come when that ends. At 13.05 s the
leader of every partition dies, and at 18 s another leads, with a greater epoch: what was due
meanwhile is appended then, in one long transaction for each producer.

    of each producer's transactions one in 41 is aborted; one ends in doubt, and was committed; one
    loses its producer, so that nobody asked for its commit: its records are never shown

Offsets are what a log gives: records and markers of a partition in the order in which they were
appended. Where the dying leader was the only one that had the end of its log (`cut`), the next one
goes on at that offset: an acked record's offset is then given to another record.

All of a cycle is in arrays: of its sends (`Sends`) and of the entries of its log (`Entries`), which
lie one partition after the other. Memory is that of one cycle, however long the load.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PARTITIONS, PRODUCERS, MEMBERS = 16, 8, 4
MS, S = 10**6, 10**9
CYCLE_S, OUTAGE_S, LED_AGAIN_S = 20, 13, 18.1
CYCLE_NS = CYCLE_S * S
DIES_NS, LEADS_NS = int(13.05 * S), 18 * S
FIRST_EPOCH = 5
COMMITTED, ABORTED, DOUBTFUL, GONE = range(4)  # how a transaction ended
EVERY = 41  # transactions; odd, so that each producer has its share
MARKER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How many sends, and how fast."""

    cycles: int
    sends: int  # of each cycle, a multiple of PRODUCERS
    start_ns: int

    @property
    def window_ns(self) -> int:
        """How long a transaction is open: 100 ms, or four sends."""
        return max(100 * MS, 4 * CYCLE_NS * PRODUCERS // self.sends)

    @property
    def end_ns(self) -> int:
        """When the load ends: a second after the last send was due."""
        return self.start_ns + self.cycles * CYCLE_NS + S


@dataclass(kw_only=True)
class State:
    """What goes on from one cycle to the next."""

    offset: Numbers = field(default_factory=lambda: np.zeros(PARTITIONS, np.int64))
    sequence: Numbers = field(default_factory=lambda: np.zeros(PRODUCERS, np.int64))
    transaction: Numbers = field(default_factory=lambda: np.zeros(PRODUCERS, np.int64))
    instance: Numbers = field(default_factory=lambda: np.zeros(PRODUCERS, np.int64))
    free_ns: Numbers = field(default_factory=lambda: np.zeros(PRODUCERS, np.int64))
    stable_ns: Numbers = field(default_factory=lambda: np.zeros(PARTITIONS, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions:
    """Of a cycle, one row per producer and one column per window."""

    kind: Numbers
    number: Numbers
    instance: Numbers
    begun_ns: Numbers
    asked_ns: Numbers
    ended_ns: Numbers
    sends: Numbers  # how many it has; 0: there is no such transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """Of a cycle, in the order in which they were due."""

    producer: Numbers
    window: Numbers
    partition: Numbers
    value: Numbers
    due_ns: Numbers
    start_ns: Numbers
    kind: Numbers
    appended_ns: Numbers
    acked_at: Numbers  # the offset; of acked ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Of a cycle's log, one partition after the other; a `send` of MARKER is a marker's."""

    partition: Numbers
    send: Numbers
    producer: Numbers
    window: Numbers
    late: Mask  # of the leader after the outage
    value: Numbers
    readable: Mask  # false: the payload is no value
    offset: Numbers
    stable_ns: Numbers  # from when on readers of committed records may be given it
    cut: Mask  # lost with the leader that died
    final: Mask  # whom it was given to: the final read, the consumer that follows the log,
    tail: Mask
    polled: Mask  # the group
    processed: Numbers  # how often the group processed it

    def of(self, partition: int) -> Numbers:
        """Those of one partition, in its order."""
        first, behind = np.searchsorted(self.partition, [partition, partition + 1])
        return np.arange(first, behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Twenty seconds of a load."""

    number: int
    start_ns: int
    epoch: int  # before its outage
    transactions: Transactions
    sends: Sends
    entries: Entries

    def ended_ns(self) -> Numbers:
        """When the transaction of each send ended."""
        return self.transactions.ended_ns[self.sends.producer, self.sends.window]


def begin(load: Load, number: int, state: State, rng: np.random.Generator) -> Cycle:
    """The next cycle, before offsets are given (`give_offsets`)."""
    start_ns = load.start_ns + number * CYCLE_NS
    due_ns = ((np.arange(load.sends) + 0.5) * (CYCLE_NS / load.sends)).astype(np.int64)
    producer = np.arange(load.sends) % PRODUCERS
    edges = _edges(load.window_ns)
    window = np.empty(load.sends, np.int64)
    for each in range(PRODUCERS):
        mine = producer == each
        window[mine] = np.searchsorted(edges[each], due_ns[mine], side="right") - 1
    count = np.zeros((PRODUCERS, edges.shape[1] - 1), np.int64)
    np.add.at(count, (producer, window), 1)
    transactions = _transactions(start_ns, edges, count, state, rng)
    ready_ns = np.concatenate([state.free_ns[:, None], transactions.ended_ns[:, :-1]], axis=1)
    begun_ns = np.maximum(start_ns + due_ns + 20_000, ready_ns[producer, window] + 10_000)
    led_ns = start_ns + LEADS_NS + (due_ns - OUTAGE_S * S) * 15 // 1000
    in_outage = window == _outage(edges)
    sends = Sends(
        producer=producer,
        window=window,
        partition=rng.integers(0, PARTITIONS, load.sends),
        value=(producer << 40) | (state.sequence[producer] + np.arange(load.sends) // PRODUCERS),
        due_ns=start_ns + due_ns,
        start_ns=begun_ns,
        kind=transactions.kind[producer, window],
        appended_ns=np.where(in_outage, np.maximum(begun_ns + MS, led_ns), begun_ns + MS),
        acked_at=np.full(load.sends, -1, np.int64),
    )
    state.sequence += load.sends // PRODUCERS
    state.transaction += transactions.kind.shape[1]
    state.instance[:] = transactions.instance[:, -1] + _replaced(transactions)[:, -1]
    state.free_ns[:] = transactions.ended_ns[:, -1]
    return Cycle(
        number=number,
        start_ns=start_ns,
        epoch=FIRST_EPOCH + number,
        transactions=transactions,
        sends=sends,
        entries=_entries(start_ns, sends, transactions),
    )


def give_offsets(cycle: Cycle, state: State) -> None:
    """The offset of each entry, and from when on it is stable; the acks tell it."""
    entries, sends = cycle.entries, cycle.sends
    ended_ns = cycle.transactions.ended_ns[entries.producer, entries.window]
    for partition in range(PARTITIONS):
        mine = entries.of(partition)
        cut = int(entries.cut[mine].sum())
        rank = np.arange(len(mine)) - np.where(entries.late[mine], cut, 0)
        entries.offset[mine] = state.offset[partition] + rank
        stable = np.maximum.accumulate(np.append(state.stable_ns[partition], ended_ns[mine]))[1:]
        entries.stable_ns[mine] = stable
        state.offset[partition] += len(mine) - cut
        state.stable_ns[partition] = stable[-1] if len(mine) else state.stable_ns[partition]
    record = entries.send != MARKER
    sends.acked_at[entries.send[record]] = entries.offset[record]


def _edges(window_ns: int) -> Numbers:
    """Where each producer's transactions begin: one row per producer; the last is the end."""
    before, after = OUTAGE_S * S, CYCLE_NS - int(LED_AGAIN_S * S)
    calm = np.linspace(0, before, max(1, before // window_ns) + 1).astype(np.int64)
    rest = np.linspace(LED_AGAIN_S * S, CYCLE_NS, max(1, after // window_ns) + 1).astype(np.int64)
    edges = np.tile(np.concatenate([calm, rest]), (PRODUCERS, 1))
    apart = np.arange(PRODUCERS)[:, None] * (window_ns // (PRODUCERS + 1))
    edges[:, 1 : len(calm) - 1] += apart  # they do not all commit at once
    return edges


def _outage(edges: Numbers) -> int:
    """The number of the window that lasts through the outage."""
    return int(np.searchsorted(edges[0], OUTAGE_S * S, side="right") - 1)


def _transactions(
    start_ns: int,
    edges: Numbers,
    sends: Numbers,
    state: State,
    rng: np.random.Generator,
) -> Transactions:
    windows = edges.shape[1] - 1
    number = state.transaction[:, None] + np.arange(windows)
    each = number * PRODUCERS + np.arange(PRODUCERS)[:, None]
    kind = np.select([each % EVERY == n for n in (7, 18, 29)], [ABORTED, DOUBTFUL, GONE], COMMITTED)
    kind[:, _outage(edges)] = COMMITTED
    kind[sends == 0] = COMMITTED
    asked_ns = start_ns + edges[:, 1:] + 2 * MS
    took_ms = np.minimum(2 + rng.lognormal(0.5, 0.6, kind.shape), 11)
    begun_ns = start_ns + edges[:, :-1]
    replaced = np.cumsum(np.isin(kind, (DOUBTFUL, GONE)), axis=1)
    instance = state.instance[:, None] + np.concatenate(
        [np.zeros((PRODUCERS, 1), np.int64), replaced[:, :-1]], axis=1
    )
    return Transactions(
        kind=kind,
        number=number,
        instance=instance,
        begun_ns=begun_ns,
        asked_ns=asked_ns,
        ended_ns=asked_ns + (took_ms * MS).astype(np.int64),
        sends=sends,
    )


def _replaced(transactions: Transactions) -> Numbers:
    return np.isin(transactions.kind, (DOUBTFUL, GONE)).astype(np.int64)


def _entries(start_ns: int, sends: Sends, transactions: Transactions) -> Entries:
    """Records and markers in the order in which they were appended."""
    windows = transactions.kind.shape[1]
    key = (sends.producer * windows + sends.window) * PARTITIONS + sends.partition
    marked = np.unique(key)
    of_transaction, where = marked // PARTITIONS, marked % PARTITIONS
    by, during = of_transaction // windows, of_transaction % windows
    marked_ns = transactions.ended_ns[by, during] - MS // 2
    partition = np.concatenate([sends.partition, where])
    appended_ns = np.concatenate([sends.appended_ns, marked_ns])
    order = np.lexsort((appended_ns, partition))
    count = len(sends.value)
    send = np.where(order < count, order, MARKER)
    shown = np.isin(sends.kind, (COMMITTED, DOUBTFUL))[send] & (send != MARKER)
    return Entries(
        partition=partition[order],
        send=send,
        producer=np.concatenate([sends.producer, by])[order],
        window=np.concatenate([sends.window, during])[order],
        late=appended_ns[order] >= start_ns + LEADS_NS,
        value=np.where(send != MARKER, sends.value[send], -1),
        readable=np.ones(len(order), bool),
        offset=np.zeros(len(order), np.int64),
        stable_ns=np.zeros(len(order), np.int64),
        cut=np.zeros(len(order), bool),
        final=shown.copy(),
        tail=shown.copy(),
        polled=shown.copy(),
        processed=shown.astype(np.int64),
    )
