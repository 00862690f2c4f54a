"""The rows of evidence that have a story, as columns of numbers, grouped by story.

A story depends on: between which offsets and moments (at which something was logged or kept) a
record lies, which kept logs have it, and the words of its evidence. Rows that agree in these share
a story, so a million rows are grouped without a loop over rows. Missing numbers are -1.

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

WITH_STORY = ("lost", "torn", "duplicate", "inconsistent-offset", "reordered")
_NUMBERS = (
    *("value", "partition", "offset", "other_partition", "other_offset", "other_value"),
    *("sent_ns", "acked_ns", "delivered_ns", "time_ns", "epoch"),
)
_WORDS = ("outcome", "sent", "leader")
READ_ELSEWHERE = "read_elsewhere"
_OF_SEND = ("sent_ns", "acked_ns", "epoch")  # a lost record's, for rows that lack its send


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All rows of one anomaly: columns of numbers, and of indices of words."""

    anomaly: str
    numbers: Mapping[str, Numbers]
    words: Mapping[str, Numbers]
    names: Mapping[str, Sequence[str | None]]  # the words that `words` index; the last is None

    def __len__(self) -> int:
        return len(self.numbers["value"])

    def number(self, name: str, row: int) -> int | None:
        """A number of a row; None where it is missing."""
        number = int(self.numbers[name][row])
        return None if number < 0 else number

    def word(self, name: str, row: int) -> str | None:
        """A word of a row."""
        return self.names[name][int(self.words[name][row])]


def read(anomaly: str, folder: Path) -> Findings:
    """An anomaly's evidence."""
    table = ds.dataset(folder, format="parquet").to_table(columns=[*_NUMBERS, *_WORDS])
    words, names = {}, {}
    for name in _WORDS:
        encoded = pc.dictionary_encode(table[name]).combine_chunks()
        distinct = encoded.dictionary.to_pylist() if isinstance(encoded, pa.DictionaryArray) else []
        indices = pc.fill_null(encoded.indices, len(distinct))
        words[name], names[name] = indices.to_numpy().astype(np.int64), [*distinct, None]
    numbers = {name: whole_numbers(table, name) for name in _NUMBERS}
    return Findings(anomaly=anomaly, numbers=numbers, words=words, names=names)


def values_of(folder: Path | None) -> Numbers:
    """The values of an anomaly's evidence, in order."""
    if folder is None:
        return np.array([], dtype=np.int64)
    table = ds.dataset(folder, format="parquet").to_table(columns=["value"])
    return np.unique(whole_numbers(table, "value"))


def with_sends(findings: Findings, lost: Findings | None) -> Findings:
    """Findings with what a story needs.

    Of *inconsistent-offset*: `value` is the record that is gone, with the send of a lost one, and
    `other_value` the record that is there; for a record that is not where a reader was given it,
    the read takes the place of the ack. Of *torn*: only the records that are not lost too.
    """
    if findings.anomaly == "torn":
        return _without_lost(findings, lost)
    if findings.anomaly != "inconsistent-offset":
        return findings
    # Leader and epoch of such a row are not those of its ack; of a read, they are of its moment.
    read = _rows_with_word(findings, "outcome", READ_ELSEWHERE)
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
        in_order = lost.numbers["value"][order]
        at = order[np.minimum(np.searchsorted(in_order, first), len(in_order) - 1)]
        same = (lost.numbers["value"][at] == first) & (first >= 0)
        for name in _OF_SEND:
            numbers[name] = np.where(same, lost.numbers[name][at], numbers[name])
        for name in ("leader", "sent"):
            names[name] = [*lost.names[name][:-1], None]
            words[name] = np.where(same, lost.words[name][at], len(names[name]) - 1)
    return replace(findings, numbers=numbers, words=words, names=names)


def _rows_with_word(findings: Findings, name: str, word: str) -> npt.NDArray[np.bool_]:
    """Which rows have the word."""
    words = findings.names[name]
    place = words.index(word) if word in words else len(words)
    which: npt.NDArray[np.bool_] = findings.words[name] == place
    return which


def _without_lost(findings: Findings, lost: Findings | None) -> Findings:
    """The rows of values that are not lost."""
    if lost is None:
        return findings
    rows = ~np.isin(findings.numbers["value"], lost.numbers["value"])
    return replace(
        findings,
        numbers={name: column[rows] for name, column in findings.numbers.items()},
        words={name: column[rows] for name, column in findings.words.items()},
    )


def by_story(findings: Findings, kept: Kept, moments_ns: Mapping[int, Numbers]) -> list[Numbers]:
    """The row numbers of each story; `moments_ns`: by partition, when else something happened."""
    if not len(findings):
        return []
    by_partition = np.argsort(findings.numbers["partition"], kind="stable")
    places = findings.numbers["partition"][by_partition]
    cuts = np.flatnonzero(np.diff(places)) + 1
    seen = _in_logs(findings, kept)
    groups: list[Numbers] = []
    for rows in np.split(by_partition, cuts):
        partition = int(findings.numbers["partition"][rows[0]])
        offsets, times = _borders(kept, partition, moments_ns)
        groups += _groups(rows, [*_columns(findings, rows, offsets, times), seen[rows]])
    return groups


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
    tails, lines = kept.tails.get(partition, []), kept.lines.get(partition, [])
    offsets = [line.offset for line in lines]
    offsets += [offset for tail in tails for offset in (tail.begin, tail.log_end)]
    offsets += [tail.lowest for tail in tails if tail.lowest is not None]
    offsets += [first for _, first in kept.epochs.get(partition, ())]
    times = [line.at_ns for line in lines if line.at_ns is not None]
    times += [tail.time_ns for tail in tails]
    more = moments_ns.get(partition, np.array([], dtype=np.int64))
    return np.unique(np.array(offsets, dtype=np.int64)), np.unique(
        np.concatenate([np.array(times, dtype=np.int64), more])
    )


def _in_logs(findings: Findings, kept: Kept) -> Numbers:
    """A number for each row: which kept logs have its record, and what lies in its place."""
    codes: dict[object, int] = {}
    codes_of_rows = np.zeros(len(findings), dtype=np.int64)
    values, places = findings.numbers["value"], findings.numbers["offset"]
    others = findings.numbers["other_value"]
    kept_places = np.array([_key(*place) for place in kept.at], dtype=np.int64)
    kept_values = np.array(list(kept.of_value), dtype=np.int64)
    near = np.isin(_key(findings.numbers["partition"], places), kept_places)
    near |= np.isin(values, kept_values) | np.isin(others, kept_values)
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
        codes_of_rows[row] = codes.setdefault((tuple(logs), tuple(held)), len(codes) + 1)
    return codes_of_rows


def _key(partition: Any, offset: Any) -> Any:
    """A place as one number. Two places that share one only cost time."""
    return (partition << 44) ^ offset


def _groups(rows: Numbers, columns: Sequence[npt.NDArray[np.int64]]) -> list[Numbers]:
    """The rows that agree in every column, each group in its own order."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        if column.min() == column.max():
            continue
        _, part = np.unique(column, return_inverse=True)
        _, code = np.unique(code * (int(part.max()) + 1) + part, return_inverse=True)
    order = np.argsort(code, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(code[order])) + 1)
