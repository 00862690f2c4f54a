"""A run's operations as numpy has them, a batch at a time: memory stays bounded.

Texts are numbers: `f` and `type` by their places in FS and TYPES, `error` by its place in the
batch's own `errors`. What is null is NONE, which no operation has. A history that is not plain (a
file of several workers, a row without what recorders always write) is left to Spark: `NotPlain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.columns import Numbers
from harness.history import tables
from harness.history.record_format import F_NAMES, TYPE_NAMES

FS: Sequence[str] = tuple(dict.fromkeys(F_NAMES.values()))
TYPES: Sequence[str] = tuple(dict.fromkeys(TYPE_NAMES.values()))
NONE = np.iinfo(np.int64).min
ROWS = 1 << 17  # of a batch
_TEXTS = ("run_id", "process", "f", "type", "error")
_NUMBERS = ("id", "partition", "value", "offset", "intended_ns", "start_ns", "end_ns")
MORE = ("instance", "transaction", "epoch")  # what older histories do not have
_ALWAYS = ("id", "partition", "intended_ns", "start_ns")  # never null in what a recorder wrote
_MOST = 1 << 20  # partitions
_LATEST_NS = 1 << 60  # sums of times stay whole numbers
_SCHEMA = tables.schema(tables.OPERATION_COLUMNS)

Mask = npt.NDArray[np.bool_]


class NotPlain(Exception):
    """A history that only Spark reads as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some operations of one worker, in the order of its file."""

    process: str
    f: Numbers
    type: Numbers
    error: Numbers  # a place in `errors`; NONE: no error
    errors: Sequence[str]
    id: Numbers
    partition: Numbers
    value: Numbers
    offset: Numbers
    intended_ns: Numbers
    start_ns: Numbers
    end_ns: Numbers
    instance: Numbers  # the next three: of no row unless they were asked for
    transaction: Numbers
    epoch: Numbers

    def did(self, *names: str) -> Mask:
        """Which are one of these."""
        which: Mask = np.isin(self.f, [FS.index(name) for name in names])
        return which

    def ended(self, name: str) -> Mask:
        """Which ended so."""
        which: Mask = self.type == TYPES.index(name)
        return which

    def failed_by(self, *names: str) -> Mask:
        """Which have one of these errors."""
        places = [place for place, error in enumerate(self.errors) if error in names]
        which: Mask = np.isin(self.error, places)
        return which


def batches(file: Path, run_id: str, more: Sequence[str] = ()) -> Iterator[Batch]:
    """The operations of a file; NotPlain. `more`: columns that may be missing."""
    process: str | None = None
    schema = pq.read_schema(file)
    if not _is_known(schema):
        raise NotPlain(file)
    columns = [*_TEXTS, *_NUMBERS, *(name for name in more if name in schema.names)]
    with pq.ParquetFile(file, read_dictionary=list(_TEXTS)) as parquet:
        for read in parquet.iter_batches(ROWS, columns=columns, use_threads=False):
            if not read.num_rows:
                continue
            batch = _batch(read, run_id, more)
            if process not in (None, batch.process):
                raise NotPlain(file)
            process = batch.process
            yield batch


def _is_known(schema: pa.Schema) -> bool:
    """Whether the columns are there, of their kinds."""
    texts = (pa.string(), pa.dictionary(pa.int32(), pa.string()))
    return all(
        name in schema.names and schema.field(name).type in texts for name in _TEXTS
    ) and all(
        name in schema.names and schema.field(name).type == _SCHEMA.field(name).type
        for name in _NUMBERS
    )


def _batch(read: pa.RecordBatch, run_id: str, more: Sequence[str]) -> Batch:
    if any(read.column(name).null_count for name in (*_ALWAYS, "run_id", "process", "f", "type")):
        raise NotPlain("a row lacks what all have")
    told = {name: _numbers(read.column(name)) for name in _NUMBERS}
    there = set(more) & set(read.schema.names)
    nothing = np.full(read.num_rows if more else 0, NONE)
    told |= {name: _numbers(read.column(name)) if name in there else nothing for name in MORE}
    times = (told["intended_ns"], told["start_ns"], told["end_ns"])
    late = any(np.any(each > _LATEST_NS) for each in times)
    if late or np.any((told["partition"] < 0) | (told["partition"] >= _MOST)):
        raise NotPlain("a number that nobody records")
    errors, error = _texts(read.column("error"))
    if _only(read.column("run_id")) != run_id:
        raise NotPlain("a row of another run")
    return Batch(
        process=_only(read.column("process")),
        f=_places(read.column("f"), FS),
        type=_places(read.column("type"), TYPES),
        error=error,
        errors=errors,
        **told,
    )


def _numbers(column: pa.Array) -> Numbers:
    numbers: Numbers = pc.fill_null(column.cast(pa.int64()), NONE).to_numpy(zero_copy_only=False)
    return numbers


def _texts(column: pa.DictionaryArray) -> tuple[list[str], Numbers]:
    """The texts, and the place of each row's."""
    return column.dictionary.to_pylist(), _numbers(column.indices)


def _only(column: pa.DictionaryArray) -> str:
    """The text that all rows have."""
    texts, place = _texts(column)
    if np.any(place != place[0]):
        raise NotPlain("a file of several")
    return texts[int(place[0])]


def _places(column: pa.DictionaryArray, known: Sequence[str]) -> Numbers:
    texts, place = _texts(column)
    if not set(texts) <= set(known):
        raise NotPlain("a text that nobody records")
    return np.array([known.index(text) for text in texts], dtype=np.int64)[place]
