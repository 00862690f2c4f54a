"""Screens: of which rules a history surely has no row, told by its files before Spark is asked.

Most histories are in order, and a plan that finds nothing costs Spark a second. A screen goes
through a run's operations once, with numpy, and says whether a table of rules
(analysis.frames.evidence) has nothing in it that any rule holds for. It never tells what there is:
a history that is not plain, for whatever reason, is left to the checks, which say the same of all.

    every reader: 0, 1, 2; the final read has the same values    =>  nothing is odd about a step
    a reader: 0, 2, over a transaction's marker                  =>  Spark looks
    the final read: values 1, 2, 3 of a producer, each sent after the one before was acked
                                                                 =>  nothing is out of order
    a coordinator's answers, none below what had been committed  =>  nothing went back

Runs of more than `MOST` operations are not read here: memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.checks.groups.commits import by_answer
from analysis.checks.order import in_order_of_place
from analysis.frames.evidence import Table
from analysis.frames.operations import OFFSET_BITS
from analysis.frames.steps import by_step
from analysis.stored.columns import Numbers, whole_numbers
from analysis.stored.stored_run import Run, final_ends
from harness.history import tables
from harness.history.record_format import SEQUENCE_BITS

MOST = 2_000_000  # operations
COLUMNS = ("f", "type", "id", "instance", "partition", "offset", "value", "epoch")
TIMES = ("start_ns", "end_ns")
_SCHEMA = tables.schema(tables.OPERATION_COLUMNS)

Ends = Sequence[Mapping[str, Any]]  # rows of final_ends
Screen = Callable[[pa.Table, Ends], bool]


def proven_empty(runs: Sequence[Run]) -> frozenset[Table]:
    """The tables in which no rule holds for any row of any of these runs."""
    if sum(run.operations for run in runs) > MOST:
        return frozenset()
    try:
        told = [(_read(run), final_ends(run)) for run in runs]
    except (pa.ArrowException, OSError):  # Spark tells what is wrong with it
        return frozenset()
    return frozenset(
        table for table, is_plain in SCREENS.items() if all(is_plain(*each) for each in told)
    )


def steps_are_plain(operations: pa.Table, ends: Ends) -> bool:
    """Whether each reader was given what the final read has, one offset after the other, and that
    has each offset of the log."""
    given = operations.filter(pc.equal(operations["type"], "ok"))
    reads = given.filter(pc.is_in(given["f"], pa.array(["read", "poll"])))
    log = operations.filter(pc.equal(operations["f"], "final-read"))
    if _any_null((reads, log), ("partition", "offset", "id")):
        return False
    place, value = _sorted(_places(log), whole_numbers(log, "value"))
    return (
        _is_whole(place, ends)
        and _is_in_steps(reads)
        and _is_in_steps(log)
        and _is_in(place, value, _places(reads), whole_numbers(reads, "value"))
    )


def order_is_plain(operations: pa.Table, ends: Ends) -> bool:  # noqa: ARG001  as all screens
    """Whether the final read has each producer's acked values in the order sent, and none before
    one that was acked when it was sent."""
    sends = operations.filter(pc.equal(operations["f"], "send"))
    log = operations.filter(pc.equal(operations["f"], "final-read"))
    if not (sends.num_rows and log.num_rows):
        return True
    if _any_null((sends,), ("value", "start_ns")) or _any_null((log,), ("partition", "offset")):
        return False
    values = whole_numbers(sends, "value")
    sent, acked = np.argsort(values), np.asarray(pc.equal(sends["type"], "ok"))
    place, value = _sorted(_places(log), whole_numbers(log, "value"))
    if not (_grow(values[sent]) and _grow(place)):
        return False
    at = np.searchsorted(values, value, sorter=sent)
    which = sent[np.minimum(at, len(sent) - 1)]
    known = (values[which] == value) & acked[which]
    partition, value, which = place[known] >> OFFSET_BITS, value[known], which[known]
    began, ended = (whole_numbers(sends, name)[which] for name in TIMES)
    return _never_overtaken(partition, began, ended) and _grow_within(
        (partition, value >> SEQUENCE_BITS), value
    )


def answers_are_plain(operations: pa.Table, ends: Ends) -> bool:  # noqa: ARG001  as all screens
    """Whether no answer of a group's coordinator is below a commit that had been acknowledged."""
    known = operations.filter(pc.equal(operations["type"], "ok"))
    asked = known.filter(pc.equal(known["f"], "committed"))
    if not asked.num_rows:
        return True
    commits = known.filter(pc.equal(known["f"], "commit"))
    if _any_null((asked, commits), ("partition", "offset", *TIMES)):
        return False
    (to, of, acked), (told, about, since) = (
        [whole_numbers(table, name) for name in ("offset", "partition", time)]
        for table, time in ((commits, "end_ns"), (asked, "start_ns"))
    )
    for each in np.unique(about):
        mine = np.flatnonzero(of == each)
        mine = mine[np.argsort(acked[mine], kind="stable")]
        highest = np.concatenate(([0], np.maximum.accumulate(to[mine])))
        before = np.searchsorted(acked[mine], since[about == each])
        if np.any(highest[before] > told[about == each]):
            return False
    return True


