"""A smaller history: the operations that decide about suspects.

It has the operations of suspected values and those without a value (unparsable payloads, commits,
answers of coordinators), and nothing else: a fate is made of the operations of its value alone, and
other values at its places are suspected, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.screens.log import CannotScreen
from analysis.screens.values import Values, distinct
from analysis.stored.batches import NONE, Batch, Mask, batches
from analysis.stored.columns import Numbers
from harness.history import tables

MOST = 10_000_000  # rows that are kept in memory
SCHEMA = tables.schema(tables.OPERATION_COLUMNS)


def reduce(files: Sequence[Path], values: Values) -> pa.Table:
    """The operations of the smaller history. Raises CannotScreen for too many."""
    parts, rows = [SCHEMA.empty_table()], 0
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for group in range(parquet.num_row_groups):
                if not parquet.metadata.row_group(group).num_rows:
                    continue
                value = parquet.read_row_group(group, columns=["value"])["value"]
                numbers = pc.fill_null(value, NONE).to_numpy()
                wanted = values.has(numbers) | (numbers == NONE)
                if not wanted.any():
                    continue
                kept = parquet.read_row_group(group).filter(pa.array(wanted))
                parts.append(_whole(kept))
                rows += kept.num_rows
                if rows > MOST:
                    raise CannotScreen("too many suspects")
    return pa.concat_tables(parts)


def later_processed(files: Sequence[Path], passed: Values) -> Numbers:
    """For each of these values the first one that the last member with it processed behind it: it
    decides whether the member went on (analysis.checks.groups.given). Only members' files have any.
    """
    values = []
    for file in files:
        polls: list[tuple[Numbers, ...]] = []  # of these values: end_ns, partition, offset, value
        later: list[tuple[Numbers, ...]] = []  # start_ns, partition, offset, value
        for batch in batches(file):
            given = batch.did("poll")
            mine = given & passed.has(batch.value)
            if np.any(mine):
                polls.append(_some(batch, "end_ns", mine))
            done = batch.did("process") & batch.ended("ok") & (batch.value != NONE)
            if np.any(done):
                later.append(_some(batch, "start_ns", done))
        if polls and later:
            polled, processed = (
                tuple(np.concatenate(each) for each in zip(*parts, strict=True))
                for parts in (polls, later)
            )
            values.append(_first_later(polled, processed))
    return np.concatenate([np.zeros(0, dtype=np.int64), *values])


def _some(batch: Batch, time: str, which: Mask) -> tuple[Numbers, ...]:
    names = (time, "partition", "offset", "value")
    return tuple(getattr(batch, name)[which] for name in names)


def _first_later(polls: tuple[Numbers, ...], processed: tuple[Numbers, ...]) -> Numbers:
    """For each poll, the value that was processed first after it at a later offset."""
    found = []
    for partition in distinct(polls[1]):
        polled_ns, _, polled, _ = (each[polls[1] == partition] for each in polls)
        start_ns, _, offset, value = (each[processed[1] == partition] for each in processed)
        order = np.argsort(start_ns, kind="stable")
        start_ns, offset, value = start_ns[order], offset[order], value[order]
        at = np.searchsorted(start_ns, polled_ns)
        left = np.flatnonzero(at < len(start_ns))
        while len(left):
            hit = offset[at[left]] > polled[left]
            found.append(value[at[left[hit]]])
            left = left[~hit]
            at[left] += 1
            left = left[at[left] < len(start_ns)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _whole(table: pa.Table) -> pa.Table:
    """The table with all columns; null where its format has none."""
    nothing = pa.nulls(table.num_rows)
    columns = {
        name: table[name] if name in table.column_names else nothing for name in SCHEMA.names
    }
    return pa.table(columns).cast(SCHEMA)
