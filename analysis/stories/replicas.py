"""In which replicas was a record, and in which is it now?

`had`, of one that is gone:

- *yes*: a kept log of the broker has it; or it acked it as leader; or it began to lead or follow in
  the record's epoch with a log that ended at or before it (or cut its log off there afterwards),
  and next led or followed with a log that ended behind it: then what it has there is that leader's.
- *no*: it next led or followed, or was kept, with a log that ended at or before it, and had cut
  nothing off there since the record was sent; or another record lies there in a kept log.
- *unknown*: anything else, and why.

`now`, by what was kept at the end: in the tail, or not; below the lowest high watermark of all
replicas each has what a complete final read has.

    kafka1, kept before its return: 4711        had it
    kafka2: led in the next epoch from 4711     had it not
    kafka3: nothing kept, nothing logged        unknown
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.stories.kept import END, Kept, Record, Said, Tail
from analysis.stories.leaders import Subject

Known = Literal["yes", "no", "unknown"]
Clock = Callable[[int | None], str]  # a moment in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What is known of a record and one broker. `shown_ns`: when that shows; `cut_ns`: when it cut
    off what it had; -1: nobody knows when."""

    broker: str
    had: Known
    had_why: str
    now: Known
    now_why: str
    shown_ns: int | None = None
    log_end: int | None = None  # by which it is known not to have had it
    cut_ns: int | None = None
    cut_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Yes, no or unknown, why, and when that shows."""

    known: Known
    why: str
    shown_ns: int | None = None
    log_end: int | None = None


def replica(subject: Subject, broker: str, kept: Kept, clock: Clock, read: bool) -> Replica:
    """What is known of a record that is gone, and one broker. `read`: a complete final read of its
    partition does not have it."""
    had, now = had_it(subject, broker, kept, clock), has_it(subject, broker, kept, read=read)
    cut = _cut(subject, broker, kept) if had.known != "no" else None
    return Replica(
        broker=broker,
        had=had.known,
        had_why=had.why,
        now=now.known,
        now_why=now.why,
        shown_ns=had.shown_ns,
        log_end=had.log_end,
        cut_ns=None if cut is None else -1 if cut.at_ns is None else cut.at_ns,
        cut_at=None if cut is None else cut.offset,
    )


def had_it(subject: Subject, broker: str, kept: Kept, clock: Clock) -> Answer:
    """Whether the record was ever in the broker's log."""
    mine = [r for r in kept.of_value.get(_value(subject), ()) if r.broker == broker]
    if mine:
        return _found(subject, min(mine, key=lambda record: record.time_ns), clock)
    if subject.certain and subject.acked and subject.leader == broker:
        why = f"it acknowledged it as leader of epoch {subject.epoch}"
        return Answer(known="yes", why=why)
    if subject.offset is None:
        return Answer(known="unknown", why="the ack named no offset, and no kept log has it")
    tails = [t for t in _tails(subject, broker, kept) if t.time_ns >= (subject.acked_ns or 0)]
    answers = [
        *_by_words(subject, broker, kept, clock),
        *(_by_tail(subject, tail, kept, clock) for tail in tails if subject.acked_ns is not None),
    ]
    sure = [answer for answer in answers if answer.known != "unknown"]
    return (sure or answers or [Answer(known="unknown", why=_silence(subject, tails))])[0]


def has_it(subject: Subject, broker: str, kept: Kept, *, read: bool) -> Answer:
    """Whether it is in the broker's log now, by what was kept at the end."""
    at_end = [r for r in kept.of_value.get(_value(subject), ()) if r.moment == END]
    mine = [r for r in at_end if r.broker == broker]
    if mine:
        return Answer(known="yes", why=f"at offset {mine[0].offset:,}")
    tails = [t for t in kept.tails.get(subject.partition, ()) if t.moment == END]
    tail = next((t for t in tails if t.broker == broker), None)
    if tail is None:
        return Answer(known="unknown", why="its log was not kept at the end")
    if subject.offset is None:
        return Answer(known="unknown", why="the ack named no offset, and the kept tail lacks it")
    if tail.lowest is not None and subject.offset < tail.lowest:
        if read:
            why = "below every replica's watermark, where each has what the final read has"
            return Answer(known="no", why=why)
        return Answer(known="unknown", why="below what was kept, and the final read is incomplete")
    return _in_tail(subject, tail, kept, "at the end")


def _value(subject: Subject) -> int:
    return -1 if subject.value is None else subject.value


def _found(subject: Subject, record: Record, clock: Clock) -> Answer:
    where = "" if record.offset == subject.offset else f" at offset {record.offset:,}"
    before = f"at {clock(record.time_ns)}, before it came back"
    when = "at the end" if record.moment == END else before
    why = f"its log, kept {when}, has it{where}"
    return Answer(known="yes", why=why, shown_ns=record.time_ns)


