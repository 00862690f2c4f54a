"""The cause that permits a row of evidence: analysis.frames.permission's rule, by numpy.

    permitting(found, causes)    by row, the place of its cause among `causes`; -1: none

`causes` are rows of schema.CAUSE, sure ones first: the first that permits a row is its cause. A
cause is compared with the undecided rows of its anomalies and its partition only, since a run may
have many of both. Nulls pass or do not pass as in that rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analysis.evidence.found_rows import Found, Mask, numbers
from analysis.frames.operations import OFFSET_BITS
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import CauseRow, SettledRow


def permitting(found: Found, causes: Sequence[CauseRow]) -> Numbers:
    """By row, the place of the first cause that permits it or puts it in doubt; -1: none."""
    decided = np.full(len(found), -1)
    if not causes or not len(found):
        return decided
    records = _Records(found)
    places = _Places(found, records.none)
    for place, cause in enumerate(causes):
        for about in places.of(cause):
            rows = about[decided[about] < 0]
            if len(rows):
                decided[rows[_permits(found, records, cause, rows)]] = place
    return decided


class _Places:
    """Rows by anomaly and partition."""

    def __init__(self, found: Found, without_record: Mask) -> None:
        self._words, of = found.text["anomaly"]
        self._all = [np.flatnonzero(of == number) for number in range(len(self._words))]
        here = np.where(found.known["partition"], found.number["partition"], -1)
        self._here = [_by_number(here, rows) for rows in self._all]
        # A record that was read elsewhere counts for that partition, too.
        elsewhere = found.known["other_partition"] & without_record
        there = np.where(elsewhere, found.number["other_partition"], -1)
        self._there = [_by_number(there, rows) for rows in self._all]

    def of(self, cause: CauseRow) -> Iterator[Numbers]:
        """The rows that a cause may permit, some of them perhaps twice."""
        partition = cause["partition"]
        for anomaly in cause["anomalies"]:
            if anomaly not in self._words:
                continue
            number = self._words.index(anomaly)
            if partition is None:
                yield self._all[number]
            else:
                for rows in (self._here[number], self._there[number]):
                    if partition in rows:
                        yield rows[partition]


def _by_number(numbers: Numbers, rows: Numbers) -> dict[int, Numbers]:
    """Rows by their number; those without one (-1) are left out."""
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    distinct, starts = np.unique(numbers[rows], return_index=True)
    parts = np.split(rows, starts[1:])
    return {int(number): part for number, part in zip(distinct, parts, strict=False) if number >= 0}


class _Records:
    """The records whose loss would explain each row: its own, or its victims."""

    def __init__(self, found: Found) -> None:
        victims = found.table["victims"].combine_chunks()
        own: Mask = pc.is_null(victims).to_numpy(zero_copy_only=False)
        lengths = pc.fill_null(pc.list_value_length(victims), 0).to_numpy(zero_copy_only=False)
        self._count: Numbers = np.where(own, 1, lengths).astype(np.int64)
        self._first: Numbers = np.cumsum(self._count) - self._count
        records = pa.chunked_array([pc.list_flatten(victims)])
        self._own, self._is_own = own, np.repeat(own, self._count)
        begun, known, given = (
            numbers(pc.struct_field(records, name)) for name in ("sent_ns", "known_ns", "delivered")
        )
        self._begun_ns = self._mixed(found.number["sent_ns"], begun[0])
        self._begun = self._mixed(found.known["sent_ns"], begun[1])
        self._known_ns = self._mixed(found.number["known_ns"], known[0])
        self._known = self._mixed(found.known["known_ns"], known[1])
        self._delivered = self._mixed(np.zeros(len(own), dtype=bool), (given[0] == 1) & given[1])

    def _mixed(self, of_row: npt.NDArray[Any], of_victims: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column of all records."""
        mixed = np.empty(len(self._is_own), dtype=of_row.dtype)
        mixed[self._is_own] = of_row[self._own]
        mixed[~self._is_own] = of_victims
        return mixed

    def any_permitted(self, cause: CauseRow, rows: Numbers) -> Mask:
        """Which of these rows have a record that a cause permits."""
        count = self._count[rows]
        of = np.repeat(np.arange(len(rows)), count)  # the row of each of their records
        at = np.arange(len(of)) + np.repeat(self._first[rows] - np.cumsum(count) + count, count)
        permitted = ~(self._delivered[at] & bool(cause["acked_only"]))
        if (before := cause["begun_before_ns"]) is not None:
            permitted &= (self._begun_ns[at] < before) | ~self._begun[at]
        if (since := cause["known_from_ns"]) is not None:
            permitted &= (self._known_ns[at] >= since) | ~self._known[at]
        if (until := cause["known_until_ns"]) is not None:
            permitted &= (self._known_ns[at] <= until) | ~self._known[at]
        mask: Mask = np.zeros(len(rows), dtype=bool)
        mask[of[permitted]] = True
        return mask

    @property
    def none(self) -> Mask:
        """Which rows name none."""
        named_none: Mask = self._count == 0
        return named_none


def _permits(found: Found, records: _Records, cause: CauseRow, rows: Numbers) -> Mask:
    """Which of these rows, of its anomalies and its partition, a cause permits."""
    permitted = records.any_permitted(cause, rows)
    if cause["outcomes"]:
        permitted |= records.none[rows]  # no record's loss explains it: the cause makes such rows
        permitted &= found.are("outcome", cause["outcomes"])[rows]
    if (since := cause["shown_from_ns"]) is not None:
        shown = found.number["shown_ns"][rows] > since
        permitted &= shown | ~found.known["shown_ns"][rows]
    if (until := cause["shown_until_ns"]) is not None:
        early = found.number["time_ns"][rows] <= until
        permitted &= early | ~found.known["time_ns"][rows]
    for last in cause["settled"]:
        permitted &= ~_is_settled(found, last)[rows]
    if cause["brokers"]:
        lacked_by, of = found.text["lacked_by"]
        brokers = set(cause["brokers"])
        covered = [n for n, names in enumerate(lacked_by) if brokers.issuperset(names.split(","))]
        permitted &= np.isin(of[rows], [-1, *covered])  # -1: not known
    offset = found.number["place"][rows] & ((1 << OFFSET_BITS) - 1)
    if (since := cause["from_offset"]) is not None:
        permitted &= (offset >= since) & found.known["place"][rows]
    if (until := cause["to_offset"]) is not None:
        permitted &= (offset < until) & found.known["place"][rows]
    if cause["process"] is not None:
        permitted &= _stopped(found, cause)[rows]
    return permitted


def _is_settled(found: Found, last: SettledRow) -> Mask:
    """Which rows' transactions are this one of its worker, or an earlier one."""
    mine = found.known["sender"] & (found.number["sender"] == last["sender"])
    early = found.known["transaction"] & (found.number["transaction"] <= last["transaction"])
    settled: Mask = mine & early
    if last["partition"] is not None:
        here = found.known["partition"] & (found.number["partition"] == last["partition"])
        settled &= here & ~found.known["of_offsets"]
    return settled


def _stopped(found: Found, cause: CauseRow) -> Mask:
    """Where the member that was given the record stopped before it processed a later one."""
    at_ns, process = cause["at_ns"], cause["process"]
    if at_ns is None or process is None:
        return np.zeros(len(found), dtype=bool)
    given = found.known["polled_ns"] & (found.number["polled_ns"] <= at_ns)
    passed = found.known["passed_ns"] & (found.number["passed_ns"] < at_ns)
    stopped: Mask = found.are("polled_by", [process]) & given & ~passed
    return stopped
