"""The stories of a run's findings: one for all records that share it, the largest first.

    stories = tell(run, {"lost": folder of its evidence}, {"lost": its example rows})

Reads the written evidence and the table `kept` with numpy, in linear time; reads nothing where
nothing was found. Tells the MOST largest stories and that of every example row, and counts the
others and their records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.causes.run_facts.kafka import kafka_of
from analysis.stored.columns import Numbers
from analysis.stored.stored_run import Run, final_ends
from analysis.stored.table_rows import Fault, View
from analysis.stories import story_groups
from analysis.stories.examples import PLACES, VANISHED, Group, group_of, vanished_of, writers
from analysis.stories.kept import END, Kept, kept_of
from analysis.stories.leaders import Election, Subject, election, led_in, subject_of
from analysis.stories.replicas import Clock, Evidence, Replica, replica
from analysis.stories.report import entry_of
from analysis.stories.story import GONE, Copy, Facts, Span, Story
from analysis.stories.story_groups import WITH_STORY, Findings

Row = Mapping[str, Any]
Examples = Mapping[str, Sequence[Row]]  # by anomaly
MOST = 20  # of the largest stories
MOST_KINDS = 4_000  # of rows that may differ in their facts; of more, the smallest are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStories:
    """`stories`: as in report.json; `more`: how many are not told, with how many records;
    `missing`: what the evidence lacks; `of_example`: by anomaly, the number of each example's
    story; `wrote`: by anomaly, each example's writers, where its row does not have them."""

    stories: Sequence[Row] = ()
    more: int = 0
    more_records: int = 0
    missing: Sequence[str] = ()
    of_example: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    wrote: Mapping[str, Sequence[Row]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of a run."""

    run: Run
    kept: Kept
    views: Sequence[View]  # in order of time
    complete: Mapping[int, bool]  # by partition: whether its final read is
    clock: Clock
    taken_ns: Mapping[str, Sequence[int]]
    vanished: Numbers  # the values that a reader had been given and that are gone


def tell(run: Run, evidence: Mapping[str, Path], examples: Examples) -> RunStories:
    """The stories of what was found in a run."""
    tables = [story_groups.read(name, evidence[name]) for name in WITH_STORY if name in evidence]
    lost = next((table for table in tables if table.anomaly == "lost"), None)
    tables = [table for table in (story_groups.with_sends(t, lost) for t in tables) if len(table)]
    if not tables:
        return RunStories()
    values = np.concatenate([t.numbers[n] for t in tables for n in ("value", "other_value")])
    offsets = np.concatenate([t.numbers[n] for t in tables for n in ("offset", "other_offset")])
    known = _Known(
        run=run,
        kept=kept_of(run, values, offsets[offsets >= 0]),
        views=sorted(run.views, key=lambda view: int(view["time_ns"])),
        complete={end["partition"]: end["complete"] for end in final_ends(run)},
        taken_ns=_taken_ns(run),
        vanished=story_groups.values_of(evidence.get(VANISHED)),
        clock=lambda ns: "a time that is not known" if ns is None else f"{run.seconds(ns):,.3f} s",
    )
    grouped = [(table, facts, rows) for table in tables for facts, rows in _by_facts(table, known)]
    return _select(grouped, known, examples)


def _taken_ns(run: Run) -> dict[str, list[int]]:
    """When faults took something from each node's disk, or may have."""
    effects = {step["step"]: step.get("effects") for step in run.plan}
    taken_ns: dict[str, list[int]] = {}
    for fault in run.faults:
        effect = effects.get(fault["step"])
        if effect is None or effect.get("takes") != "nothing":
            for name in fault["nodes"]:
                taken_ns.setdefault(name, []).append(int(fault["invoke_ns"]))
    return taken_ns


def _by_facts(table: Findings, known: _Known) -> list[tuple[Facts | None, Numbers]]:
    """The rows of each story. None: the rows beyond MOST_KINDS."""
    times = [fault[name] for fault in known.run.faults for name in ("invoke_ns", "heal_ok_ns")]
    moments = {
        partition: np.array(
            [v["time_ns"] for v in known.views if v["partition"] == partition]
            + [time_ns for time_ns in times if time_ns is not None],
            dtype=np.int64,
        )
        for partition in set(table.numbers["partition"].tolist())
    }
    kinds = sorted(story_groups.by_story(table, known.kept, moments), key=len, reverse=True)
    by_facts: dict[Facts | None, list[Numbers]] = {}
    for number, some in enumerate(kinds):
        facts = _facts(table, int(some[0]), known) if number < MOST_KINDS else None
        by_facts.setdefault(facts, []).append(some)
    return [(facts, np.sort(np.concatenate(rows))) for facts, rows in by_facts.items()]


def _select(groups: Sequence[Group], known: _Known, examples: Examples) -> RunStories:
    """The largest stories and those of examples, in order of anomaly and time."""
    same = _same_as_lost(groups)
    shown = {
        name: [group_of(groups, name, row) for row in examples.get(name, ())]
        for name in (*WITH_STORY, VANISHED)
    }
    wanted = {same.get(n, n) for some in shown.values() for n in some if n is not None}
    sizes = sorted(range(len(groups)), key=lambda number: len(groups[number][2]), reverse=True)
    largest = [number for number in sizes if groups[number][1] is not None and number not in same]
    order = sorted(wanted | set(largest[:MOST]), key=lambda number: _place_of(groups[number]))
    numbers = {group: number for number, group in enumerate(order, start=1)}
    also: dict[int, list[str]] = {}
    for number, first in same.items():
        also.setdefault(first, []).append(groups[number][0].anomaly)
    rest = [n for n in range(len(groups)) if n not in numbers and n not in same]
    run_s = known.run.seconds
    return RunStories(
        stories=[
            {
                "number": numbers[group],
                **entry_of(_story(groups[group], known), also.get(group, ()), known.clock, run_s),
                "vanished": vanished_of(groups[group], known.vanished),
            }
            for group in order
        ],
        more=len(rest),
        more_records=sum(len(groups[number][2]) for number in rest),
        missing=known.kept.missing,
        of_example={
            name: [None if n is None else numbers[same.get(n, n)] for n in groups_of]
            for name, groups_of in shown.items()
            if groups_of
        },
        wrote={
            PLACES: [
                writers(None if n is None else groups[n], row, known.kept, known.views)
                for row, n in zip(examples.get(PLACES, ()), shown[PLACES], strict=True)
            ]
        },
    )


def _same_as_lost(groups: Sequence[Group]) -> dict[int, int]:
    """RunStories of two values at one offset that are those of a lost record: number -> the lost
    one's number."""
    lost: dict[Any, int] = {}
    same: dict[int, int] = {}
    for number, (table, facts, rows) in enumerate(groups):
        if facts is None:
            continue
        values = np.sort(table.numbers["value"][rows])
        key = replace(facts, anomaly="lost", outcome=None), values.tobytes()
        if facts.anomaly == "lost":
            lost.setdefault(key, number)
        elif facts.outcome == "two_values" and key in lost:
            same[number] = lost[key]
    return same


def _place_of(group: Group) -> tuple[int, int, int, int]:
    table, _, rows = group
    times, offsets = (table.numbers[name][rows] for name in ("time_ns", "offset"))
    partition = int(table.numbers["partition"][rows[0]])
    return WITH_STORY.index(table.anomaly), int(times.min()), partition, int(offsets.min())


def _facts(table: Findings, row: int, known: _Known) -> Facts:
    kept, views = known.kept, known.views
    subject = subject_of(table, row, kept, views)
    complete = known.complete.get(subject.partition, False)
    brokers = _brokers(subject.partition, known)
    copies = _copies(subject, known)
    if subject.anomaly in GONE:
        rests_on = Evidence(kept=kept, clock=known.clock, taken_ns=known.taken_ns, read=complete)
        replicas = [replica(subject, name, rests_on) for name in brokers]
        chosen = election(subject, kept, views)
    else:
        replicas = [_replica_with_both(subject, name, kept, complete) for name in brokers]
        chosen = _election_between(copies, subject, known)
        epoch, leader = copies[0].epoch, copies[0].leader  # of what is in the log
        certain = epoch is not None
        subject = replace(subject, epoch=epoch, leader=leader, certain=certain)
    return Facts(
        anomaly=subject.anomaly,
        outcome=None if subject.anomaly == "lost" else subject.outcome,  # given to whom or not
        partition=subject.partition,
        acked=subject.acked,
        epoch=subject.epoch,
        certain=subject.certain,
        leader=subject.leader,
        election=chosen,
        replicas=tuple(replicas),
        copies=copies,
        faults=tuple(int(fault["fault"]) for fault in _faults(subject, chosen, known.run)),
        replaced=subject.anomaly in GONE and subject.other_value is not None,
    )


def _brokers(partition: int, known: _Known) -> list[str]:
    """Brokers that a view, a log line or a kept log shows with a replica of the partition."""
    views = [view for view in known.views if view["partition"] == partition]
    names = {n for view in views for n in (*view["isr"], *(view.get("elr") or ()), view["leader"])}
    names -= {None}
    names |= {line.broker for line in known.kept.lines.get(partition, ())}
    return sorted(names | {tail.broker for tail in known.kept.tails.get(partition, ())})


def _copies(subject: Subject, known: _Known) -> tuple[Copy, ...]:
    """Who wrote what is in the log now, where the record was acknowledged and, if it is elsewhere
    or another one lies before it, there."""
    places = [(subject.partition, subject.offset)]
    if subject.other_offset is not None:
        partition = subject.other_partition
        places.append((subject.partition if partition is None else partition, subject.other_offset))
    elif subject.anomaly not in GONE:
        places.append((subject.partition, None))
    return tuple(_copy(partition, offset, known) for partition, offset in places)


def _copy(partition: int, offset: int | None, known: _Known) -> Copy:
    kept = known.kept
    epoch = None if offset is None else kept.epoch_at(partition, offset)
    at_end = [r for r in kept.at.get((partition, offset or 0), ()) if r.moment == END]
    if offset is not None and at_end and at_end[0].epoch is not None:
        epoch = at_end[0].epoch
    return Copy(
        partition=partition, epoch=epoch, leader=led_in(partition, epoch, kept, known.views)
    )


def _election_between(copies: Sequence[Copy], subject: Subject, known: _Known) -> Election | None:
    """The leader of the later copy, where two leaders wrote them."""
    epochs = sorted(copy.epoch for copy in copies if copy.epoch is not None)
    if len(set(epochs)) < 2:
        return None
    for line in known.kept.lines.get(subject.partition, ()):
        if line.event == "led" and line.epoch == epochs[-1]:
            return Election(
                leader=line.broker, epoch=line.epoch, at_ns=line.at_ns, log_end=line.offset
            )
    return None


def _replica_with_both(subject: Subject, broker: str, kept: Kept, complete: bool) -> Replica:
    """Whether a broker's log has the record at both places, or both records, now."""
    second = subject.value if subject.anomaly == "duplicate" else subject.other_value
    places = [
        (subject.partition, subject.offset, subject.value),
        (subject.other_partition or subject.partition, subject.other_offset, second),
    ]
    answers = [_is_at(kept, broker, place, complete) for place in places]
    unsure = [answer for answer in answers if answer is None]
    now = "unknown" if unsure else "yes" if all(answers) else "no"
    words = {
        "yes": "at both places" if subject.anomaly == "duplicate" else "both records lie there",
        "no": "not at both places",
        "unknown": "what it has at both places was not kept",
    }
    return Replica(
        broker=broker,
        had="yes" if now == "yes" else "unknown",
        had_why="it has it now" if now == "yes" else "not known for both places",
        now=now,  # type: ignore[arg-type]
        now_why=words[now],
    )


def _is_at(
    kept: Kept, broker: str, place: tuple[int, int | None, int | None], complete: bool
) -> bool | None:
    """Whether a record is at a place of a broker's log now; None: not known."""
    partition, offset, value = place
    tails = [t for t in kept.tails.get(partition, ()) if t.moment == END and t.broker == broker]
    if offset is None or not tails:
        return None
    if tails[0].lowest is not None and offset < tails[0].lowest:
        return True if complete else None
    records = [
        record
        for record in kept.at.get((partition, offset), ())
        if record.moment == END and record.broker == broker
    ]
    if any(record.value == value for record in records):
        return True
    unreadable = any(record.unreadable for record in records)
    kept_in_part = tails[0].cut_short and not records
    return None if unreadable or kept_in_part or offset < tails[0].begin else False


def _story(group: Group, known: _Known) -> Story:
    table, facts, rows = group
    assert facts is not None
    span = _span(table, rows)
    chosen = facts.election.at_ns if facts.election else None
    end_ns = max((n for n in (chosen, span.acked_ns and span.acked_ns[1]) if n), default=None)
    views = [view for view in known.views if view["partition"] == facts.partition]
    return Story(
        facts=facts,
        subject=subject_of(table, int(rows[0]), known.kept, known.views),
        span=span,
        faults=sorted((f for f in known.run.faults if f["fault"] in facts.faults), key=_begin_ns),
        views=_meanwhile(views, span.begin_ns, end_ns),
        read=known.complete.get(facts.partition, False),
        done={s["step"]: (s.get("telling") or {}).get("done") or "" for s in known.run.plan},
        keeper=kafka_of(known.run.record).keeper,
    )


def _meanwhile(views: Sequence[View], begin_ns: int | None, end_ns: int | None) -> list[View]:
    """The views between two moments, and the last one before."""
    if begin_ns is None or end_ns is None:
        return []
    before = [view for view in views if view["time_ns"] < begin_ns]
    return [*before[-1:], *(view for view in views if begin_ns <= view["time_ns"] <= end_ns)]


def _faults(subject: Subject, chosen: Election | None, run: Run) -> list[Fault]:
    """Faults in force from the send until another leader led without the record; where none is
    known, until the ack, and the next fault."""
    begin_ns = subject.acked_ns if subject.sent_ns is None else subject.sent_ns
    if begin_ns is None:
        return []
    ends = [subject.acked_ns, chosen.at_ns if chosen else None, begin_ns]
    end_ns = max(end for end in ends if end is not None)
    hit = sorted((fault for fault in run.faults if fault["nodes"]), key=_begin_ns)
    later = [fault for fault in hit if fault["invoke_ns"] > end_ns]
    unknown = chosen is None and subject.anomaly in GONE
    meanwhile = [
        fault
        for fault in hit
        if fault["invoke_ns"] <= end_ns
        and (fault["heal_ok_ns"] is None or fault["heal_ok_ns"] >= begin_ns)
    ]
    return [*meanwhile, *(later[:1] if unknown else [])]


def _begin_ns(fault: Fault) -> int:
    return int(fault["invoke_ns"])


def _span(table: Findings, rows: Numbers) -> Span:
    offsets = table.numbers["offset"][rows]
    given = table.numbers["delivered_ns"][rows]
    given = given[given >= 0]
    offsets = offsets[offsets >= 0]
    moments = table.numbers["time_ns"][rows]
    return Span(
        records=len(rows),
        first_offset=int(offsets.min()) if len(offsets) else None,
        last_offset=int(offsets.max()) if len(offsets) else None,
        sent_ns=_range(table.numbers["sent_ns"][rows]),
        acked_ns=_range(table.numbers["acked_ns"][rows]),
        delivered_ns=int(given.min()) if len(given) else None,
        delivered=len(given),
        moment_ns=int(moments.max()) if len(moments) else None,
    )


def _range(times: Numbers) -> tuple[int, int] | None:
    times = times[times >= 0]
    return (int(times.min()), int(times.max())) if len(times) else None
