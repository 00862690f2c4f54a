"""Takes records out of a parsed history that are none of it (harness.model.runs.earlier_runs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.foreign.about import About
from harness.foreign.parsed_history import UNKNOWN, ParsedHistory
from harness.history.record_format import FAIL, INFO, OPEN
from harness.model.client_settings import leaves_one_copy
from harness.model.runs.earlier_runs import Parted, Records
from harness.model.runs.imported_history import LAST_OFFSET

Numbers = np.ndarray[Any, Any]
_NO_ACK: Final = LAST_OFFSET + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Each place at which a text was read, once; in order of text, partition and offset."""

    text: Numbers
    partition: Numbers
    offset: Numbers
    first: Numbers  # the first acknowledged offset of the partition
    of_read: Numbers  # of each record read, of all readers in order: its number here, or UNKNOWN

    @property
    def below(self) -> Numbers:
        """Which lie below it."""
        return np.asarray(self.offset < self.first)


def part_earlier(history: ParsedHistory, about: About) -> Parted:
    """Make values of their own of records that are none of this history, or may be none."""
    if about.new_topic or history.new_topic or not history.reads:
        return Parted()
    places = _places(history)
    if not places.below.any():
        return Parted()
    records = _records(history, places, _sent_once(history, about))
    may_stay = np.flatnonzero(records.may_stay)
    is_last = np.zeros(len(places.text), dtype=bool)
    is_last[may_stay[np.diff(places.text[may_stay], append=UNKNOWN) != 0]] = True
    out = records.taken_out(is_last)
    others = int(records.sure(is_last).sum())
    _take_out(history, places, out)
    return Parted(
        others=others,
        doubtful=int(out.sum()) - others,
        landed=int(records.landed(is_last).sum()),
    )


def place_sends(history: ParsedHistory) -> None:
    """Sends that told no partition went where their values were read."""
    sent_to = np.asarray(history.sends.partition)
    for reads in history.reads.values():
        text, partition = np.asarray(reads.text)[::-1], np.asarray(reads.partition)[::-1]
        sent = (text >= 0) & (text < history.sent)
        text, partition = text[sent], partition[sent]
        unplaced = sent_to[text] == UNKNOWN
        sent_to[text[unplaced]] = partition[unplaced]  # what was read first is written last


def _places(history: ParsedHistory) -> _Places:
    rows = np.stack(
        [
            np.concatenate([np.asarray(getattr(reads, name)) for reads in history.reads.values()])
            for name in ("text", "partition", "offset")
        ]
    ).astype(np.int64)
    order = np.lexsort(rows[::-1])
    ordered = rows[:, order]
    is_new = np.any(np.diff(ordered, axis=1, prepend=UNKNOWN - 1) != 0, axis=0)
    is_new &= ordered[0] != UNKNOWN
    of_read = np.empty(len(order), dtype=np.int64)
    of_read[order] = np.where(ordered[0] == UNKNOWN, UNKNOWN, np.cumsum(is_new) - 1)
    text, partition, offset = ordered[:, is_new]
    acked_in, acked_at = np.asarray(history.sends.partition), np.asarray(history.sends.offset)
    first = np.full(1 + max(partition.max(initial=0), acked_in.max(initial=0)), _NO_ACK)
    is_named = acked_at != UNKNOWN
    np.minimum.at(first, acked_in[is_named], acked_at[is_named])
    return _Places(
        text=text, partition=partition, offset=offset, first=first[partition], of_read=of_read
    )


def _sent_once(history: ParsedHistory, about: About) -> Numbers:
    """By text, whether its send leaves one record at most."""
    told = about.config("producer")
    every = leaves_one_copy(told)
    names = history.once if "retries" not in told else ()
    by_producer = np.array([every or name in names for name in history.producers], dtype=bool)
    once = np.zeros(len(history.texts), dtype=bool)
    once[: history.sent] = by_producer[np.asarray(history.sends.producer)]
    return once


def _records(history: ParsedHistory, places: _Places, once: Numbers) -> Records:
    """What is known of each place. `once`: by text."""
    text, below, texts = places.text, places.below, len(history.texts)
    ended = np.full(texts, FAIL)  # a text that nobody sent counts as one whose send failed
    ended[: history.sent] = np.asarray(history.sends.type)
    is_named = np.zeros(texts, dtype=bool)
    is_named[: history.sent] = np.asarray(history.sends.offset) != UNKNOWN
    return Records(
        below=below,
        has_first=places.first < _NO_ACK,
        unwritten=(ended == FAIL)[text],
        in_doubt=np.isin(ended, (INFO, OPEN))[text],
        named=is_named[text],
        once=once[text],
        elsewhere=(np.bincount(text[~below], minlength=texts) > 0)[text],
        several=(np.bincount(text, minlength=texts) > 1)[text],
    )


def _take_out(history: ParsedHistory, places: _Places, out: Numbers) -> None:
    """Give these records values of their own, with the texts that they had."""
    texts = list(history.texts)
    history.strangers = [texts[text] for text in places.text[out]]
    text = np.where(out, len(texts) + np.cumsum(out) - 1, places.text)
    begin = 0
    for reads in history.reads.values():
        mine = places.of_read[begin : begin + len(reads.text)]
        begin += len(reads.text)
        np.asarray(reads.text)[mine != UNKNOWN] = text[mine[mine != UNKNOWN]]
