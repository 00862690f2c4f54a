"""Which replicas had a record, and which have it now.

`had`, of a record that is gone:

- *yes*: a kept log of the broker has it; or the broker acked it as leader; or it began to lead or
  follow in the record's epoch with a log that ended at or before the record (or cut its log off
  there afterwards), and next led or followed with a log that ended behind it: what it has there is
  that leader's.
- *no*: when the broker next led or followed, or was kept, its log ended at or before the record,
  and since the send it had cut nothing off there and no fault had taken anything from its disk.
- *unknown*: anything else, with the reason. Another record at its place later proves nothing.

`now`, by what was kept at the end: whether the tail has it; below the lowest high watermark every
replica has what a complete final read has.

    kafka1, kept before its return: 4711        had it
    kafka2: led in the next epoch from 4711     had it not
    kafka3: nothing kept, nothing logged        unknown
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.stories.kept import END, Kept, LogLine, Record, Tail
from analysis.stories.leaders import Subject

Known = Literal["yes", "no", "unknown"]
Clock = Callable[[int | None], str]  # a moment in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What is known of a record and one broker. `shown_ns`: when it was seen; `cut_at`, `cut_ns`:
    where and when the broker cut it off; None: not known."""

    broker: str
    had: Known
    had_why: str
    now: Known
    now_why: str
    shown_ns: int | None = None
    log_end: int | None = None  # by which it is known not to have had it
    cut_ns: int | None = None
    cut_at: int | None = None
    taken_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Yes, no or unknown, why, and when it was seen."""

    known: Known
    why: str
    shown_ns: int | None = None
    log_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What answers rest on. `taken_ns`: by broker, when faults may have taken something from its
    disk; `read`: the final read of the partition is complete."""

    kept: Kept
    clock: Clock
    taken_ns: Mapping[str, Sequence[int]]
    read: bool


def replica(subject: Subject, broker: str, evidence: Evidence) -> Replica:
    """What is known of a record that is gone, and one broker."""
    kept = evidence.kept
    had, now = had_it(subject, broker, evidence), has_it(subject, broker, kept, read=evidence.read)
    cut = _cut(subject, broker, kept) if had.known != "no" else None
    since_ns = subject.sent_ns or 0
    taken_ns = (ns for ns in evidence.taken_ns.get(broker, ()) if ns >= since_ns)
    return Replica(
        broker=broker,
        had=had.known,
        had_why=had.why,
        now=now.known,
        now_why=now.why,
        shown_ns=had.shown_ns,
        log_end=had.log_end,
        cut_ns=None if cut is None else cut.at_ns,
        cut_at=None if cut is None else cut.offset,
        taken_ns=min(taken_ns, default=None),
    )


def had_it(subject: Subject, broker: str, evidence: Evidence) -> Answer:
    """Whether the record was ever in the broker's log; of *inconsistent-offset*: at its offset,
    since elsewhere it may have been sent again."""
    kept, clock = evidence.kept, evidence.clock
    records = [r for r in kept.records_of(subject.value) if r.broker == broker]
    if subject.anomaly == "inconsistent-offset":
        place = (subject.partition, subject.offset)
        records = [r for r in records if (r.partition, r.offset) == place]
    if records:
        return _from_record(subject, min(records, key=lambda record: record.time_ns), clock)
    if subject.certain and subject.acked and subject.leader == broker:
        why = f"it wrote it as leader of epoch {subject.epoch}, and acknowledged it"
        return Answer(known="yes", why=why)
    if subject.offset is None:
        return Answer(known="unknown", why="no ack named its offset, and no kept log has it")
    answers = [*_by_log_lines(subject, broker, evidence), *_by_tails(subject, broker, evidence)]
    sure = [answer for answer in answers if answer.known != "unknown"]
    silence = Answer(known="unknown", why="nothing that was kept or logged tells")
    return (sure or answers or [silence])[0]


def has_it(subject: Subject, broker: str, kept: Kept, *, read: bool) -> Answer:
    """Whether it is in the broker's log now, by what was kept at the end."""
    at_end = (r for r in kept.records_of(subject.value) if r.moment == END)
    records = [r for r in at_end if r.broker == broker]
    if records:
        return Answer(known="yes", why=f"at offset {records[0].offset:,}")
    tails = [t for t in kept.tails.get(subject.partition, ()) if t.moment == END]
    tail = next((t for t in tails if t.broker == broker), None)
    if tail is None:
        return Answer(known="unknown", why="its log was not kept at the end")
    if subject.offset is None:
        return Answer(known="unknown", why="no ack named its offset, and the kept tail lacks it")
    if tail.lowest is not None and subject.offset < tail.lowest:
        if read:
            why = "every replica was past this offset, and has there what the final read has"
            return Answer(known="no", why=why)
        return Answer(known="unknown", why="below what was kept, and the final read is incomplete")
    return _in_tail(subject, tail, kept)


def _from_record(subject: Subject, record: Record, clock: Clock) -> Answer:
    where = "" if record.offset == subject.offset else f" at offset {record.offset:,}"
    before = f"at {clock(record.time_ns)} before it came back or anything was cut off it"
    when = "at the end" if record.moment == END else before
    why = f"its log, kept {when}, has it{where}"
    return Answer(known="yes", why=why, shown_ns=record.time_ns)


