"""All measures of a run, from its files, without Spark.

    measures = measured(files, facts, operations, fates)    `fates`: what became of its values

One pass over the operations, a batch at a time, and a second one over the files with sends, of
which the page draws some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from analysis.measures.consumer_lag import (
    AfterFaults,
    AfterFaultsRow,
    PositionRow,
    Positions,
    Reached,
)
from analysis.measures.drawn_sends import Limits, SendRow, drawn, limits
from analysis.measures.fates import Fates
from analysis.measures.latency_and_rates import (
    QUANTILES,
    Counts,
    ErrorRow,
    Landings,
    Redeliveries,
    SendErrors,
)
from analysis.measures.leadership import Acks, AcksRow
from analysis.measures.outputs import Answers
from analysis.measures.windows import WindowRow, Windows
from analysis.measures.work_done import WorkDone, WorkRow
from analysis.stored.batches import Batch, batches
from analysis.stored.fact_rows import RunRow

Row = Mapping[str, Any]


class Measure(Protocol):
    """What goes through batches."""

    def see(self, batch: Batch) -> None:
        """Look at a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one run, the rows of each measure."""

    counts: Sequence[Row]
    acks: Sequence[AcksRow]
    work: Sequence[WorkRow]
    positions: Sequence[PositionRow]
    sends: Sequence[SendRow]
    windows: Sequence[WindowRow]
    redeliveries: Row  # {}: nothing was delivered
    landings: Row  # {}: no value was sent or read
    errors: Sequence[ErrorRow] = ()
    after_faults: Sequence[AfterFaultsRow] = ()


def measured(
    files: Sequence[Path], facts: RunRow, operations: int, fates: Iterable[Fates]
) -> Measured:
    """Of a run with these files of so many operations, `facts` a row of schema.RUNS. `fates`: what
    became of its values, those of one partition at once."""
    counts, acks, work = Counts(facts), Acks(facts), WorkDone(facts)
    positions, redeliveries, windows = Positions(facts), Redeliveries(operations), Windows(facts)
    errors, after, reached = SendErrors(), AfterFaults(facts), Reached(facts)
    answers = Answers(facts)
    measures: list[Measure] = [counts, acks, work, positions, redeliveries, windows]
    measures += [errors, after, reached, answers]
    sent = []
    for file in files:
        for batch in batches(file):
            for measure in measures:
                measure.see(batch)
            if file not in sent and batch.did("send").any():
                sent.append(file)
    counted, landings = list(counts.rows()), Landings(facts, reached.past)
    again = (batch for file in sent for batch in batches(file))
    return Measured(
        counts=counted,
        acks=list(acks.rows()),
        work=list(work.rows()),
        positions=list(positions.rows()),
        sends=list(drawn(again, _limits(counted))) if counted else [],
        windows=[*windows.rows(_seen(landings, answers, fates)), *answers.windows()],
        redeliveries=redeliveries.row(),
        landings={**landings.row(), **answers.row()},
        errors=errors.rows(),
        after_faults=list(after.rows()),
    )


def _seen(landings: Landings, answers: Answers, fates: Iterable[Fates]) -> Iterator[Fates]:
    """Fates, once they are counted."""
    for each in fates:
        landings.see(each)
        answers.answer(each)
        yield each


def _limits(counted: Sequence[Row]) -> Limits:
    whole = next(row for row in counted if row["bucket"] is None)
    return limits(whole, dict(zip(QUANTILES, whole["latency_ms"] or [], strict=False)))