def _tails(subject: Subject, broker: str, kept: Kept) -> list[Tail]:
    return [t for t in kept.tails.get(subject.partition, ()) if t.broker == broker]


def _by_words(subject: Subject, broker: str, kept: Kept, clock: Clock) -> Iterator[Answer]:
    """By where its log ended when it next led or followed."""
    words = [s for s in kept.said.get(subject.partition, ()) if s.broker == broker]
    began, following = _around(subject, words)
    if following is None or subject.offset is None:
        return
    number = words.index(following)
    since = 0 if began is None else words.index(began)
    cuts = [s for s in words[since:number] if s.event == "truncated" and s.offset <= subject.offset]
    role = "leader" if following.event == "led" else "follower"
    ended = f"its log ended at {following.offset:,} when it became {role} of epoch "
    ended += f"{following.epoch} at {clock(following.at_ns)}"
    at_ns = following.at_ns
    if following.offset <= subject.offset:
        if [cut for cut in cuts if not _before(cut.at_ns, subject.sent_ns)]:
            why = f"{ended}, and it had cut its log off there since the record was sent"
            yield Answer(known="unknown", why=why)
        else:
            yield Answer(known="no", why=ended, shown_ns=at_ns, log_end=following.offset)
    elif began is not None and (began.offset <= subject.offset or cuts):
        yield Answer(known="yes", why=ended, shown_ns=at_ns)
    else:
        why = f"{ended}: it had a record there, and it is not known which"
        yield Answer(known="unknown", why=why)


def _around(subject: Subject, words: Sequence[Said]) -> tuple[Said | None, Said | None]:
    """Where it began to lead or follow in the record's epoch, and where in a later one; where the
    epoch is not certain, where it did so next after the ack."""
    roles = [said for said in words if said.event != "truncated"]
    if not subject.certain or subject.epoch is None:
        if subject.acked_ns is None:
            return None, None
        later = [s for s in roles if s.at_ns is not None and s.at_ns >= subject.acked_ns]
        return None, later[0] if later else None
    same = [said for said in roles if said.epoch == subject.epoch]
    after = [said for said in roles if (said.epoch or 0) > subject.epoch]
    return (same[-1] if same else None), (after[0] if after else None)


def _before(at_ns: int | None, moment_ns: int | None) -> bool:
    return at_ns is not None and moment_ns is not None and at_ns < moment_ns


def _by_tail(subject: Subject, tail: Tail, kept: Kept, clock: Clock) -> Answer:
    when = "at the end" if tail.moment == END else f"at {clock(tail.time_ns)}"
    return _in_tail(subject, tail, kept, when)


def _in_tail(subject: Subject, tail: Tail, kept: Kept, when: str) -> Answer:
    """Whether a log that was kept has the record, which is none of those that were kept."""
    assert subject.offset is not None
    if tail.log_end <= subject.offset:
        why = f"its log, kept {when}, ended at {tail.log_end:,}"
        return Answer(known="no", why=why, shown_ns=tail.time_ns, log_end=tail.log_end)
    if subject.offset < tail.begin:
        return Answer(known="unknown", why=f"its log was kept {when} from {tail.begin:,} on only")
    there = [
        record
        for record in kept.at.get((subject.partition, subject.offset), ())
        if record.broker == tail.broker
        and (record.moment == END if tail.moment == END else record.time_ns <= tail.time_ns)
    ]
    if any(record.unreadable for record in there):
        return Answer(known="unknown", why=f"what its log, kept {when}, has there is unreadable")
    if there:
        why = f"its log, kept {when}, has another record there"
        return Answer(known="no", why=why, shown_ns=tail.time_ns)
    if tail.cut_short:
        return Answer(known="unknown", why=f"its log was kept {when} in part only")
    why = f"its log, kept {when}, has no record there"
    return Answer(known="no", why=why, shown_ns=tail.time_ns)


def _silence(subject: Subject, tails: Sequence[Tail]) -> str:
    if subject.acked_ns is None and tails:
        return "it is not known when the record was acknowledged"
    return "nothing that was kept or logged tells"


def _cut(subject: Subject, broker: str, kept: Kept) -> Said | None:
    """Where it cut off the record, if it had it."""
    words = [s for s in kept.said.get(subject.partition, ()) if s.broker == broker]
    began, following = _around(subject, words)
    if subject.offset is None or (began is None and following is None):
        return None
    after = words.index(following) if following is not None else len(words)
    since = words.index(began) if began is not None else after
    for number, said in enumerate(words[since:], start=since):
        if said.event != "truncated" or said.offset > subject.offset:
            continue
        if number > after or _before(subject.acked_ns, said.at_ns):
            return said
    return None
