"""Cycles between transactions: who read from whom, and whose records lie before whose.

A *node* is a transaction: a worker and its number. Three sorts of edges lie between them:

    wr    transaction 1 of a sent a, transaction 2 of b processed a             =>  a's 1 -> b's 2
    ww    the final read has a record of a's 1 and, next, one of b's 2          =>  a's 1 -> b's 2
    both  the two together

A *cycle* is a strong component of two nodes or more (Tarjan's, by SciPy). Those of wr edges alone
are Adya's G1c as Kafka can promise it. Those of ww edges are G0, and only counted: nothing keeps
two transactions in the same order in all partitions that they write.

    a's 1 processed y, and sent x; b's 2 processed x, and sent y                =>  both, by reading
    log of 0: a's 1, b's 2    log of 1: b's 2, a's 1                            =>  both, by writing

What counts of a transaction:

- It is *committed* if its worker noted so, or if it had asked for the commit, does not know of an
  abort, and a final read of committed records has one of its records: who sees a part may see all.
- What was aborted for certain, or never asked to be committed, is no node: a record of it that was
  read is a phantom or an uncommitted read. Its records are passed over between the writes, too.
- A `process` that did not fail is a reading of its transaction, whatever became of its worker.

A transaction reads before it asks for its commit. So a cycle needs an edge to a transaction that
asked no later than the one it starts from; without any, no component is computed, and SciPy is not
imported. Rows that damage left out make fewer edges, never more.

The driver reads this once for each run with transactions; it holds their sends and readings and the
final read: 32 bytes for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.columns import Numbers, found_at, whole_numbers
from analysis.stored.fact_rows import CircularRow
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from analysis.stored.transactions.settled import ABORTED, COMMIT_ASKED, COMMITTED

COLUMNS = ("process", "f", "type", "transaction", "partition", "value", "offset", "start_ns")
NOBODY = -1  # as found_at says it
OFFSET_BITS = 48  # of a place: a partition and an offset in one number

Mask = npt.NDArray[np.bool_]
Edges = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # from, to: numbers of nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The cycles of one run: rows of schema.CIRCULAR, and how many transactions are committed and
    in cycles."""

    rows: tuple[CircularRow, ...] = ()
    committed: int = 0
    in_write_circles: int = 0
    in_circles: int = 0  # of writes, readings or both


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """The transactions that asked for their commit and were not aborted, in order of their keys."""

    keys: Numbers  # the worker's number << 32 | its transaction
    asked_ns: Numbers
    known: Mask  # that they were committed

    def at(self, keys: Numbers) -> Numbers:
        """The node of each key; NOBODY where there is none."""
        return found_at(self.keys, keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readings:
    """Records that a transaction processed and another one sent, in order of time."""

    of: Numbers  # the node that sent it
    by: Numbers  # the node that processed it
    value: Numbers
    partition: Numbers
    offset: Numbers
    start_ns: Numbers

    def where(self, some: npt.NDArray[Any]) -> _Readings:
        """Some of them, or all in another order."""
        return _Readings(**{name: getattr(self, name)[some] for name in self.__slots__})

    def first(self, whose: str) -> dict[int, int]:
        """The first of each node that sent it (`of`), or processed it (`by`)."""
        nodes, first = np.unique(getattr(self, whose), return_index=True)
        return dict(zip(nodes.tolist(), first.tolist(), strict=True))


def cycles_of(run: Run) -> Cycles | None:
    """The cycles of a run; None if it does not record transactions."""
    if not run.tells_transactions:
        return None
    return cycles_in(
        read_operations(run.tables),
        [event for event in run.events if event["event"] == "transaction"],
        shows_committed=not run.reads_uncommitted,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The operations that make cycles, in numbers: a key is a worker's number << 32 | its
    transaction."""

    processes: tuple[str, ...]
    sent: tuple[Numbers, Numbers]  # keys, values: sends in transactions that did not fail
    # Places, values: records of the final read, in parts, since these are all that the log has.
    final: tuple[tuple[Numbers, Numbers], ...]
    processed: tuple[Numbers, ...]  # keys, and as _NAMES: records processed in transactions

    @property
    def num_rows(self) -> int:
        """How many operations these are."""
        return sum(len(columns[0]) for columns in (self.sent, self.processed, *self.final))


def read_operations(files: Iterable[Path]) -> Read:
    """Read the operations that make cycles from files, a row group at a time."""
    numbers: dict[str, int] = {}
    parts: dict[str, list[tuple[Numbers, ...]]] = {f: [] for f in _KINDS}
    for file in files:
        with pq.ParquetFile(file, read_dictionary=["process", "f", "type"]) as opened:
            if not set(COLUMNS) <= set(opened.schema_arrow.names):
                continue
            for number in range(opened.num_row_groups):
                group = opened.read_row_group(number, columns=list(COLUMNS))
                for f, part in _parts(group, numbers):
                    parts[f].append(part)
    sent, processed = (_concatenated(parts[f], [np.int64] * wide) for f, wide in _WIDE.items())
    return Read(
        processes=tuple(numbers),
        sent=(sent[0], sent[1]),
        final=tuple((places, values) for places, values in parts["final-read"]),
        processed=processed,
    )


def _concatenated(parts: Sequence[tuple[Any, ...]], kinds: Sequence[type]) -> tuple[Any, ...]:
    """The columns of all parts (or none), one after the other."""
    nothing: list[npt.NDArray[Any]] = [np.zeros(0, dtype=kind) for kind in kinds]
    return tuple(np.concatenate(column) for column in zip(nothing, *parts, strict=True))


def _parts(group: pa.Table, numbers: dict[str, int]) -> Iterable[tuple[str, tuple[Numbers, ...]]]:
    """A row group's operations by kind. `numbers`: process -> number, in order of appearance."""
    for f in _KINDS:
        rows = group.filter(pc.equal(group["f"], f))
        if not rows.num_rows:
            continue
        if f == "final-read":
            place = whole_numbers(rows, "partition") << OFFSET_BITS
            place += whole_numbers(rows, "offset")
            yield f, (place, whole_numbers(rows, "value"))
            continue
        counts = pc.and_(pc.is_valid(rows["transaction"]), pc.not_equal(rows["type"], "fail"))
        if f == "send":
            counts = pc.and_(counts, pc.is_valid(rows["value"]))
        rows = rows.filter(counts)
        names = rows["process"].cast(pa.string())
        for name in pc.unique(names).to_pylist():
            numbers.setdefault(name, len(numbers))
        worker = pc.index_in(names, pa.array(list(numbers), pa.string())).cast(pa.int64())
        key = (worker.to_numpy() << 32) | whole_numbers(rows, "transaction")
        columns = ("value",) if f == "send" else _NAMES
        yield f, (key, *(whole_numbers(rows, name) for name in columns))


def cycles_in(operations: Read, events: Iterable[Event], *, shows_committed: bool) -> Cycles:
    """The cycles of these operations. `events`: the workers', of transactions; `shows_committed`:
    what the final read has was committed."""
    listed = list(events)
    of_events = (event["process"] for event in listed)
    processes = list(dict.fromkeys([*operations.processes, *of_events]))
    asked = _nodes(listed, processes)
    written = _writers(*operations.sent, asked)
    log = _log(operations.final, written)
    in_log = np.zeros(len(asked.keys), dtype=bool)
    in_log[log[1]] = shows_committed
    committed = asked.known | in_log
    readings = _readings(operations.processed, asked, written)
    readings = readings.where(committed[readings.of] & committed[readings.by])
    reads, writes = (readings.of, readings.by), _neighbours(*log, committed)
    both = (np.concatenate([reads[0], writes[0]]), np.concatenate([reads[1], writes[1]]))
    rows = _rows(readings, components(reads, asked.asked_ns), asked.keys, processes)
    return Cycles(
        rows=tuple(rows),
        committed=int(committed.sum()),
        in_write_circles=int(_in_circles(components(writes, asked.asked_ns)).sum()),
        in_circles=int(_in_circles(components(both, asked.asked_ns)).sum()),
    )


def components(edges: Edges, order: Numbers) -> Numbers | None:
    """The strong component of each node; None if all edges follow an order, so that there is no
    cycle."""
    tails, heads = edges
    if np.all(order[tails] < order[heads]):
        return None
    from scipy.sparse import coo_array  # noqa: PLC0415  few histories need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    count = len(order)
    # A second edge adds nothing, and would be summed.
    once = np.unique(tails.astype(np.int64) * count + heads)
    graph = coo_array((np.ones(len(once), dtype=np.int8), divmod(once, count)), shape=(count,) * 2)
    found: Numbers = connected_components(graph.tocsr(), connection="strong")[1].astype(np.int64)
    return found


_KINDS = ("send", "process", "final-read")
_NAMES = ("value", "partition", "offset", "start_ns")
_WIDE = {"send": 2, "process": 1 + len(_NAMES)}  # columns


def _nodes(events: Iterable[Event], processes: list[str]) -> _Nodes:
    numbers = {process: number for number, process in enumerate(processes)}
    asked, ended = dict[int, int](), dict[int, set[str]]()
    for event in events:
        if event["transaction"] is None:
            continue
        key = (numbers[event["process"]] << 32) | event["transaction"]
        time_ns = int(event["time_ns"])
        if event["name"] == COMMIT_ASKED:
            asked[key] = min(time_ns, asked.get(key, time_ns))
        ended.setdefault(key, set()).add(event["name"])
    keys = sorted(key for key in asked if ABORTED not in ended[key])
    return _Nodes(
        keys=np.array(keys, dtype=np.int64),
        asked_ns=np.array([asked[key] for key in keys], dtype=np.int64),
        known=np.array([COMMITTED in ended[key] for key in keys], dtype=bool),
    )


def _writers(keys: Numbers, value: Numbers, nodes: _Nodes) -> Edges:
    """Values in order, and the node that sent each; NOBODY if two did."""
    node = nodes.at(keys)
    if np.all(np.diff(value) > 0):  # as workers with numbers in order have them
        return value, node
    values, first, often = np.unique(value, return_index=True, return_counts=True)
    return values, np.where(often == 1, node[first], NOBODY)


def _whose(values: Numbers, written: Edges) -> Numbers:
    """The node that sent each value; NOBODY where that is not known."""
    sent, nodes = written
    if not len(sent):
        return np.full(len(values), NOBODY)
    at = found_at(sent, values)
    return np.where(at != NOBODY, nodes[at], NOBODY)


def _log(final: Iterable[tuple[Numbers, Numbers]], written: Edges) -> Edges:
    """Partition and node of the records of transactions, as the final read has them in order: 32
    bits each, since there are as many as records."""
    parts = []
    for places, values in final:
        node = _whose(values, written)
        parts.append((places[node != NOBODY], node[node != NOBODY].astype(np.int32)))
    place, whose = _concatenated(parts, (np.int64, np.int32))
    order = np.argsort(place, kind="stable")
    partition = ((place + 1) >> OFFSET_BITS).astype(np.int32)  # an offset that is null is -1
    return partition[order], whose[order]


def _neighbours(partition: Numbers, whose: Numbers, committed: Mask) -> Edges:
    """From each record's node to that of the next one, without what is not committed."""
    kept = committed[whose]
    partition, whose = partition[kept], whose[kept]
    next_ = (partition[1:] == partition[:-1]) & (whose[1:] != whose[:-1])
    return whose[:-1][next_], whose[1:][next_]


def _readings(processed: tuple[Numbers, ...], nodes: _Nodes, written: Edges) -> _Readings:
    keys, *columns = processed
    by_name = dict(zip(_NAMES, columns, strict=True))
    every = _Readings(by=nodes.at(keys), of=_whose(by_name["value"], written), **by_name)
    some = every.where((every.by != NOBODY) & (every.of != NOBODY) & (every.by != every.of))
    return some.where(np.lexsort((some.by, some.offset, some.partition, some.value, some.start_ns)))


def _in_circles(components: Numbers | None) -> Mask:
    """Which nodes share their component with another one."""
    if components is None:
        return np.zeros(0, dtype=bool)
    shared: Mask = np.bincount(components)[components] > 1
    return shared


def _rows(
    readings: _Readings, components: Numbers | None, keys: Numbers, processes: list[str]
) -> Iterable[CircularRow]:
    """A row for each transaction in a cycle of readings: the first record that it read in it, and
    the first of its own that was read in it."""
    if components is None:
        return
    within = readings.where(components[readings.of] == components[readings.by])
    read, own = within.first("by"), within.first("of")
    for node, first in read.items():
        other = own[node]
        reader, writer = (_name(keys[at], processes) for at in (node, within.of[first]))
        yield {
            "value": int(within.value[first]),
            "partition": int(within.partition[first]),
            "offset": _or_none(within.offset[first]),
            "time_ns": int(within.start_ns[first]),
            "other_value": int(within.value[other]),
            "other_partition": int(within.partition[other]),
            "other_offset": _or_none(within.offset[other]),
            "reader": f"{reader}, from {writer}",
        }


def _name(key: int, processes: list[str]) -> str:
    return f"transaction {int(key) & 0xFFFFFFFF} of {processes[int(key) >> 32]}"


def _or_none(number: int) -> int | None:
    return None if number < 0 else int(number)
