"""The rows of evidence that have a story, as columns of numbers, and which of them share it.

A million rows are read and divided without a loop over rows: all that a story depends on is between
which offsets and moments a record lies, of those at which something was logged or kept; in whose
kept logs it is; and what the evidence has of it in words. Rows that agree in all of this have one
story. Missing numbers are -1.

    leader's log end 4711 at 13.1 s     acked at 4711..4715, 12.304 to 12.306 s      =>  one story
    the same, and 4713 is in kafka3's log as well                                    =>  three
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from analysis.stored.columns import Numbers, whole_numbers
from analysis.stories.kept import Kept

TOLD = ("lost", "torn", "duplicate", "inconsistent-offset", "reordered")
_NUMBERS = (
    *("value", "partition", "offset", "other_partition", "other_offset", "other_value"),
    *("sent_ns", "acked_ns", "delivered_ns", "time_ns", "epoch"),
)
_WORDS = ("outcome", "sent", "leader")
READ_ELSEWHERE = "read_elsewhere"
_OF_SEND = ("sent_ns", "acked_ns", "epoch")  # what other anomalies tell of a record's send


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All rows of one anomaly: columns of numbers, and of numbers of words."""

    anomaly: str
    numbers: Mapping[str, Numbers]
    words: Mapping[str, Numbers]
    names: Mapping[str, Sequence[str | None]]  # of `words`: the words, the last one is None

    def __len__(self) -> int:
        return len(self.numbers["value"])

    def number(self, name: str, row: int) -> int | None:
        """A number of a row; None where it is missing."""
        found = int(self.numbers[name][row])
        return None if found < 0 else found

    def word(self, name: str, row: int) -> str | None:
        """A word of a row."""
        word: str | None = self.names[name][int(self.words[name][row])]
        return word


def read(anomaly: str, folder: Path) -> Findings:
    """An anomaly's evidence."""
    table = ds.dataset(folder, format="parquet").to_table(columns=[*_NUMBERS, *_WORDS])
    words, names = {}, {}
    for name in _WORDS:
        encoded = pc.dictionary_encode(table[name]).combine_chunks()
        known = encoded.dictionary.to_pylist() if isinstance(encoded, pa.DictionaryArray) else []
        indices = pc.fill_null(encoded.indices, len(known))
        words[name], names[name] = indices.to_numpy().astype(np.int64), [*known, None]
    found = {name: whole_numbers(table, name) for name in _NUMBERS}
    return Findings(anomaly=anomaly, numbers=found, words=words, names=names)


def values_of(folder: Path | None) -> Numbers:
    """The values of an anomaly's evidence, in order."""
    if folder is None:
        return np.array([], dtype=np.int64)
    table = ds.dataset(folder, format="parquet").to_table(columns=["value"])
    return np.unique(whole_numbers(table, "value"))


def completed(findings: Findings, lost: Findings | None) -> Findings:
    """Rows of places, which do not tell of sends, with what is known of a lost record's: `value` is
    the record that is gone, `other_value` the one that is there; of a record that is not where a
    reader was given it, that moment takes the place of its ack. Of torn transactions, the records
    that are not lost as well: those have their story."""
    if findings.anomaly == "torn":
        return _alone(findings, lost)
    if findings.anomaly != "inconsistent-offset":
        return findings
    # The leader and the epoch of such a row are those of another moment than its ack; where it was
    # read, of that moment, and where it was acknowledged is not told.
    read = _is_word(findings, "outcome", READ_ELSEWHERE)
    numbers: dict[str, Numbers] = {
        **findings.numbers,
        "epoch": np.where(read, findings.numbers["epoch"], -1),
        "acked_ns": np.where(read, findings.numbers["delivered_ns"], findings.numbers["acked_ns"]),
    }
    words, names = dict(findings.words), dict(findings.names)
    words["leader"] = np.where(read, words["leader"], len(names["leader"]) - 1)
    if lost is not None and len(lost):
        gone = np.isin(numbers["value"], lost.numbers["value"])
        turned = ~gone & np.isin(numbers["other_value"], lost.numbers["value"])
        first = np.where(turned, numbers["other_value"], numbers["value"])
        numbers["other_value"] = np.where(turned, numbers["value"], numbers["other_value"])
        numbers["value"] = first
        order = np.argsort(lost.numbers["value"], kind="stable")
        known = lost.numbers["value"][order]
        at = order[np.minimum(np.searchsorted(known, first), len(known) - 1)]
        same = (lost.numbers["value"][at] == first) & (first >= 0)
        for name in _OF_SEND:
            numbers[name] = np.where(same, lost.numbers[name][at], numbers[name])
        for name in ("leader", "sent"):
            names[name] = [*lost.names[name][:-1], None]
            words[name] = np.where(same, lost.words[name][at], len(names[name]) - 1)
    return replace(findings, numbers=numbers, words=words, names=names)