SCREENS: Mapping[Table, Screen] = {
    by_step: steps_are_plain,
    in_order_of_place: order_is_plain,
    by_answer: answers_are_plain,
}


def _read(run: Run) -> pa.Table:
    """The operations of a run; `process` is the number of the file."""
    columns = [_SCHEMA.field(name) for name in (*COLUMNS, *TIMES)]
    schema = pa.schema([*columns, pa.field("process", pa.int64())])
    return pa.concat_tables(
        [
            schema.empty_table(),
            *[_with_process(file, schema, number) for number, file in enumerate(run.tables)],
        ]
    )


def _with_process(file: Path, schema: pa.Schema, number: int) -> pa.Table:
    """One file; what its format does not have is null."""
    there = set(pq.read_schema(file).names)
    table = pq.read_table(file, columns=[name for name in schema.names if name in there])
    known = {name: table[name] for name in table.column_names}
    known["process"] = pa.array(np.full(table.num_rows, number))
    nothing = pa.nulls(table.num_rows)
    return pa.table({name: known.get(name, nothing) for name in schema.names}).cast(schema)


def _places(table: pa.Table) -> Numbers:
    return (whole_numbers(table, "partition") << OFFSET_BITS) | whole_numbers(table, "offset")


def _any_null(tables: Sequence[pa.Table], names: Sequence[str]) -> bool:
    return any(table[name].null_count for table in tables for name in names)


def _sorted(keys: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    order = np.argsort(keys, kind="stable")
    return keys[order], other[order]


def _grow(numbers: Numbers) -> bool:
    return bool(np.all(np.diff(numbers) > 0))


def _grow_within(groups: Sequence[Numbers], numbers: Numbers) -> bool:
    """Whether numbers only grow within each group, in the order that they are in."""
    order = np.lexsort(groups)  # stable
    same = _same(groups, order)
    return bool(np.all(np.diff(numbers[order])[same] > 0))


def _same(groups: Sequence[Numbers], order: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Of each but the first, whether it is of the group of the one before."""
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for group in groups:
        same &= np.diff(group[order]) == 0
    return same


def _is_in_steps(reads: pa.Table) -> bool:
    """Whether each reader's records follow one another, of no earlier epoch than the last."""
    groups = [whole_numbers(reads, name) for name in ("partition", "instance", "process")]
    order = np.lexsort((whole_numbers(reads, "id"), *groups))
    same = _same(groups, order)
    offset, epoch = (whole_numbers(reads, name)[order] for name in ("offset", "epoch"))
    older = (np.diff(epoch) < 0) & (epoch[1:] >= 0)
    return bool(np.all(np.diff(offset)[same] == 1) and not np.any(older[same]))


def _is_in(place: Numbers, value: Numbers, places: Numbers, values: Numbers) -> bool:
    """Whether what was read at `places` is what the log has there, where it has anything."""
    if not len(place):
        return True
    at = np.minimum(np.searchsorted(place, places), len(place) - 1)
    return not np.any((place[at] == places) & (value[at] != values))


def _is_whole(place: Numbers, ends: Ends) -> bool:
    """Whether a log has each offset once, from its start to where it was read to."""
    if not _grow(place):
        return False
    partition, offset = place >> OFFSET_BITS, place & ((1 << OFFSET_BITS) - 1)
    for end in ends:
        mine = offset[partition == end["partition"]]
        first = end["log_start"] or 0
        if len(mine) and (mine[0] != first or mine[-1] - first + 1 != len(mine)):
            return False
        if end["complete"] and end["position"] not in (None, first + len(mine)):
            return False
    return len(ends) > int(partition.max(initial=-1))


def _never_overtaken(partition: Numbers, began: Numbers, ended: Numbers) -> bool:
    """Whether no send began after one that lies behind it had ended."""
    for each in np.unique(partition):
        mine = partition == each
        latest = np.maximum.accumulate(began[mine])
        if np.any(latest[:-1] > ended[mine][1:]):
            return False
    return True
