"""A run's operations in numpy, batch by batch, so that memory stays bounded.

Texts are numbers: `f` and `type` by their places in FS and TYPES, `error` by its place in the
batch's own `errors`. NONE stands for null; no operation has it. Each file is one worker's, and
each row one that a recorder can write: a table with any other row is damaged, and left out
(analysis.stored.recorded.operations).
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
from harness.history.record_format import F_NAMES, TYPE_NAMES

FS: Sequence[str] = tuple(dict.fromkeys(F_NAMES.values()))
TYPES: Sequence[str] = tuple(dict.fromkeys(TYPE_NAMES.values()))
NONE = np.iinfo(np.int64).min
ROWS = 1 << 17  # of a batch
_TEXTS = ("process", "f", "type", "error")
_NUMBERS = ("id", "partition", "value", "offset", "intended_ns", "start_ns", "end_ns")
MORE = ("instance", "transaction", "epoch")  # what older histories do not have

Mask = npt.NDArray[np.bool_]


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


def batches(file: Path, more: Sequence[str] = ()) -> Iterator[Batch]:
    """The operations of a file. `more`: columns that may be missing."""
    schema = pq.read_schema(file)
    columns = [*_TEXTS, *_NUMBERS, *(name for name in more if name in schema.names)]
    with pq.ParquetFile(file, read_dictionary=list(_TEXTS)) as parquet:
        for read in parquet.iter_batches(ROWS, columns=columns, use_threads=False):
            if read.num_rows:
                yield _batch(read, more)


def _batch(read: pa.RecordBatch, more: Sequence[str]) -> Batch:
    columns = {name: numbers(read.column(name)) for name in _NUMBERS}
    there = set(more) & set(read.schema.names)
    nothing = np.full(read.num_rows if more else 0, NONE)
    columns |= {name: numbers(read.column(name)) if name in there else nothing for name in MORE}
    errors, error = _texts(read.column("error"))
    processes, place = _texts(read.column("process"))
    return Batch(
        process=processes[int(place[0])],
        f=_places(read.column("f"), FS),
        type=_places(read.column("type"), TYPES),
        error=error,
        errors=errors,
        **columns,
    )


def numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """A column of whole numbers; NONE for null."""
    filled: Numbers = pc.fill_null(column.cast(pa.int64()), NONE).to_numpy(zero_copy_only=False)
    return filled


def _texts(column: pa.DictionaryArray) -> tuple[list[str], Numbers]:
    """The texts, and the place of each row's."""
    return column.dictionary.to_pylist(), numbers(column.indices)


def _places(column: pa.DictionaryArray, known: Sequence[str]) -> Numbers:
    texts, place = _texts(column)
    return np.array([known.index(text) for text in texts], dtype=np.int64)[place]
