"""Events of workers compared with their operations: a missing event is damage.

    a member polls partition 0, and was never assigned it      =>  damage
    it is assigned it again, and it was not revoked between    =>  damage
    it polls in generation 3 without an event `member` of 3    =>  damage
    a send of transaction 4 without `begun` of 4               =>  damage
    transaction 5 has begun, and 4 has no outcome              =>  damage
    a send of transaction 4 is ok, and no commit is recorded   =>  damage
    a record without value, and no event shows its payload     =>  damage
    no `end`, and sealing did not miss it                      =>  damage
    an `end` that counts 17 events before it, and there are 16 =>  damage

A worker writes an event before the operations that follow from it, each with one system call: a
killed one may lack the outcome of its last transaction, and its `end`, but nothing before.

Operations of format 1 have neither transactions nor generations, and an `end` from before
2026-11-24 does not count events: these checks are left out there.

Cannot see: an event of a killed worker that no operation follows from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.columns import format_of, nulls, statistics
from analysis.stored.table_rows import Event
from harness.history.tables import partitions_named
from harness.model.runs import json_text
from harness.model.worker_kinds import kind_named

OUTCOMES = frozenset({"committed", "aborted", "unknown"})
ASKED = {"committed": "commit-asked", "aborted": "abort-asked"}
NO_VALUE = ("unparsable", "corrupt-payload")
_OWN = ("send", "process", "commit")  # what belongs to a worker's own transactions
_READ = ("read", "final-read", "poll", "output", "final-output")
_COLUMNS = ["f", "type", "partition", "end_ns", "transaction", "generation"]


def missing_events(
    events: Sequence[Event],
    files: Mapping[str, Path],
    unended: Collection[str],
    *,
    values_told: bool = True,
) -> Iterator[str]:
    """One sentence per missing event of the workers with these tables of operations; reads those of
    members and of producers with transactions. `unended`: workers that sealing found without
    `end`."""
    by_process = defaultdict[str, list[Event]](list)
    for event in events:
        by_process[str(event["process"])].append(event)
    for process, file in files.items():
        mine = by_process.get(process, [])
        lived = {event["event"] for event in mine}
        if "start" in lived and "end" not in lived and process not in unended:
            yield f"of {process} the end is missing"
        with pq.ParquetFile(file) as parquet:
            shown = sum(event["event"] in NO_VALUE for event in mine)
            if values_told and _without_value(parquet) > shown:
                yield f"of {process} not every record without value is shown"
            for why in (_counted(parquet.metadata.num_rows, mine), *_own(process, parquet, mine)):
                if why is not None:
                    yield f"of {process} {why}"


def _without_value(parquet: pq.ParquetFile) -> int:
    """The number of records that were read without a value."""
    if not any(nulls(parquet.metadata, "value")):
        return 0
    table = parquet.read(["f", "value"])
    read = pc.is_in(table["f"], value_set=pa.array(_READ))
    return int(pc.sum(pc.and_(read, pc.is_null(table["value"])), min_count=0).as_py())


def _own(process: str, parquet: pq.ParquetFile, mine: Sequence[Event]) -> Iterator[str | None]:
    kind = kind_named(process)
    if not parquet.metadata.num_rows or kind is None:
        return
    if format_of(parquet.metadata) != 2:
        if any(event["instance"] is not None for event in mine):
            yield "clients are told, and its operations know none"
        return
    if not kind.member and not (kind.sends and statistics(parquet.metadata, "transaction")):
        return
    table = parquet.read(_COLUMNS)
    if kind.sends:
        yield _transactions(table, mine)
    if kind.member:
        yield _membership(table.filter(pc.equal(table["f"], "poll")), mine)


def _counted(operations: int, mine: Sequence[Event]) -> str | None:
    """Why the counts of the worker's `end` are wrong; None if they are not."""
    number = next((n for n, event in enumerate(mine) if event["event"] == "end"), None)
    if number is None:
        return None
    try:
        counts = json_text.loads(mine[number]["text"] or "{}")
    except ValueError:
        return "the end is no JSON"
    if not isinstance(counts, dict) or "reason" not in counts:
        return "the end gives no reason"
    found = {"operations": operations, "events": number}
    for name, rows in found.items():
        if counts.get(name, rows) != rows:
            return f"there are {rows:,} {name}, and its end counts {counts[name]}"
    return None


def _transactions(table: pa.Table, mine: Sequence[Event]) -> str | None:
    names = defaultdict[int, set[str]](set)
    for event in mine:
        if event["event"] == "transaction":
            names[event["transaction"]].add(event["name"])
    own = table.filter(pc.is_in(table["f"], value_set=pa.array(_OWN)))
    did = set(pc.unique(own["transaction"]).drop_null().to_pylist())
    for number in sorted(did | names.keys()):
        if "begun" not in names.get(number, ()):
            return f"the begin of transaction {number} is missing"
    if names and len(names) != max(names) + 1:
        return f"a transaction before {max(names)} is missing"
    acked = own.filter(pc.equal(own["type"], "ok"))["transaction"]
    committed = set(pc.unique(acked).drop_null().to_pylist())
    for number, known in sorted(names.items()):
        over = known & OUTCOMES
        if (not over and number != max(names)) or (number in committed and "committed" not in over):
            return f"the end of transaction {number} is missing"
        if any(ASKED.get(name, name) not in known for name in over):
            return f"what was asked for at the end of transaction {number} is missing"
    return None


def _membership(polls: pa.Table, mine: Sequence[Event]) -> str | None:
    known = {event["generation"] for event in mine if event["event"] == "member"}
    for generation in pc.unique(pc.fill_null(polls["generation"], -1)).to_pylist():
        if generation not in known:
            return f"the `member` of generation {generation} is missing"
    given: dict[int, Any] = {}
    has = set[int]()
    for event in mine:
        named = partitions_named(event["text"])
        if event["event"] == "revoked":
            has -= set(named or has)
        elif event["event"] == "assigned":
            if twice := has.intersection(named):
                return f"a `revoked` of partition {min(twice)} is missing"
            has |= set(named)
            given = {**dict.fromkeys(named, event["time_ns"]), **given}
    first = polls.group_by("partition").aggregate([("end_ns", "min")])
    for row in first.to_pylist():
        since_ns = given.get(row["partition"])
        if since_ns is None or since_ns > row["end_ns_min"]:
            return f"the `assigned` of partition {row['partition']} is missing"
    return None
