"""Who led when a record was written, and who came to lead without it.

    kafka1 had the record of epoch 2 at 4711    kafka2 led with epoch 3 from log end 4711
    =>  kafka1 wrote it, and kafka2 led without it

A record's leader epoch is *certain* where a kept log has it at the offset of its ack, or where both
brokers' logs and views show one epoch until then. Otherwise the view at the moment of the ack may
show another leader's epoch, since a stale leader may acknowledge on.
A record was lost by the first election of a later epoch (not certain: after the ack) of a broker
whose log ended at or before it: leaders in between had it, or had the same there. A leader that
comes back in its own epoch with a shorter log counts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from analysis.stored.table_rows import View
from analysis.stories.kept import Kept, LogLine
from analysis.stories.story_groups import Findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One record, as an example of all that share its story."""

    anomaly: str
    outcome: str | None
    partition: int
    offset: int | None  # as acked, or where it was read
    value: int | None
    other_partition: int | None
    other_offset: int | None
    other_value: int | None
    acked: bool
    sent_ns: int | None
    acked_ns: int | None
    epoch: int | None  # as certain, or as a view showed it
    certain: bool
    leader: str | None  # who wrote it, if that is certain; else who led, as a view showed


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """Who led next without the record; `log_end` None: only a view shows it."""

    leader: str
    epoch: int | None
    at_ns: int | None
    log_end: int | None = None
    outside: bool = False  # it was not in the ISR that was seen before


def subject_of(findings: Findings, row: int, kept: Kept, views: Sequence[View]) -> Subject:
    """The record of a row of evidence."""
    value, offset = findings.number("value", row), findings.number("offset", row)
    partition = findings.number("partition", row) or 0
    records = kept.records_of(value)
    epochs = {r.epoch for r in records if r.partition == partition and r.offset == offset}
    if not epochs:
        epochs = _only_epoch(partition, findings.number("acked_ns", row), kept, views)
    certain = len(epochs) == 1 and None not in epochs
    epoch = epochs.pop() if certain else findings.number("epoch", row)
    leader = led_in(partition, epoch, kept, views) if certain else findings.word("leader", row)
    return Subject(
        anomaly=findings.anomaly,
        outcome=findings.word("outcome", row),
        partition=partition,
        offset=offset,
        value=value,
        other_partition=findings.number("other_partition", row),
        other_offset=findings.number("other_offset", row),
        other_value=findings.number("other_value", row),
        acked=findings.number("acked_ns", row) is not None,
        sent_ns=findings.number("sent_ns", row),
        acked_ns=findings.number("acked_ns", row),
        epoch=epoch,
        certain=certain,
        leader=leader,
    )


def _only_epoch(
    partition: int, acked_ns: int | None, kept: Kept, views: Sequence[View]
) -> set[int | None]:
    """The epoch of a record that was acked before there was another."""
    if acked_ns is None:
        return set()
    led = kept.led(partition)
    logged = {line.epoch for line in led if line.at_ns is None or line.at_ns <= acked_ns}
    views = [view for view in views if view["partition"] == partition]
    shown = {view["leader_epoch"] for view in views if view["time_ns"] <= acked_ns}
    return logged if logged == shown else set()


def led_in(partition: int, epoch: int | None, kept: Kept, views: Sequence[View]) -> str | None:
    """Who led a partition in an epoch, by its own log, or as a view showed it."""
    if epoch is None:
        return None
    logged = [line.broker for line in kept.led(partition) if line.epoch == epoch]
    if logged:
        return logged[0]
    seen = [
        view["leader"]
        for view in views
        if view["partition"] == partition and view["leader_epoch"] == epoch and view["leader"]
    ]
    return seen[0] if seen else None


def election(subject: Subject, kept: Kept, views: Sequence[View]) -> Election | None:
    """Who came to lead without the record; None where nobody is known."""
    led = kept.led(subject.partition)
    later = [line for line in led if _is_later(line, subject)]
    without = [line for line in later if line.offset <= (subject.offset or 0)]
    if without and subject.offset is not None:
        first = min(without, key=attrgetter("epoch" if subject.certain else "at_ns"))
        return Election(
            leader=first.broker,
            epoch=first.epoch,
            at_ns=first.at_ns,
            log_end=first.offset,
            outside=_outside(first.broker, first.epoch, subject.partition, views),
        )
    if led:  # the leaders' logs were kept, and none of them lacked it
        return None
    return _election_by_views(subject, views)


def _is_later(line: LogLine, subject: Subject) -> bool:
    if subject.certain and subject.epoch is not None:
        if line.epoch == subject.epoch:  # it came back
            back = subject.acked_ns is not None and line.at_ns is not None
            return back and (line.at_ns or 0) > (subject.acked_ns or 0)
        return line.epoch is not None and line.epoch > subject.epoch
    known = subject.acked_ns is not None and line.at_ns is not None
    return known and (line.at_ns or 0) >= (subject.acked_ns or 0)


def _outside(broker: str, epoch: int | None, partition: int, views: Sequence[View]) -> bool:
    """Whether a broker was in neither ISR nor ELR when last seen before it led. Where both were
    empty, the last known leader was not outside."""
    views = [view for view in views if view["partition"] == partition]
    led = [n for n, view in enumerate(views) if view["leader_epoch"] == epoch and epoch is not None]
    before = views[: led[0]] if led else []
    last = before[-1] if before else {"isr": ()}
    eligible = (*last["isr"], *(last.get("elr") or ()))
    if not eligible:
        leaders = [view["leader"] for view in before if view["leader"] is not None]
        return last.get("elr") is not None and leaders[-1:] != [broker]
    return broker not in eligible


def _election_by_views(subject: Subject, views: Sequence[View]) -> Election | None:
    """The first other leader that a view showed after the ack."""
    if subject.acked_ns is None or subject.leader is None:
        return None
    for view in views:
        if view["partition"] != subject.partition or view["time_ns"] < subject.acked_ns:
            continue
        if view["leader"] not in (None, subject.leader):
            return Election(
                leader=view["leader"],
                epoch=view["leader_epoch"],
                at_ns=view["time_ns"],
                outside=_outside(view["leader"], view["leader_epoch"], subject.partition, views),
            )
    return None
