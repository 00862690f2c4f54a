"""Who led when a record was written, and who came to lead without it.

    kafka1 had the record of epoch 2 at 4711    kafka2 led with epoch 3 from log end 4711
    =>  kafka1 wrote it, and kafka2 led without it

A record's leader epoch is *certain* where a kept log has it at the offset of its ack, or where
there had been no other epoch by then, as a broker logged and a view showed. Else what a view showed
at the moment of the ack may be another leader's: a deposed one may go on.
The election that a record was lost by is the first of a later epoch (not certain: after the ack) by
a broker whose log ended at or before it: whoever led in between had it, or had the same there. A
leader that comes back in its own epoch with a shorter log counts as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.stories.findings import Findings
from analysis.stories.kept import Kept, Said

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One record, in the place of all that share its story."""

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
    """Who led next without the record; `log_end` None: only a view's word is known."""

    leader: str
    epoch: int | None
    at_ns: int | None
    log_end: int | None = None
    outside: bool = False  # it was not in the ISR that was seen before


def subject_of(findings: Findings, row: int, kept: Kept, views: Sequence[Row]) -> Subject:
    """The record of a row of evidence."""
    value, offset = findings.number("value", row), findings.number("offset", row)
    partition = findings.number("partition", row) or 0
    records = [] if value is None else kept.of_value.get(value, [])
    epochs = {r.epoch for r in records if r.partition == partition and r.offset == offset}
    if not epochs:
        epochs = _only(partition, findings.number("acked_ns", row), kept, views)
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


def _only(
    partition: int, acked_ns: int | None, kept: Kept, views: Sequence[Row]
) -> set[int | None]:
    """The one epoch that a record can be of, since there had been no other when it was acked."""
    if acked_ns is None:
        return set()
    led = [s for s in kept.said.get(partition, ()) if s.event == "led"]
    said = {s.epoch for s in led if s.at_ns is None or s.at_ns <= acked_ns}
    mine = [view for view in views if view["partition"] == partition]
    seen = {view["leader_epoch"] for view in mine if view["time_ns"] <= acked_ns}
    return said if said == seen else set()


def led_in(partition: int, epoch: int | None, kept: Kept, views: Sequence[Row]) -> str | None:
    """Who led a partition in an epoch, by its own log, or as a view showed it."""
    if epoch is None:
        return None
    said = [s for s in kept.said.get(partition, ()) if s.event == "led" and s.epoch == epoch]
    if said:
        return said[0].broker
    seen = [
        view["leader"]
        for view in views
        if view["partition"] == partition and view["leader_epoch"] == epoch and view["leader"]
    ]
    return seen[0] if seen else None


def election(subject: Subject, kept: Kept, views: Sequence[Row]) -> Election | None:
    """Who came to lead without the record; None where nobody is known."""
    said = [s for s in kept.said.get(subject.partition, ()) if s.event == "led"]
    without = [s for s in said if _later(s, subject) and s.offset <= (subject.offset or 0)]
    if without and subject.offset is not None:
        first = min(without, key=_order(subject))
        return Election(
            leader=first.broker,
            epoch=first.epoch,
            at_ns=first.at_ns,
            log_end=first.offset,
            outside=_outside(first.broker, first.epoch, subject.partition, views),
        )
    if said:  # what leaders said is there, and none of them lacked it
        return None
    return _seen_election(subject, views)


def _later(said: Said, subject: Subject) -> bool:
    if subject.certain and subject.epoch is not None:
        if said.epoch == subject.epoch:  # it came back
            back = subject.acked_ns is not None and said.at_ns is not None
            return back and (said.at_ns or 0) > (subject.acked_ns or 0)
        return said.epoch is not None and said.epoch > subject.epoch
    known = subject.acked_ns is not None and said.at_ns is not None
    return known and (said.at_ns or 0) >= (subject.acked_ns or 0)


def _order(subject: Subject) -> Any:
    if subject.certain:
        return lambda said: said.epoch
    return lambda said: said.at_ns


def _outside(broker: str, epoch: int | None, partition: int, views: Sequence[Row]) -> bool:
    """Whether the last ISR that was seen before it led was another broker's. Where it and the ELR
    were nobody's, the last known leader was not outside."""
    mine = [view for view in views if view["partition"] == partition]
    led = [n for n, view in enumerate(mine) if view["leader_epoch"] == epoch and epoch is not None]
    before = mine[: led[0]] if led else []
    last = before[-1] if before else {"isr": ()}
    eligible = (*last["isr"], *(last.get("elr") or ()))
    if not eligible:
        leaders = [view["leader"] for view in before if view["leader"] is not None]
        return last.get("elr") is not None and leaders[-1:] != [broker]
    return broker not in eligible


def _seen_election(subject: Subject, views: Sequence[Row]) -> Election | None:
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
