"""A history, screened: its suspects, and what became of all its values.

    screened = screen(files, facts, operations=1_000_000)
    screened.signs         the signs that were seen; an anomaly without any of its signs is absent
    screened.suspects      the operations by which Spark finds the others
    screened.steps         the odd steps of readers, which need no Spark
    screened.fates()       what became of each value, by partition, for measures; only once

The final read becomes an array (analysis.screens.log), and one pass over the files compares
everything else with it, exactly: nothing is hashed. For a history that is not plain CannotScreen is
raised, and Spark checks all of it; a test compares both on random histories with every anomaly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.frames.operations import ACKED, OFFSET_BITS
from analysis.frames.signs import Sign
from analysis.measures.fates import Fates, fates_of, joined
from analysis.screens import order
from analysis.screens.groups import Groups
from analysis.screens.log import GARBLED, NEVER, NOBODY, CannotScreen, Log
from analysis.screens.outputs import Outputs
from analysis.screens.readers import Readers, StepRow, holes
from analysis.screens.reads import Reads, Replicas
from analysis.screens.reduced import later_processed, reduce
from analysis.screens.sends import Sends
from analysis.screens.suspects import Aside, Suspects
from analysis.screens.transactions import Note, Transactions
from analysis.stored.batches import MORE, NONE, Batch, Mask, batches, numbers
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow

REST_AFTER = 1 << 19  # rows: they may touch the pages of eight times as many places, some 230 MB
_NO_END = {"complete": False, "log_start": None}
_TOLD = (
    *("sent", "intended_ns", "sent_ns", "ended_ns", "acked_ns", "acked_place"),
    *("delivered_ns", "done_ns", "first_place"),
)
_KINDS = {"skip": Sign.SKIP, "back": Sign.BACK, "older": Sign.OLDER, "hole": Sign.HOLE}


@dataclass(slots=True, kw_only=True)
class Screened:
    """What a screen says of one run."""

    facts: RunRow
    signs: frozenset[Sign]
    suspects: pa.Table  # operations
    steps: Sequence[StepRow]  # rows of analysis.frames.steps, without run_id
    log: Log
    aside: Aside  # sends of plain values that claim no place
    odd: Mask  # of the log's places: of values that are suspected

    def fates(self) -> Iterator[Fates]:
        """What became of each value, by partition. Not kept: call it once."""
        suspected = {int(each.home[0]): each for each in fates_of(self.suspects, self.facts)}
        aside = int(self.aside.home.max(initial=-1)) + 1
        for partition in range(max(len(self.facts["ends"]), self.log.partitions, aside)):
            yield joined(
                [
                    self._claimed(partition),
                    self._aside(partition),
                    *([suspected.pop(partition)] if partition in suspected else []),
                ]
            )
            self.log.rest()
        yield from suspected.values()
        self.log.clear()

    def forget(self) -> None:
        """Spark has the suspects: keep none."""
        self.suspects = self.suspects.schema.empty_table()

    def _claimed(self, partition: int) -> Fates:
        log = self.log
        if partition >= log.partitions:
            return self._fates(partition, np.zeros(0, dtype=np.int64), {})
        span = log.span(partition)
        mine = (log.acked_ns[span] != NONE) & ~self.odd[span]
        place = np.flatnonzero(mine) + span.start
        at = (partition << OFFSET_BITS) | log.offset(partition, place)
        acked_ns = log.acked_ns[place]
        return self._fates(
            partition,
            log.value[place],
            {
                "sent": np.full(len(place), ACKED),
                "intended_ns": log.intended_ns[place],
                "sent_ns": log.sent_ns[place],
                "ended_ns": acked_ns,
                "acked_ns": acked_ns,
                "acked_place": at,
                "delivered_ns": _known(log.delivered_ns[place]),
                "done_ns": _known(log.done_ns[place]),
                "first_place": at,
            },
        )

    def _aside(self, partition: int) -> Fates:
        log, aside = self.log, self.aside.of(self.aside.home == partition)
        there = aside.landed != NOBODY
        told = {name: np.full(len(there), NONE) for name in ("delivered_ns", "done_ns")}
        first = np.full(len(there), NONE)
        landed = aside.landed[there]
        if len(landed):
            told["delivered_ns"][there] = _known(log.delivered_ns[landed])
            told["done_ns"][there] = _known(log.done_ns[landed])
            first[there] = (partition << OFFSET_BITS) | log.offset(partition, landed)
        return self._fates(
            partition,
            aside.value,
            {
                "sent": aside.sent,
                "intended_ns": aside.intended_ns,
                "sent_ns": aside.sent_ns,
                "ended_ns": aside.ended_ns,
                "first_place": first,
                **told,
            },
        )

    def _fates(self, partition: int, value: Numbers, told: Mapping[str, Numbers]) -> Fates:
        nothing = np.full(len(value), NONE)
        ends, many = self.facts["ends"], len(value)
        end = ends[partition] if partition < len(ends) else _NO_END
        return Fates(
            value=value,
            home=np.full(many, partition),
            complete=np.full(many, bool(end["complete"])),
            log_start=np.full(many, end["log_start"] or 0),
            passed=np.zeros(many, dtype=bool),
            taken=np.zeros(many, dtype=bool),
            one_copy=np.full(many, bool(self.facts["one_copy"])),
            **{name: told.get(name, nothing) for name in _TOLD},
        )


def screen(
    files: Sequence[Path],
    facts: RunRow,
    operations: int,
    *,
    notes: Iterable[Note] | None = None,
    scratch: Path | None = None,
) -> Screened:
    """Screen a run with these files of operations, `facts` a row of schema.RUNS; CannotScreen.

    `notes`: the events of its workers about transactions; None: it has none.
    """
    log = _log(files, facts, operations, scratch)
    suspects = Suspects(operations)
    transactions = Transactions(notes)
    if np.any(log.value == GARBLED):
        suspects.signs.add(Sign.GARBLED)
    sends = Sends(log, suspects, transactions, facts, operations)
    reads, replicas = Reads(log, suspects, facts), Replicas(log, suspects, facts)
    groups, readers = Groups(log, suspects, facts), Readers(facts)
    outputs = Outputs(log, suspects, facts)
    for batch in _resting(log, (each for file in files for each in batches(file, MORE))):
        for each in (sends, reads, replicas, groups, outputs):
            each.see(batch)
        readers.see(batch, _steps(batch), log)
    aside = sends.aside()
    transactions.look(log, aside, suspects)
    groups.look()
    outputs.look()
    reads.furthest()
    replicas.look()
    log.rest()
    order.look(log, aside, suspects, operations)
    log.rest()
    suspects.compare_claims()
    if facts["circular"]:
        circular = [row["value"] for row in facts["circular"]]
        suspects.see(Sign.CYCLE, np.array(circular, dtype=np.int64))
    crossed = readers.crossed(log, facts)
    steps = [*readers.rows(log, facts), *holes(log, facts, _ended(files), crossed)]
    suspects.signs |= {_KINDS[row["odd"]] for row in steps}
    stepped = [row["value"] for row in steps if row["value"] is not None]
    suspects.values.add(np.array(stepped, dtype=np.int64))
    if suspects.passed:
        suspects.values.add(later_processed(files, suspects.passed))
    if facts["outdated"]:
        suspects.signs.add(Sign.OUTDATED)
    log.forget()
    left = reduce(files if suspects.signs else (), suspects.values)
    return Screened(
        facts=facts,
        signs=frozenset(suspects.signs),
        suspects=left,
        steps=steps,
        log=log,
        aside=aside.of(~suspects.values.has(aside.value)),
        odd=suspects.values.has(log.value),
    )


def _resting(log: Log, seen: Iterable[Batch]) -> Iterator[Batch]:
    """The same batches; the log rests from time to time."""
    rows = 0
    for batch in seen:
        yield batch
        rows += len(batch.value)
        if rows > REST_AFTER:
            log.rest()
            rows = 0


def _steps(batch: Batch) -> Mask:
    """A mask of the steps of a reader."""
    return (batch.did("read", "poll") & batch.ended("ok")) | batch.did("final-read")


def _log(files: Sequence[Path], facts: RunRow, operations: int, scratch: Path | None) -> Log:
    """The log, as far as the final read has it."""
    bounds: dict[int, tuple[int, int]] = {}
    for partition, offset, _ in _finals(files, "offset"):
        for each in np.unique(partition).tolist():
            mine = offset[partition == each]
            least, most = bounds.get(each, (int(mine[0]), int(mine[0])))
            bounds[each] = min(least, int(mine.min())), max(most, int(mine.max()))
    wide = max([len(facts["ends"]), *(each + 1 for each in bounds)])
    spans = [(0, 0)] * wide
    for number, (least, most) in bounds.items():
        spans[number] = least, most + 1
    log = Log(spans, operations, scratch)
    for partition, offset, value in _finals(files, "value"):
        place = log.at(partition, offset)
        read = np.where(value == NONE, GARBLED, value)
        before = log.value[place]
        if np.any((before != NONE) & (before != read)):
            raise CannotScreen("final reads that do not agree")
        log.value[place] = read
        if np.any(log.value[place] != read):
            raise CannotScreen("a final read that does not agree with itself")
    return log


def _finals(files: Sequence[Path], more: str) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Partition, offset and another column of what final reads have."""
    for file in files:
        with pq.ParquetFile(file, read_dictionary=["f"]) as parquet:
            names = ["f", *dict.fromkeys(("partition", "offset", more))]
            for group in range(parquet.num_row_groups):
                if not _may_have_finals(parquet.metadata.row_group(group)):
                    continue
                table = parquet.read_row_group(group, columns=names, use_threads=False)
                mine = table.filter(pc.equal(table["f"], "final-read"))
                if mine.num_rows:
                    partition, offset, value = (
                        numbers(mine[name]) for name in ("partition", "offset", more)
                    )
                    yield partition, offset, value


def _may_have_finals(group: Any) -> bool:
    """Whether a row group may have records of a final read, by its footer."""
    columns = (group.column(number) for number in range(group.num_columns))
    kinds = next((each.statistics for each in columns if each.path_in_schema == "f"), None)
    return kinds is None or not kinds.has_min_max or kinds.min <= "final-read" <= kinds.max


def _ended(files: Sequence[Path]) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """When each record of the final read was read."""
    return _finals(files, "end_ns")


def _known(times: Numbers) -> Numbers:
    return np.where(times == NEVER, NONE, times)
