"""One story: what is known of the records that share it, and their life as rows.

    30.411 s  producer 0  sent it
    30.412 s  kafka1      acknowledged it at offset 2,504; written with epoch 2
    30.413 s  kafka1      was killed (fault 2; proved at 30.601 s)
    33.101 s  kafka2      became leader of epoch 3; its log ended at 2,504
    34.601 s  kafka1      cut its log off from 2,504 on
    the end   kafka1, kafka2, kafka3    do not have it

Brokers' lines have the broker's own time, all others the run's. A time that is not known is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.stored.table_rows import Fault, View
from analysis.stories.leaders import Election, Subject
from analysis.stories.replicas import Clock, Replica
from analysis.stories.story_groups import READ_ELSEWHERE
from harness.history.record_format import SEQUENCE_BITS

GONE = {"lost", "torn", "inconsistent-offset"}
FAULTS_MOST = 6
VIEWS_MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One place at which a record, or the one before it, is in the log now."""

    partition: int | None
    epoch: int | None
    leader: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the records of a story have in common, without their exact times and places."""

    anomaly: str
    outcome: str | None
    partition: int
    acked: bool
    epoch: int | None
    certain: bool
    leader: str | None
    election: Election | None
    replicas: tuple[Replica, ...]
    copies: tuple[Copy, ...]  # of what is in the log now: the second one of duplicate, reordered
    faults: tuple[int, ...]  # in force until it was gone
    replaced: bool  # another record lies where it was acknowledged


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which records share a story: how many, where, when."""

    records: int
    first_offset: int | None
    last_offset: int | None
    sent_ns: tuple[int, int] | None  # first and last
    acked_ns: tuple[int, int] | None
    delivered_ns: int | None  # the first
    delivered: int
    moment_ns: int | None  # the last moment of the anomaly itself

    @property
    def begin_ns(self) -> int | None:
        """When the first was sent or acknowledged, as far as anybody knows."""
        return min((span[0] for span in (self.sent_ns, self.acked_ns) if span), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A row of a life; time None: not known, or (`last`) at the end."""

    time_ns: int | None
    who: str
    what: str
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Records that share a story; `subject` is one of them."""

    facts: Facts
    subject: Subject
    span: Span
    faults: Sequence[Fault]  # in force until it was gone
    views: Sequence[View]  # of the partition, meanwhile
    read: bool  # the final read of the partition is complete
    done: Mapping[int, str]  # what the plan's steps did to nodes, in words
    keeper: str = "ZooKeeper"  # what keeps the cluster's metadata, and showed who led

    @property
    def one(self) -> bool:
        """Whether it is one record's."""
        return self.span.records == 1

    @property
    def it(self) -> str:
        """The records as the object of a sentence."""
        return "it" if self.one else "them"

    def was_done(self, fault: Fault) -> str:
        """What a fault did to its nodes: `was killed`."""
        was = "were" if len(fault["nodes"]) > 1 else "was"
        done = self.done.get(fault["step"]) or f"hit by {fault['verb']}"
        return f"{was} {done}"

    @property
    def was_read(self) -> bool:
        """Whether a read shows it and not an ack: `acked_ns` is the moment of the read."""
        return self.facts.outcome == READ_ELSEWHERE

    @property
    def leader_was_asked(self) -> bool:
        """Whether a leader of None is what a view showed; else no view was asked."""
        return (
            self.facts.leader is not None
            or self.facts.anomaly != "inconsistent-offset"
            or self.was_read
        )

    @property
    def gone(self) -> bool:
        """Whether it is about records that are not where they were acknowledged."""
        return self.facts.anomaly in GONE


def place(story: Story) -> str:
    """Where the records were acknowledged, or are."""
    span = story.span
    if span.first_offset is None or span.last_offset is None:
        return "no known offset" if story.one else f"{span.records:,} records without an offset"
    if story.one:
        return f"offset {span.first_offset:,}"
    between = f"{span.first_offset:,}–{span.last_offset:,}"
    dense = span.last_offset - span.first_offset + 1 == span.records
    many = f"{span.records:,} records"
    return f"offsets {between} ({many})" if dense else f"{many} between offsets {between}"


def life(story: Story, clock: Clock) -> list[Event]:
    """All rows in order of time; those without a time behind, those of the end last."""
    events = [
        *_send_events(story, clock),
        *_fault_events(story, clock),
        *_view_events(story),
        *_election_events(story),
        *_replica_events(story),
        *_end_events(story),
    ]
    timed = [event for event in events if event.time_ns is not None and not event.last]
    return [
        *sorted(timed, key=lambda event: event.time_ns or 0),
        *(event for event in events if event.time_ns is None and not event.last),
        *(event for event in events if event.last),
    ]


def _send_events(story: Story, clock: Clock) -> Iterator[Event]:
    span = story.span
    if span.sent_ns is not None:
        value = story.subject.value
        who = "a producer" if value is None else f"producer {value >> SEQUENCE_BITS}"
        what = "sent it" if story.one else f"sent the first, the last at {clock(span.sent_ns[1])}"
        yield Event(time_ns=span.sent_ns[0], who=who, what=what)
    if span.acked_ns is not None:
        yield _ack_event(story, *span.acked_ns, clock)
    if span.delivered_ns is not None and story.facts.anomaly == "lost":
        given = "was given it" if story.one else f"was given the first of {span.delivered:,}"
        yield Event(time_ns=span.delivered_ns, who="a consumer", what=given)


def _ack_event(story: Story, first: int, last: int, clock: Clock) -> Event:
    """The ack or, of what was read elsewhere, the read."""
    facts = story.facts
    read = story.was_read
    did = "was given" if read else "acknowledged"
    what = f"{did} it at {place(story)}" if story.one else f"{did} the first"
    what += "" if story.one else f", the last at {clock(last)}: {place(story)}"
    if facts.certain:
        by = f" by {facts.leader}" if read and facts.leader else ""
        role = f"; written with epoch {facts.epoch}{by}"
    elif not story.leader_was_asked:
        role = ""
    else:
        role = f"; {story.keeper} showed {facts.leader or 'nobody'} leading then"
        role += "" if facts.epoch is None else f", epoch {facts.epoch}"
    leader = facts.leader if facts.certain else None
    return Event(
        time_ns=first, who="a consumer" if read else leader or "a leader", what=what + role
    )


def _fault_events(story: Story, clock: Clock) -> Iterator[Event]:
    for fault in story.faults[:FAULTS_MOST]:
        who = ", ".join(fault["nodes"]) or str(fault["target"])
        proved = "not proved" if fault["ok_ns"] is None else f"proved at {clock(fault['ok_ns'])}"
        what = f"{story.was_done(fault)} (fault {fault['fault']}; {proved})"
        yield Event(time_ns=fault["invoke_ns"], who=who, what=what)
        if fault["heal_invoke_ns"] is not None:
            what = f"the healing of fault {fault['fault']} began"
            yield Event(time_ns=fault["heal_invoke_ns"], who=who, what=what)


def _view_events(story: Story) -> Iterator[Event]:
    shown = [(view["time_ns"], _view_words(view)) for view in story.views]
    changes = [view for n, view in enumerate(shown) if n == 0 or view[1] != shown[n - 1][1]]
    for time_ns, what in changes[:VIEWS_MOST]:
        yield Event(time_ns=time_ns, who=story.keeper, what=what)


def _view_words(view: View) -> str:
    leads = "nobody leads" if view["leader"] is None else f"{view['leader']} leads"
    epoch = "" if view["leader_epoch"] is None else f" with epoch {view['leader_epoch']}"
    elr = f", the ELR {', '.join(eligible)}" if (eligible := view.get("elr")) else ""
    back = "; its metadata had gone back" if view.get("went_back") else ""
    isr = ", ".join(view["isr"]) or "nobody"
    return f"was seen to show: {leads}{epoch}, the ISR is {isr}{elr}{back}"


def _election_events(story: Story) -> Iterator[Event]:
    chosen = story.facts.election
    if chosen is None or chosen.log_end is None:
        return
    outside = "; it was outside the ISR" if chosen.outside else ""
    what = f"became leader of epoch {chosen.epoch}; its log ended at {chosen.log_end:,}{outside}"
    yield Event(time_ns=chosen.at_ns, who=chosen.leader, what=what)


def _replica_events(story: Story) -> Iterator[Event]:
    chosen = story.facts.election
    for replica in story.facts.replicas:
        led = chosen is not None and chosen.log_end is not None and chosen.leader == replica.broker
        if replica.shown_ns is not None and not (led and replica.had == "no"):
            yield Event(time_ns=replica.shown_ns, who=replica.broker, what=replica.had_why)
        if replica.cut_at is not None:
            what = f"cut its log off from {replica.cut_at:,} on"
            yield Event(time_ns=replica.cut_ns, who=replica.broker, what=what)


def _end_events(story: Story) -> Iterator[Event]:
    words = {"yes": "has {it}", "no": "does not have {it}", "unknown": "not known"}
    many = words | {"yes": "have {it}", "no": "do not have {it}"}
    replicas = sorted(story.facts.replicas, key=lambda replica: (replica.now, replica.now_why))
    for (now, why), same in groupby(replicas, key=lambda replica: (replica.now, replica.now_why)):
        names = sorted(replica.broker for replica in same)
        what = (many if len(names) > 1 else words)[now].format(it=story.it)
        yield Event(time_ns=None, who=", ".join(names), what=f"{what}: {why}", last=True)
    if story.facts.anomaly in ("lost", "torn"):
        what = f"{'complete' if story.read else 'incomplete'}: it does not have {story.it}"
        yield Event(time_ns=None, who="final read", what=what, last=True)
