"""The runs of one check, screened: what Spark must still check.

screened = screens(runs, facts, scratch)
screened.left(spark, history, place)    what Spark must still check
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from analysis.frames import schema
from analysis.frames.history import History
from analysis.frames.left import Left
from analysis.frames.signs import Sign
from analysis.frames.steps import STEPS
from analysis.remote.shared_place import SharedPlace
from analysis.screens.log import CannotScreen
from analysis.screens.screened import Screened, screen
from analysis.screens.transactions import Note
from analysis.stored.fact_rows import RunRow
from analysis.stored.stored_run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Screens:
    """The screens of all runs of a check."""

    by_run: Mapping[str, Screened]

    @property
    def signs(self) -> frozenset[Sign]:
        """The signs of all runs."""
        return frozenset().union(*(each.signs for each in self.by_run.values()))

    @property
    def suspects(self) -> int:
        """The number of operations that Spark must still check."""
        return sum(each.suspects.num_rows for each in self.by_run.values())

    def left(self, spark: SparkSession, history: History, place: SharedPlace) -> Left:
        """What Spark must still check; the suspects are handed over, and not kept."""
        many = self.suspects
        rows = [
            {"run_id": run_id, **row} for run_id, each in self.by_run.items() for row in each.steps
        ]
        odd = pa.Table.from_pylist(rows, schema=schema.arrow(STEPS))
        few = replace(
            history,
            operations=place.give(
                spark, schema.OPERATIONS, self._taken(), rows=many + odd.num_rows
            ),
            contested=not self.signs.isdisjoint((Sign.CONTESTED, Sign.GARBLED)),
        )
        pa.default_memory_pool().release_unused()
        return Left(
            history=few,
            signs=self.signs,
            steps=cache(lambda: place.give(spark, STEPS, [odd], rows=many + odd.num_rows)),
        )

    def _taken(self) -> Iterator[pa.Table]:
        """The suspects, run by run; each is forgotten when the next is taken."""
        for each in self.by_run.values():
            yield each.suspects
            each.forget()


def screens(runs: Sequence[Run], facts: Mapping[str, RunRow], scratch: Path) -> Screens | None:
    """The screens of these runs, whose rows of schema.RUNS are `facts`; None: all is suspected.

    Outputs of transformers are linked to what others sent, so a run with these is not screened.
    """
    if any(run.transforms for run in runs):
        return None
    try:
        return Screens(
            by_run={
                run.run_id: screen(
                    run.tables,
                    facts[run.run_id],
                    run.operations,
                    notes=_notes(run) if run.tells_transactions else None,
                    scratch=scratch,
                )
                for run in runs
            }
        )
    except CannotScreen:
        return None


def _notes(run: Run) -> list[Note]:
    """The events of its workers about transactions."""
    return [
        (event["process"], event["transaction"], event["name"], event["time_ns"])
        for event in run.events
        if event["event"] == "transaction" and event["transaction"] is not None
    ]