def _by_log_lines(subject: Subject, broker: str, evidence: Evidence) -> Iterator[Answer]:
    """By where its log ended when it next led or followed."""
    lines = _lines_of(subject, broker, evidence.kept)
    began, following = _around(subject, lines)
    if following is None or subject.offset is None:
        return
    number = lines.index(following)
    since = 0 if began is None else lines.index(began)
    cuts = [cut for cut in _truncations(lines[since:number]) if cut.offset <= subject.offset]
    role = "leader" if following.event == "led" else "follower"
    ended = f"its log ended at {following.offset:,} when it became {role} of epoch "
    ended += f"{following.epoch} at {evidence.clock(following.at_ns)}"
    at_ns = following.at_ns
    if following.offset <= subject.offset:
        late = [cut for cut in cuts if not _before(cut.at_ns, subject.sent_ns)]
        if late or _may_be_taken(subject, broker, evidence, at_ns):
            why = f"{ended}, and it may have had it before: it was cut off, or its disk was hit"
            yield Answer(known="unknown", why=why)
        else:
            yield Answer(known="no", why=ended, shown_ns=at_ns, log_end=following.offset)
    elif began is not None and (began.offset <= subject.offset or cuts):
        yield Answer(known="yes", why=ended, shown_ns=at_ns)
    else:
        why = f"{ended}: it had a record there, and it is not known which"
        yield Answer(known="unknown", why=why)


def _around(subject: Subject, lines: Sequence[LogLine]) -> tuple[LogLine | None, LogLine | None]:
    """When the broker began to lead or follow in the record's epoch, and in a later one; where the
    epoch is not certain, only when next after the ack."""
    roles = [line for line in lines if line.event != "truncated"]
    if not subject.certain or subject.epoch is None:
        if subject.acked_ns is None:
            return None, None
        acked_ns = subject.acked_ns
        later = (line for line in roles if line.at_ns is not None and line.at_ns >= acked_ns)
        return None, next(later, None)
    after = [line for line in roles if _is_after(line, subject)]
    same = [line for line in roles if line.epoch == subject.epoch and not _is_after(line, subject)]
    return (same[-1] if same else None), (after[0] if after else None)


def _is_after(line: LogLine, subject: Subject) -> bool:
    """Whether the broker led or followed anew after the record: in a later epoch or, having come
    back, in the same."""
    if line.epoch is None or subject.epoch is None or line.epoch != subject.epoch:
        return (line.epoch or 0) > (subject.epoch or 0)
    return _before(subject.acked_ns, line.at_ns)


def _before(at_ns: int | None, moment_ns: int | None) -> bool:
    return at_ns is not None and moment_ns is not None and at_ns < moment_ns


def _lines_of(subject: Subject, broker: str, kept: Kept) -> list[LogLine]:
    return [line for line in kept.lines.get(subject.partition, ()) if line.broker == broker]


def _truncations(lines: Sequence[LogLine]) -> list[LogLine]:
    return [line for line in lines if line.event == "truncated"]


def _may_be_taken(subject: Subject, broker: str, evidence: Evidence, at_ns: int | None) -> bool:
    """Whether a fault may have taken the record from its disk before a moment."""
    since_ns, until_ns = subject.sent_ns or 0, 2**63 if at_ns is None else at_ns
    return any(since_ns <= taken <= until_ns for taken in evidence.taken_ns.get(broker, ()))


def _by_tails(subject: Subject, broker: str, evidence: Evidence) -> Iterator[Answer]:
    """By where its log ended when it was kept after the ack."""
    cuts = _truncations(_lines_of(subject, broker, evidence.kept))
    for tail in evidence.kept.tails.get(subject.partition, ()):
        late = subject.acked_ns is not None and tail.time_ns >= subject.acked_ns
        if tail.broker != broker or not late or tail.log_end > (subject.offset or 0):
            continue
        near = [cut for cut in cuts if not _is_irrelevant(cut, subject, tail)]
        if any(cut.offset <= (subject.offset or 0) for cut in near):
            continue
        if not _may_be_taken(subject, broker, evidence, tail.time_ns):
            when = "at the end" if tail.moment == END else f"at {evidence.clock(tail.time_ns)}"
            why = f"its log, kept {when}, ended at {tail.log_end:,}"
            yield Answer(known="no", why=why, shown_ns=tail.time_ns, log_end=tail.log_end)


def _is_irrelevant(cut: LogLine, subject: Subject, tail: Tail) -> bool:
    """Whether it was cut off before the record was sent, or after its log was kept."""
    return _before(cut.at_ns, subject.sent_ns) or _before(tail.time_ns, cut.at_ns)


def _in_tail(subject: Subject, tail: Tail, kept: Kept) -> Answer:
    """Whether the log has a record that is not among those kept at the end."""
    assert subject.offset is not None
    if tail.log_end <= subject.offset:
        return Answer(known="no", why=f"the log ends at {tail.log_end:,}")
    if subject.offset < tail.begin:
        return Answer(known="unknown", why=f"the log was kept from {tail.begin:,} on only")
    at_offset = [
        record
        for record in kept.at.get((subject.partition, subject.offset), ())
        if record.broker == tail.broker and record.moment == END
    ]
    if any(record.unreadable for record in at_offset):
        return Answer(known="unknown", why="what the log has there is unreadable")
    if not at_offset and tail.cut_short:
        return Answer(known="unknown", why="the log was kept in part only")
    return Answer(known="no", why=f"{'another' if at_offset else 'no'} record lies there")


def _cut(subject: Subject, broker: str, kept: Kept) -> LogLine | None:
    """The truncation that took the record, if the broker had it."""
    lines = _lines_of(subject, broker, kept)
    began, following = _around(subject, lines)
    if subject.offset is None or (began is None and following is None):
        return None
    after = lines.index(following) if following is not None else len(lines)
    since = lines.index(began) if began is not None else after
    for number, line in enumerate(lines[since:], start=since):
        if line.event != "truncated" or line.offset > subject.offset:
            continue
        if number > after or _before(subject.acked_ns, line.at_ns):
            return line
    return None
