"""Which records of a topic that was not empty are not of this history.

VerifiableProducer's values begin at 0 each time, so a topic that was written before has copies:

    read "0"@11 "0"@13, acked "0" at 13, sent once    =>  the one at 11 is an earlier run's
    the same, and the producer may send again         =>  in doubt: a retry leaves the same
    read "x"@11, and nobody sent it                   =>  somebody else's, and no phantom
    read "2"@12, and its send ended info              =>  no copy: it counts as written
    read "0"@13 "0"@14, acked "0" at 13               =>  a duplicate: it lies behind the first ack
    acked "0" at 13, read "0"@11 and not at 13        =>  lost where it was sent once; else in the
                                                          log, and its ack is wrong

A record lies *below* if its offset is below the first acknowledged one of its partition. Where a
partition has none, all do, of which only copies matter. What is not of this history becomes a value
of its own, so no check compares it with a send. Where the topic is told to have been empty, or was
made by whoever wrote the history, as Jepsen's, nothing of this holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.foreign.about import About
from harness.foreign.parsed_history import UNKNOWN, ParsedHistory
from harness.model.client_settings import leaves_one_copy
from harness.model.runs.imported_history import LAST_OFFSET

Numbers = np.ndarray[Any, Any]
_NO_ACK: Final = LAST_OFFSET + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """How many records below the first acknowledged offsets were taken for none of this history."""

    others: int = 0  # certainly
    doubtful: int = 0  # they may be its own


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """Each place at which a text was read, once."""

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
    records = _records(history)
    if not records.below.any():
        return Parted()
    out, sure = _judged(history, records, _sent_once(history, about))
    _take_out(history, records, out)
    return Parted(others=int(sure.sum()), doubtful=int((out & ~sure).sum()))


def place_sends(history: ParsedHistory) -> None:
    """Sends that told no partition went where their values were read."""
    sent_to = np.asarray(history.sends.partition)
    for reads in history.reads.values():
        text, partition = np.asarray(reads.text)[::-1], np.asarray(reads.partition)[::-1]
        sent = (text >= 0) & (text < history.sent)
        text, partition = text[sent], partition[sent]
        unplaced = sent_to[text] == UNKNOWN
        sent_to[text[unplaced]] = partition[unplaced]  # what was read first is written last


def _records(history: ParsedHistory) -> _Records:
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
    return _Records(
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


def _judged(history: ParsedHistory, records: _Records, once: Numbers) -> tuple[Numbers, Numbers]:
    """Which records are taken out, and which of these are certainly none of this history."""
    text, below, texts = records.text, records.below, len(history.texts)
    is_named = np.zeros(texts, dtype=bool)  # by an ack
    is_named[: history.sent] = np.asarray(history.sends.offset) != UNKNOWN
    elsewhere = np.bincount(text[~below], minlength=texts) > 0
    copied = (elsewhere | is_named | (np.bincount(text, minlength=texts) > 1))[text]
    # Its own record is told by its ack, or lies where earlier runs have none.
    settled = (elsewhere | (is_named & once))[text]
    is_strange = (text >= history.sent) & (records.first < _NO_ACK)
    # Of what may be its own the last one is.
    may_stay = np.flatnonzero(below & ~settled & ~is_strange)
    stays = np.zeros(len(text), dtype=bool)
    stays[may_stay[np.diff(text[may_stay], append=UNKNOWN) != 0]] = True
    out = below & ~stays & (copied | is_strange)
    return out, out & (is_strange | (settled & once[text]))


def _take_out(history: ParsedHistory, records: _Records, out: Numbers) -> None:
    """Give these records values of their own, with the texts that they had."""
    texts = list(history.texts)
    history.strangers = [texts[text] for text in records.text[out]]
    text = np.where(out, len(texts) + np.cumsum(out) - 1, records.text)
    begin = 0
    for reads in history.reads.values():
        mine = records.of_read[begin : begin + len(reads.text)]
        begin += len(reads.text)
        np.asarray(reads.text)[mine != UNKNOWN] = text[mine[mine != UNKNOWN]]
