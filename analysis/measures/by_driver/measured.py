"""All measures of a run, from its files, without Spark: what the queries of the same names answer.

One pass over the operations, a batch at a time, and a second one over the files with sends, of
which the page draws some. Spark is asked instead (None) where a file cannot be opened here, or
where the history is not plain: a test asks both about random histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from analysis.measures.by_driver.batches import Batch, NotPlain, batches
from analysis.measures.by_driver.fates import Fates
from analysis.measures.by_driver.landings import Landings
from analysis.measures.by_driver.sample import drawn
from analysis.measures.by_driver.timeline import Acks, Counts, Positions, Redeliveries
from analysis.measures.by_driver.windows import Windows
from analysis.measures.by_driver.work import Work
from analysis.measures.drawn_sends import limits
from analysis.measures.latency_and_rates import QUANTILES
from analysis.stored.stored_run import Run

Row = Mapping[str, Any]


class Measure(Protocol):
    """What goes through batches."""

    def see(self, batch: Batch) -> None:
        """Look at a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one run, the rows of each query."""

    counts: Sequence[Row]
    acks: Sequence[Row]
    work: Sequence[Row]
    positions: Sequence[Row]
    sends: Sequence[Row]
    redeliveries: Sequence[Row]
    # None: fates were not told.
    landings: Sequence[Row] | None = None
    windows: Sequence[Row] | None = None


def measured(
    runs: Iterable[Run], facts: Mapping[str, Row], fates: Mapping[str, Iterable[Fates]]
) -> dict[str, Measured] | None:
    """Of all of these runs, by run_id; None: ask Spark. `facts`: their rows of schema.RUNS;
    `fates`: what became of their values, by partition, where a screen has told it."""
    try:
        return {
            run.run_id: of_files(
                run.tables, facts[run.run_id], run.operations, fates.get(run.run_id)
            )
            for run in runs
        }
    except (NotPlain, pa.ArrowException, OSError):  # Spark tells what is wrong with it
        return None


def of_files(
    files: Sequence[Path], facts: Row, operations: int, fates: Iterable[Fates] | None = None
) -> Measured:
    """Of a run with these files of operations, `facts` a row of schema.RUNS; NotPlain."""
    counts, acks, work = Counts(facts), Acks(facts), Work(facts)
    positions, redeliveries = Positions(facts), Redeliveries(operations)
    measures: list[Measure] = [counts, acks, work, positions, redeliveries]
    windows = None if fates is None else Windows(facts)
    if windows is not None:
        measures.append(windows)
    sent = []
    for file in files:
        for batch in batches(file, facts["run_id"]):
            for measure in measures:
                measure.see(batch)
            if file not in sent and batch.did("send").any():
                sent.append(file)
    counted = list(counts.rows())
    again = (batch for file in sent for batch in batches(file, facts["run_id"]))
    landings, found = Landings(facts), None
    if windows is not None:
        found = list(windows.rows(_seen(landings, fates or ())))
    return Measured(
        counts=counted,
        acks=list(acks.rows()),
        work=list(work.rows()),
        positions=list(positions.rows()),
        sends=list(drawn(again, _limits(counted))) if counted else [],
        redeliveries=list(redeliveries.rows()),
        windows=found,
        landings=None if found is None else [landings.row()],
    )


def _seen(landings: Landings, fates: Iterable[Fates]) -> Iterator[Fates]:
    """Fates, once they are counted."""
    for each in fates:
        landings.see(each)
        yield each


def _limits(counted: Sequence[Row]) -> Row:
    whole = next(row for row in counted if row["bucket"] is None)
    return limits("", whole, dict(zip(QUANTILES, whole["latency_ms"] or [], strict=False)))
