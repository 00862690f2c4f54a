"""From when on a transaction is settled: the markers that end it are written.

    transaction 3 committed; a send of transaction 4 acknowledged at 2 s    =>  3 is settled by 2 s
    transaction 3 in doubt; the next client of its worker, or of its place, begins one at 2 s
                                                                            =>  3 is settled by 2 s
    transaction 3 committed; a reader of committed records got one of its records, of
    partition 0, at 1.5 s                                    =>  in partition 0, and 2 everywhere
    none of these                                            =>  not known

A coordinator answers a commit or an abort once that is in its own log, and then writes the markers
of the partitions (KIP-98). Until all are written, it refuses the next transaction of the same
transactional.id, and gives that id to no other client: so the first trace of either settles all
earlier ones. Readers of committed records get a record once its marker is in every replica of the
ISR; a read of a transaction without a request to commit proves nothing.

The driver reads this for runs with a strike or an unclean election.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analysis.stored.fact_rows import SettledRow
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.history.tables import OPERATION_COLUMNS, schema

READINGS = ("read", "lookup", "poll")
TRANSACTION = ["process", "transaction"]
COMMIT_ASKED, COMMITTED, ABORTED = "commit-asked", "committed", "aborted"
LAST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """From a moment on a worker's transactions up to one are settled, in a partition or in all."""

    time_ns: int
    process: str
    transaction: int
    partition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a run tells of that."""

    traces: tuple[Trace, ...] = ()

    def before(self, time_ns: int) -> list[SettledRow]:
        """The last transactions that were settled before a moment: rows of schema.SETTLED."""
        last: dict[tuple[str, int | None], int] = {}
        for trace in self.traces:
            if trace.time_ns < time_ns:
                key = trace.process, trace.partition
                last[key] = max(trace.transaction, last.get(key, trace.transaction))
        return [
            {"sender": crc32(process.encode()), "partition": partition, "transaction": transaction}
            for (process, partition), transaction in last.items()
        ]


def settled_in(run: Run) -> Settled:
    """What a stored run tells; nothing where nobody told of transactions."""
    if not run.tells_transactions or not run.tables:
        return Settled()
    events = [each for each in run.events if each["event"] == "transaction"]
    sends = _sends(run.tables)
    found = [*_next_clients(events), *_next_sends(sends)]
    if not run.reads_uncommitted:
        found += _readings(_readings_of(run.tables, sends), events)
    return Settled(traces=tuple(found))


def _sends(files: Iterable[Path]) -> pa.Table:
    """Those in transactions that are not known to have failed."""
    columns = [*TRANSACTION, "type", "value", "end_ns"]
    sent = (ds.field("f") == "send") & ds.field("transaction").is_valid()
    return _operations(files, columns, sent & (ds.field("type") != "fail"))


def _operations(files: Iterable[Path], columns: list[str], which: ds.Expression) -> pa.Table:
    every = ds.dataset([str(file) for file in files], schema=schema(OPERATION_COLUMNS))
    return every.to_table(columns=columns, filter=which)


def _next_clients(events: Iterable[Event]) -> Iterator[Trace]:
    """The first transaction of each client that took over: of a worker's next one, and of the
    worker in its place, producer-0-2 after producer-0."""
    first: dict[tuple[str, int | None], Event] = {}
    for event in sorted(events, key=lambda each: int(each["time_ns"])):
        if event["name"] == "begun" and event["transaction"] is not None:
            first.setdefault((event["process"], event["instance"]), event)
    for taker, other in permutations(first.values(), 2):
        mine = _place(taker["process"]) == _place(other["process"])
        if mine and other["time_ns"] < taker["time_ns"]:
            same = other["process"] == taker["process"]
            last = taker["transaction"] if same else LAST
            yield _all_before(taker["time_ns"], other["process"], last)


def _place(process: str) -> str:
    """Workers of one place have one transactional.id."""
    found = re.match(r".*?-\d+(?=$|-)", process)
    return found[0] if found else process


def _next_sends(sends: pa.Table) -> Iterator[Trace]:
    acked = sends.filter(pc.equal(sends["type"], "ok"))
    for row in acked.group_by(TRANSACTION).aggregate([("end_ns", "min")]).to_pylist():
        yield _all_before(row["end_ns_min"], row["process"], row["transaction"])


def _readings_of(files: Iterable[Path], sends: pa.Table) -> pa.Table:
    """When readers were first given any record of each transaction and partition."""
    given = ds.field("f").isin(READINGS) & (ds.field("type") == "ok") & ds.field("value").is_valid()
    readings = _operations(files, ["value", "partition", "end_ns"], given)
    first = readings.group_by(["value", "partition"]).aggregate([("end_ns", "min")])
    whose = sends.select([*TRANSACTION, "value"])
    by_transaction = first.join(whose, "value", join_type="inner").group_by(
        [*TRANSACTION, "partition"]
    )
    return by_transaction.aggregate([("end_ns_min", "min")])


def _readings(first: pa.Table, events: Iterable[Event]) -> Iterator[Trace]:
    names: dict[tuple[str, int], set[str]] = {}
    for event in events:
        names.setdefault((event["process"], event["transaction"]), set()).add(event["name"])
    for row in first.to_pylist():
        process, transaction = row["process"], row["transaction"]
        known = names.get((process, transaction), set())
        if COMMIT_ASKED in known and ABORTED not in known:
            time_ns = row["end_ns_min_min"]
            yield Trace(
                time_ns=time_ns,
                process=process,
                transaction=transaction,
                partition=row["partition"],
            )
            yield _all_before(time_ns, process, transaction)


def _all_before(time_ns: int, process: str, transaction: int) -> Trace:
    return Trace(time_ns=time_ns, process=process, transaction=transaction - 1)