def _is_word(findings: Findings, name: str, word: str) -> npt.NDArray[np.bool_]:
    """Of which rows it is the word."""
    known = findings.names[name]
    place = known.index(word) if word in known else len(known)
    which: npt.NDArray[np.bool_] = findings.words[name] == place
    return which


def _alone(findings: Findings, lost: Findings | None) -> Findings:
    """The rows of values that are not lost."""
    if lost is None:
        return findings
    rows = ~np.isin(findings.numbers["value"], lost.numbers["value"])
    return replace(
        findings,
        numbers={name: column[rows] for name, column in findings.numbers.items()},
        words={name: column[rows] for name, column in findings.words.items()},
    )


def alike(findings: Findings, kept: Kept, moments_ns: Mapping[int, Numbers]) -> list[Numbers]:
    """The rows that share a story, by their numbers; `moments_ns`: by partition, when else
    something happened."""
    if not len(findings):
        return []
    by_partition = np.argsort(findings.numbers["partition"], kind="stable")
    places = findings.numbers["partition"][by_partition]
    cuts = np.flatnonzero(np.diff(places)) + 1
    seen = _in_logs(findings, kept)
    found: list[Numbers] = []
    for rows in np.split(by_partition, cuts):
        partition = int(findings.numbers["partition"][rows[0]])
        offsets, times = _borders(kept, partition, moments_ns)
        found += _divided(rows, [*_columns(findings, rows, offsets, times), seen[rows]])
    return found


def _columns(
    findings: Findings, rows: Numbers, offsets: Numbers, times: Numbers
) -> Iterator[Numbers]:
    for name in ("other_partition", "epoch"):
        yield findings.numbers[name][rows]
    for name in _WORDS:
        yield findings.words[name][rows]
    for name in ("offset", "other_offset"):
        places = findings.numbers[name][rows]
        yield np.where(places < 0, -1, np.searchsorted(offsets, places, side="right"))
    for name in ("sent_ns", "acked_ns"):
        at = findings.numbers[name][rows]
        yield np.where(at < 0, -1, np.searchsorted(times, at, side="left"))


def _borders(
    kept: Kept, partition: int, moments_ns: Mapping[int, Numbers]
) -> tuple[Numbers, Numbers]:
    """The offsets and the moments of a partition at which something was logged or kept."""
    tails, said = kept.tails.get(partition, []), kept.said.get(partition, [])
    offsets = [each.offset for each in said] + [t for e in tails for t in (e.begin, e.log_end)]
    offsets += [tail.lowest for tail in tails if tail.lowest is not None]
    offsets += [first for _, first in kept.epochs.get(partition, ())]
    times = [each.at_ns for each in said if each.at_ns is not None]
    times += [tail.time_ns for tail in tails]
    more = moments_ns.get(partition, np.array([], dtype=np.int64))
    return np.unique(np.array(offsets, dtype=np.int64)), np.unique(
        np.concatenate([np.array(times, dtype=np.int64), more])
    )


def _in_logs(findings: Findings, kept: Kept) -> Numbers:
    """A number for each row: in whose kept logs its record is, and what lies where it was."""
    known: dict[object, int] = {}
    found = np.zeros(len(findings), dtype=np.int64)
    values, places = findings.numbers["value"], findings.numbers["offset"]
    others = findings.numbers["other_value"]
    there = np.array([_key(partition, offset) for partition, offset in kept.at], dtype=np.int64)
    mine = np.array(list(kept.of_value), dtype=np.int64)
    near = np.isin(_key(findings.numbers["partition"], places), there)
    near |= np.isin(values, mine) | np.isin(others, mine)
    for row in np.flatnonzero(near):
        partition, offset = int(findings.numbers["partition"][row]), int(places[row])
        value, other = int(values[row]), int(others[row])
        logs = [
            (which, r.broker, r.moment, r.time_ns, r.epoch, r.offset == offset)
            for which, wanted in enumerate((value, other))
            for r in kept.of_value.get(wanted, ())
        ]
        held = [
            (r.broker, r.moment, r.epoch, r.unreadable, r.value in (value, other))
            for r in kept.at.get((partition, offset), ())
        ]
        found[row] = known.setdefault((tuple(logs), tuple(held)), len(known) + 1)
    return found


def _key(partition: Any, offset: Any) -> Any:
    """A place as one number; that two places might share one costs time only."""
    return (partition << 44) ^ offset


def _divided(rows: Numbers, columns: Sequence[npt.NDArray[np.int64]]) -> list[Numbers]:
    """The rows that agree in every column, each group in its own order."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        if column.min() == column.max():
            continue
        _, part = np.unique(column, return_inverse=True)
        _, code = np.unique(code * (int(part.max()) + 1) + part, return_inverse=True)
    order = np.argsort(code, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(code[order])) + 1)
