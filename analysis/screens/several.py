"""The runs of one check, screened: what Spark is left with.

    told = screens(runs, facts, scratch)
    told.left(spark, history, folder)    what Spark must still be asked

`folder` is one that Spark's executors see, and is not there yet; where much is left, it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from analysis.frames import schema
from analysis.frames.history import History, files_frame
from analysis.frames.left import Left
from analysis.frames.signs import Sign
from analysis.frames.steps import STEPS
from analysis.measures.by_driver.batches import NotPlain
from analysis.screens.reduced import SCHEMA as SUSPECTS
from analysis.screens.screened import Screened, screen
from analysis.screens.transactions import Note
from analysis.stored.stored_run import Run

Row = Mapping[str, Any]

FEW = 10_000  # rows of suspects: some 2 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Screens:
    """What the screens of all runs of a check say."""

    by_run: Mapping[str, Screened]

    @property
    def signs(self) -> frozenset[Sign]:
        """What was seen in any of them."""
        return frozenset().union(*(each.signs for each in self.by_run.values()))

    @property
    def suspects(self) -> int:
        """How many operations Spark is left with."""
        return sum(each.suspects.num_rows for each in self.by_run.values())

    def left(self, spark: SparkSession, history: History, folder: Path) -> Left:
        """What Spark must be asked about: suspects, which are not kept here any more."""
        many = self.suspects
        rows = [
            {"run_id": run_id, **row} for run_id, each in self.by_run.items() for row in each.steps
        ]
        odd = pa.Table.from_pylist(rows, schema=schema.arrow(STEPS))
        give = _told if many + len(rows) <= FEW else partial(_written, folder)
        few = replace(
            history,
            operations=give(spark, schema.OPERATIONS, SUSPECTS, self._taken()),
            contested=not self.signs.isdisjoint((Sign.CONTESTED, Sign.GARBLED)),
        )
        pa.default_memory_pool().release_unused()
        return Left(
            history=few,
            rows=many,
            signs=self.signs,
            steps=cache(lambda: give(spark, STEPS, odd.schema, [odd])),
            facts={run_id: each.facts for run_id, each in self.by_run.items()},
        )

    def _taken(self) -> Iterator[pa.Table]:
        """The suspects of a run at a time, kept no longer than until the next is asked for."""
        for each in self.by_run.values():
            yield each.suspects
            each.forget()


def _told(
    spark: SparkSession, columns: StructType, names: pa.Schema, tables: Iterable[pa.Table]
) -> DataFrame:
    """Rows that a plan itself has: no file has to be read. They are one batch: Spark 4.3 reads no
    row after a batch without any (ArrowConverters.fromBatchIterator)."""
    rows = pa.concat_tables([names.empty_table(), *tables]).combine_chunks()
    return spark.createDataFrame(rows, columns)


def _written(
    folder: Path,
    spark: SparkSession,
    columns: StructType,
    names: pa.Schema,
    tables: Iterable[pa.Table],
) -> DataFrame:
    """Rows in a file below `folder`."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{len(list(folder.iterdir()))}.parquet"
    with pq.ParquetWriter(file, names, compression="zstd") as written:
        for table in tables:
            written.write_table(table)
    return files_frame(spark, columns, [str(file)])


def screens(runs: Sequence[Run], facts: Mapping[str, Row], scratch: Path) -> Screens | None:
    """Of all of these runs, whose rows of schema.RUNS are `facts`; None: Spark must be given all.

    Outputs of transformers are linked to what others sent, so a run with these is given whole.
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
    except (NotPlain, pa.ArrowException, OSError):  # Spark tells what is wrong with it
        return None


def _notes(run: Run) -> list[Note]:
    """What its workers told of transactions."""
    return [
        (event["process"], event["transaction"], event["name"], event["time_ns"])
        for event in run.events
        if event["event"] == "transaction" and event["transaction"] is not None
    ]
