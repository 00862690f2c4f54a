"""Rows of analysis.frames.evidence.rows in numpy: the numbers of each column, and a mask of the
known ones. Texts are numbers, too: their places in a list.

    rows = Found(table)
    rows.number["time_ns"]    0 where it is null
    rows.known["time_ns"]     where it is not
    rows.text["outcome"]      (["appeared", …], the place of each row's; -1: null)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analysis.frames.operations import OFFSET_BITS
from analysis.stored.columns import Numbers

Mask = npt.NDArray[np.bool_]
NUMBERS = (
    *("value", "home", "sent", "copies", "sent_ns", "acked_ns", "delivered_ns", "polled_ns"),
    *("passed_ns", "place", "time_ns", "other_place", "other_value", "known_ns", "shown_ns"),
    *("lasted_ns", "sender", "transaction", "of_offsets"),
)
TEXTS = ("anomaly", "outcome", "polled_by", "lacked_by")
COLUMNS = ("run_id", *NUMBERS, *TEXTS, "reader", "victims")


class Found:
    """Rows of one run."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.number: dict[str, Numbers] = {}
        self.known: dict[str, Mask] = {}
        for name in NUMBERS:
            self.number[name], self.known[name] = numbers(table[name])
        self.text = {name: _texts(table[name]) for name in TEXTS}
        self._first_of("partition", (self._partition("place"), self._column("home")))
        self.number["other_partition"], self.known["other_partition"] = self._partition(
            "other_place"
        )
        since = ("known_ns", "acked_ns", "delivered_ns")
        self._first_of("known_ns", tuple(map(self._column, since)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def _column(self, name: str) -> tuple[Numbers, Mask]:
        return self.number[name], self.known[name]

    def _partition(self, place: str) -> tuple[Numbers, Mask]:
        return self.number[place] >> OFFSET_BITS, self.known[place]

    def _first_of(self, name: str, columns: tuple[tuple[Numbers, Mask], ...]) -> None:
        """Add a column: the first known value of these columns."""
        first, known = columns[-1]
        for number, has_number in reversed(columns[:-1]):
            first, known = np.where(has_number, number, first), known | has_number
        self.number[name], self.known[name] = first, known

    def are(self, text: str, words: list[str]) -> Mask:
        """A mask of the rows with one of these words; null is none of them."""
        known, place = self.text[text]
        which: Mask = np.isin(place, [known.index(word) for word in words if word in known])
        return which


def numbers(column: pa.ChunkedArray) -> tuple[Numbers, Mask]:
    """A column's numbers, 0 for null, and a mask of the others."""
    filled: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    known: Mask = pc.is_valid(column).to_numpy()
    return filled, known


def _texts(column: pa.ChunkedArray) -> tuple[list[str], Numbers]:
    encoded = pc.dictionary_encode(column.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    place: Numbers = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(
        zero_copy_only=False
    )
    return encoded.dictionary.to_pylist(), place
