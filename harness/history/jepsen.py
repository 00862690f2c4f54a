"""Exports a sealed history as Jepsen's Kafka workload would have recorded it: one EDN map a line.

    {:index 0, :time 0, :type :invoke, :process 0, :f :send, :value [[:send 2 7]]}
    {:index 1, :time 4100, :type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}
    {:index 2, :time 9000, :type :invoke, :process 1, :f :poll, :value [[:poll]]}
    {:index 3, :time 9900, :type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}

A key is a partition. Indexes are dense, times never go back, and a Jepsen process has one open
operation at a time:

- A producer's sends overlap: each goes to the first free Jepsen process of that producer. A process
  whose operation ended :info is not used again. A send that never ended is :info at the end of the
  load, not an open invocation: Jepsen's checker learns from completions only who sent a value.
- With a transactional.id the sends that are open together are one :txn. One of mixed ends is :info.
  A send that never ended holds no transaction open.
- The records of one poll call are one :poll. An :assign says which partitions a reader has: before
  its first poll, and when a member of a group gets some or loses them.
- Every final read is a process of its own, after all else.

It leaves out, and counts, what Jepsen's model does not know, and records with a value that nobody
sent to their partition, because its checker gives up on them. A table that is missing, has changed
since sealing, or was not sealed with the others is an error: half a history would be judged as a
whole one. docs/history.md says how to read it.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.history.record_format import F_NAMES, TYPE_NAMES, HistoryError
from harness.history.seal_record import Seal, sealed_operations, sealed_table
from harness.history.sealing import seal
from harness.history.tables import EVENT_COLUMNS, OPERATION_COLUMNS, partitions_named, schema
from harness.model.runs.run_folder import RunFolder

Entry = tuple[int, str, int, str, str]  # time_ns, type, process, f, value in EDN
Row = tuple[str, int, int, int | None, int, int | None]  # type to end_ns of _COLUMNS
Rows = Iterator[Row]
Change = tuple[int, str, frozenset[int]]  # time_ns, "assigned" or "revoked", partitions
Poll = tuple[int, int, Mapping[int, list[str]]]  # start_ns, end_ns, partition -> [offset value]
Numbers = np.ndarray[Any, Any]
Sent = tuple[Numbers, Numbers]  # values, in order, and the partition of each

BATCH: Final = 10_000
_COLUMNS: Final = ("id", "f", "type", "partition", "value", "offset", "start_ns", "end_ns")
_EVENT_COLUMNS: Final = ("process", "time_ns", "event", "text")
_READS: Final = ("read", "poll", "final-read")
_UNKNOWN_TO_JEPSEN: Final = {
    "lookup": "look-ups",
    "process": "processed records",
    "commit": "commits",
    "committed": "committed offsets that members were told",
    "replica": "records of replicas",
}
BAD_ROWS: Final = "rows that no recorder writes"
UNPARSABLE: Final = "records read whose payload is no value"
NEVER_SENT: Final = "records read whose value nobody sent to their partition"
MIXED_ACKS: Final = "acks of transactions with mixed ends, which are :info"


def export(run_dir: Path, left_out: Counter[str]) -> Iterator[str]:
    """Yield every line of a run's history for Jepsen; seals it first.

    Adds to `left_out` what the lines lack: words -> how many. Raises HistoryError and StoreError.
    """
    load, final = _streams(RunFolder(path=run_dir), seal(run_dir), left_out)
    by_time: Callable[[Entry], int] = itemgetter(0)
    entries = itertools.chain(heapq.merge(*load, key=by_time), heapq.merge(*final, key=by_time))
    zero_ns: int | None = None
    for index, (time_ns, type_, process, f, value) in enumerate(entries):
        zero_ns = time_ns if zero_ns is None else zero_ns
        yield (
            f"{{:index {index}, :time {time_ns - zero_ns}, :type :{type_}, "
            f":process {process}, :f :{f}, :value {value}}}"
        )


def _streams(
    run: RunFolder, sealed: Seal, left_out: Counter[str]
) -> tuple[list[Iterator[Entry]], list[Iterator[Entry]]]:
    """The entries of each producer and reader in order of time, and those of each final read."""
    scenario = run.read().scenario
    transactional = "transactional.id" in scenario.workload.producer
    operations = _operations(run.history, sealed)
    tables = {name: _possible_rows(table, left_out) for name, table in operations.items()}
    events = sealed_table(run.history, "events.parquet", sealed, EVENT_COLUMNS)
    changes = _changes(events.select(_EVENT_COLUMNS))
    load_end_ns = _load_end(tables.values())
    sent = _sent(tables.values())
    numbers = itertools.count()
    load: list[Iterator[Entry]] = []
    final: list[Iterator[Entry]] = []
    for name, table in tables.items():
        sends = _sends(_of(table, "send"), transactional, load_end_ns, left_out)
        load.append(_deal(sends, numbers))
        for f in _READS:
            rows = _sent_only(_of(table, f), sent, left_out)
            if len(rows) == 0:
                continue
            everything = frozenset(range(scenario.topic.partitions))
            at_once = [(pc.min(rows["start_ns"]).as_py(), "assigned", everything)]
            given = changes.get(name, []) if f == "poll" else at_once
            if f == "final-read":
                final.append(_read(_polls(rows), given, numbers, load_end_ns))
            else:
                load.append(_read(_polls(rows), given, numbers, 0))
    return load, final


def _sends(
    table: pa.Table, transactional: bool, load_end_ns: int, left_out: Counter[str]
) -> Iterator[_Operation]:
    """A producer's operations, in order of their begin."""
    rows = _rows(table)
    if transactional:
        return (_transaction(group, load_end_ns, left_out) for group in _open_together(rows))
    return (_operation("send", [row], row[0], load_end_ns) for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """One :send or :txn."""

    start_ns: int
    end_ns: int
    f: str
    type: str
    invoked: str  # its value
    completed: str


def _operation(f: str, rows: Sequence[Row], type_: str, load_end_ns: int) -> _Operation:
    """One operation of these sends, which ends with the last of them."""
    invoked = " ".join(f"[:send {partition} {value}]" for _, partition, value, *_ in rows)
    completed = " ".join(
        f"[:send {partition} [{'nil' if offset is None else offset} {value}]]"
        for _, partition, value, offset, *_ in rows
    )
    ends = [end for *_, end in rows if end is not None]
    return _Operation(
        start_ns=rows[0][4],
        end_ns=max(ends, default=load_end_ns),
        f=f,
        type=type_,
        invoked=f"[{invoked}]",
        completed=f"[{completed if type_ == 'ok' else invoked}]",
    )


def _open_together(rows: Rows) -> Iterator[list[Row]]:
    """Groups of sends that are open together, in order of their begin. A send that never ended
    joins what was open when it began, or others like it; no later send joins it."""
    group: list[Row] = []
    until_ns: int | None = None
    for row in rows:
        *_, start_ns, end_ns = row
        joins = end_ns is None if until_ns is None else start_ns < until_ns
        if group and not joins:
            yield group
            group, until_ns = [], None
        group.append(row)
        if end_ns is not None:
            until_ns = end_ns if until_ns is None else max(until_ns, end_ns)
    if group:
        yield group


def _transaction(rows: Sequence[Row], load_end_ns: int, left_out: Counter[str]) -> _Operation:
    types = Counter(row[0] for row in rows)
    if len(types) == 1:
        return _operation("txn", rows, rows[0][0], load_end_ns)
    if types["ok"]:
        left_out[MIXED_ACKS] += types["ok"]
    return _operation("txn", rows, "info", load_end_ns)


def _deal(operations: Iterator[_Operation], numbers: Iterator[int]) -> Iterator[Entry]:
    """Deal a producer's operations, in order of their begin, to Jepsen processes."""
    free: list[int] = []
    open_: list[tuple[int, int, _Operation]] = []  # end_ns, process

    def ended() -> Entry:
        end_ns, process, operation = heapq.heappop(open_)
        if operation.type != "info":
            heapq.heappush(free, process)
        return end_ns, operation.type, process, operation.f, operation.completed

    for operation in operations:
        while open_ and open_[0][0] <= operation.start_ns:
            yield ended()
        process = heapq.heappop(free) if free else next(numbers)
        yield operation.start_ns, "invoke", process, operation.f, operation.invoked
        heapq.heappush(open_, (operation.end_ns, process, operation))
    while open_:
        yield ended()


def _read(
    polls: Iterator[Poll], given: Sequence[Change], numbers: Iterator[int], now_ns: int
) -> Iterator[Entry]:
    """The entries of one reader from `now_ns` on, as one Jepsen process: its polls follow one
    another.

    An assignment in the middle of a poll comes before it, because the poll's records came
    afterwards.
    """
    process, waiting = next(numbers), deque(given)
    has: frozenset[int] = frozenset()
    for start_ns, end_ns, by_partition in polls:
        while waiting and waiting[0][0] <= end_ns:
            changed_ns, what, partitions = waiting.popleft()
            has = has | partitions if what == "assigned" else has - partitions
            now_ns = max(now_ns, changed_ns)
            yield from _assign(now_ns, process, has)
        now_ns = max(now_ns, start_ns)
        if not has >= by_partition.keys():  # no event recorded this assignment
            has |= by_partition.keys()
            yield from _assign(now_ns, process, has)
        yield now_ns, "invoke", process, "poll", "[[:poll]]"
        now_ns = max(now_ns, end_ns)
        records = ", ".join(
            f"{key} [{' '.join(by_partition[key])}]" for key in sorted(by_partition)
        )
        yield now_ns, "ok", process, "poll", f"[[:poll {{{records}}}]]"


def _assign(time_ns: int, process: int, partitions: Iterable[int]) -> Iterator[Entry]:
    keys = f"[{' '.join(map(str, sorted(partitions)))}]"
    for type_ in ("invoke", "ok"):
        yield time_ns, type_, process, "assign", keys


def _polls(table: pa.Table) -> Iterator[Poll]:
    """The records of each poll call: those of one reader that began together."""
    for start_ns, rows in itertools.groupby(_rows(table), key=itemgetter(4)):
        by_partition: dict[int, list[str]] = {}
        end_ns = start_ns
        for _, partition, value, offset, _, end in rows:
            by_partition.setdefault(partition, []).append(f"[{offset} {value}]")
            end_ns = max(end_ns, end or start_ns)
        yield start_ns, end_ns, by_partition


def _operations(history: Path, sealed: Seal) -> dict[str, pa.Table]:
    """The operations of every process that was sealed, and of no other."""
    for file in sorted((history / "operations").glob("*.parquet")):
        if file.stem not in sealed.processes:
            raise HistoryError(
                f"{file}: it was not sealed with this history: move it out of the folder"
            )
    tables = sealed_operations(history, sealed)
    return {process: table.select(_COLUMNS) for process, table in tables.items()}


def _possible_rows(table: pa.Table, left_out: Counter[str]) -> pa.Table:
    """The rows that a recorder can have written and that Jepsen's workload knows."""
    f, type_, start, end = (table[name] for name in ("f", "type", "start_ns", "end_ns"))
    is_read = pc.is_in(f, pa.array(_READS))
    whole_read = pc.and_(pc.is_valid(end), pc.greater_equal(table["offset"], 0))
    possible = pc.if_else(is_read, pc.and_(whole_read, pc.equal(type_, "ok")), True)
    for rule in (
        pc.is_in(f, pa.array(sorted(F_NAMES.values()))),
        pc.is_in(type_, pa.array(sorted(set(TYPE_NAMES.values())))),
        pc.greater_equal(table["partition"], 0),
        pc.or_(pc.not_equal(f, "send"), pc.is_valid(table["value"])),
        pc.greater(start, 0),
        pc.greater_equal(pc.fill_null(end, 2**62), start),
        pc.or_(pc.is_valid(end), pc.equal(type_, "info")),
    ):
        possible = pc.and_(possible, rule)
    good = table.filter(pc.fill_null(possible, False))
    if good.num_rows < table.num_rows:
        left_out[BAD_ROWS] += table.num_rows - good.num_rows
    for f_name, words in _UNKNOWN_TO_JEPSEN.items():
        if many := pc.sum(pc.equal(good["f"], f_name)).as_py():
            left_out[words] += many
    return good.filter(pc.is_in(good["f"], pa.array(["send", *_READS])))


def _of(table: pa.Table, f: str) -> pa.Table:
    """The operations of one kind, in order of their begin."""
    chosen = table.filter(pc.equal(table["f"], f)).drop_columns(["f"])
    return chosen.sort_by([("start_ns", "ascending"), ("id", "ascending")]).drop_columns(["id"])


def _rows(table: pa.Table) -> Rows:
    """The rows as tuples; converts a batch at a time."""
    for batch in table.to_batches(max_chunksize=BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _sent(tables: Iterable[pa.Table]) -> Sent:
    """The sent values in order, and the partition of each."""
    nothing = schema(OPERATION_COLUMNS).empty_table().select(["value", "partition"])
    sends = [table.filter(pc.equal(table["f"], "send")) for table in tables]
    merged = pa.concat_tables([nothing, *(send.select(["value", "partition"]) for send in sends)])
    ordered = merged.sort_by("value")
    return ordered["value"].to_numpy(), ordered["partition"].to_numpy()


def _sent_only(reads: pa.Table, sent: Sent, left_out: Counter[str]) -> pa.Table:
    """The records read that somebody sent to the partition where they were read."""
    ours = reads.filter(pc.is_valid(reads["value"]))
    values, partitions = sent
    at = np.searchsorted(values, ours["value"].to_numpy())
    matches = at < len(values)
    at[~matches] = 0
    if len(values):
        matches &= values[at] == ours["value"].to_numpy()
        matches &= partitions[at] == ours["partition"].to_numpy()
    if len(ours) < len(reads):
        left_out[UNPARSABLE] += len(reads) - len(ours)
    if not matches.all():
        left_out[NEVER_SENT] += int((~matches).sum())
    return ours.filter(pa.array(matches))


def _changes(events: pa.Table) -> dict[str, list[Change]]:
    """The partitions that members of a group got and lost, in order of time."""
    by_process: dict[str, list[Change]] = {}
    chosen = events.filter(pc.is_in(events["event"], pa.array(["assigned", "revoked"])))
    for row in chosen.sort_by("time_ns").to_pylist():
        change = row["time_ns"], row["event"], frozenset(partitions_named(row["text"]))
        by_process.setdefault(row["process"], []).append(change)
    return by_process


def _load_end(tables: Iterable[pa.Table]) -> int:
    """The end of the last operation before the final reads."""
    times = [0]
    for table in tables:
        rows = table.filter(pc.not_equal(table["f"], "final-read"))
        times += [pc.max(rows[name]).as_py() or 0 for name in ("start_ns", "end_ns")]
    return max(times)
