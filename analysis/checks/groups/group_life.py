"""A consumer group as its members saw it: their generations, and the owners of partitions.

    kept an older generation    member-0: generation 3    member-1: assigned in generation 4
                                =>  outdated: member-0 from then on, until it learns of another one
    owned together              member-0: assigned 0 in generation 3, and not revoked
                                member-1: assigned 0 in generation 3
                                =>  shared: partition 0 from then on, until one of them lets it go
    without an owner            member-0: assigned 0 in generation 3, which lasts longer than a
                                session, of a topic of two partitions
                                =>  unowned: partition 1, for as long as generation 3 lasts

A member that dies before it records its partitions is expelled when its session is over, in a new
generation. So a generation that lasts longer, plus the time to process a batch, has no such member,
and all its owners are known. While members or their coordinator are stopped, no member may learn of
a new generation: only time without a fault in force counts.

Only `assigned` proves a generation: by then its coordinator has stored it. Other events may be of
one that a new coordinator never knew. A member's clients learn late: it may go on owning partitions
of an older generation for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.stored.fact_rows import OutdatedRow, SharedRow, UnownedRow
from analysis.stored.settings import nanoseconds
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.history.tables import partitions_named
from harness.model.client_settings import of_one_generation
from harness.model.worker_kinds import kind_named

TELLING = frozenset({"member", "assigned"})  # events with a member's generation
LIFE = frozenset({*TELLING, "revoked", "dies", "end"})
SESSION_MS = 45_000  # session.timeout.ms, of librdkafka
SLACK_NS = 10 * 10**9  # an elected coordinator begins all sessions anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A member in one generation; `partition`: while it owned that, None: at all."""

    process: str
    generation: int
    from_ns: int
    until_ns: int | None  # None: not known
    partition: int | None = None

    def meets(self, other: Stretch) -> bool:
        """Whether they overlap."""
        begins_before = self.until_ns is None or other.from_ns < self.until_ns
        return begins_before and (other.until_ns is None or self.from_ns < other.until_ns)


def outdated_rows(run: Run) -> list[OutdatedRow]:
    """When members kept a generation although a newer one was assigned: rows of
    schema.OUTDATED."""
    members = lives(run)
    newer = _newer(members)
    return [
        {
            "process": stretch.process,
            "generation": stretch.generation,
            "since_ns": max(stretch.from_ns, since_ns),
            "until_ns": stretch.until_ns,
        }
        for events in members.values()
        for stretch in _known_generations(events)
        if (since_ns := newer.get(stretch.generation)) is not None
        and (stretch.until_ns is None or since_ns < stretch.until_ns)
    ]


def shared_rows(run: Run) -> list[SharedRow]:
    """When two members owned a partition in one generation: rows of schema.SHARED."""
    owned = defaultdict[tuple[int | None, int], list[Stretch]](list)
    for events in lives(run).values():
        for stretch in ownership(events):
            owned[stretch.partition, stretch.generation].append(stretch)
    return [
        {
            "partition": partition,
            "owners": ", ".join(sorted((one.process, other.process))),
            "from_ns": max(one.from_ns, other.from_ns),
            "until_ns": min((ns for ns in (one.until_ns, other.until_ns) if ns), default=None),
        }
        for (partition, _), stretches in owned.items()
        for one, other in combinations(stretches, 2)
        if one.process != other.process and one.meets(other)
    ]


def unowned_rows(run: Run) -> list[UnownedRow]:
    """When a partition had no owner in a generation that lasted: rows of schema.UNOWNED."""
    members = lives(run)
    kinds = (kind_named(table.process or "") for table in run.suspect)
    if any(kind is not None and kind.member for kind in kinds):
        return []  # a damaged table may lack what its member owned
    owned = {
        (stretch.generation, stretch.partition)
        for events in members.values()
        for stretch in ownership(events)
    }
    work = run.scenario["workload"]
    session_ns = nanoseconds(work.get("consumer") or {}, "session.timeout.ms", SESSION_MS)
    # A member records what it was assigned when it polls again.
    busy_ns = int(float(work.get("batch", 0)) * nanoseconds(work, "process_ms", 0))
    least_ns = session_ns + busy_ns + SLACK_NS
    partitions = range(int(run.scenario["topic"]["partitions"]))
    unsure = _without_generation(members)
    return [
        {"partition": partition, "from_ns": from_ns, "until_ns": until_ns}
        for generation, from_ns, until_ns in _spans(run, members)
        if _undisturbed_ns(run, from_ns, until_ns) > least_ns
        for partition in partitions
        if (generation, partition) not in owned and partition not in unsure
    ]


def _without_generation(members: Mapping[str, Sequence[Event]]) -> set[int]:
    """Partitions that were assigned without a generation: a member may have had them in any."""
    return {
        partition
        for events in members.values()
        for event in events
        if event["event"] == "assigned" and _generation(event) is None
        for partition in partitions_named(event["text"])
    }


def _undisturbed_ns(run: Run, from_ns: int, until_ns: int) -> int:
    """The longest part of a stretch in which no fault was in force."""
    longest = 0
    for fault in sorted(run.faults, key=lambda fault: int(fault["invoke_ns"])):
        longest = max(longest, min(int(fault["invoke_ns"]), until_ns) - from_ns)
        healed_ns = until_ns if fault["heal_ok_ns"] is None else int(fault["heal_ok_ns"])
        from_ns = max(from_ns, healed_ns)
    return max(longest, until_ns - from_ns)


def _spans(run: Run, members: Mapping[str, Sequence[Event]]) -> Iterator[tuple[int, int, int]]:
    """Each assigned generation, from its last `assigned` until a member recorded another one (a
    lower one, if a coordinator counts anew), or its own end."""
    history = [event for events in members.values() for event in events]
    given: dict[int, int] = {}
    for event in history:
        if event["event"] == "assigned" and (generation := _generation(event)) is not None:
            given[generation] = max(int(event["time_ns"]), given.get(generation, 0))
    for generation, from_ns in given.items():
        ends = [
            int(event["time_ns"])
            for event in history
            if event["event"] in ("revoked", "dies", "end")
            or (event["event"] in TELLING and _generation(event) not in (None, generation))
        ]
        until_ns = min((ns for ns in ends if ns > from_ns), default=run.load_end_ns)
        yield generation, from_ns, min(until_ns, run.load_end_ns)


def lives(run: Run) -> dict[str, list[Event]]:
    """Each member's events in order of time; nothing of groups whose members have no common
    generation."""
    of_members = defaultdict[str, list[Event]](list)
    if run.grouped and of_one_generation(run.scenario["workload"].get("consumer") or {}):
        for event in run.events:
            if event["event"] in LIFE:
                of_members[event["process"]].append(event)
    return {
        process: sorted(events, key=lambda event: int(event["time_ns"]))
        for process, events in of_members.items()
        if any(event["event"] in TELLING for event in events)
    }


def ownership(events: Sequence[Event]) -> Iterator[Stretch]:
    """What one member owned in which generation. It keeps what it has in a new one that revokes
    nothing."""
    owns = dict[int, tuple[int, int]]()  # partition -> generation, since when

    def let_go(partitions: Sequence[int], until_ns: int | None) -> Iterator[Stretch]:
        for partition in partitions:
            generation, from_ns = owns.pop(partition, (None, 0))
            if generation is not None:
                yield Stretch(
                    process=process,
                    generation=generation,
                    from_ns=from_ns,
                    until_ns=until_ns,
                    partition=partition,
                )

    process = str(events[0]["process"]) if events else ""
    for event in events:
        now_ns, named = int(event["time_ns"]), partitions_named(event["text"])
        if event["event"] in TELLING:
            generation = _generation(event)
            keeps = [p for p, (old, _) in owns.items() if old != generation]
            yield from let_go(keeps, now_ns)
            gets = named if event["event"] == "assigned" else []
            if generation is not None:
                owns |= {p: (generation, now_ns) for p in (*keeps, *gets) if p not in owns}
        else:
            all_ = event["event"] != "revoked" or not named
            yield from let_go(list(owns) if all_ else named, now_ns)
    yield from let_go(list(owns), None)


def _known_generations(events: Sequence[Event]) -> Iterator[Stretch]:
    """The generations of one member, one after the other."""
    seen = [(int(e["time_ns"]), _generation(e)) for e in events if e["event"] in TELLING]
    changes = [change for n, change in enumerate(seen) if n == 0 or change[1] != seen[n - 1][1]]
    ends: list[int | None] = [*(time_ns for time_ns, _ in changes[1:]), None]
    for (from_ns, generation), until_ns in zip(changes, ends, strict=True):
        if generation is not None:
            yield Stretch(
                process=str(events[0]["process"]),
                generation=generation,
                from_ns=from_ns,
                until_ns=until_ns,
            )


def _newer(members: Mapping[str, Sequence[Event]]) -> dict[int, int]:
    """Of each generation, when a newer one was first assigned."""
    known: set[int] = set()
    given: dict[int, int] = {}
    for event in (event for events in members.values() for event in events):
        generation = _generation(event)
        if generation is None:
            continue
        known.add(generation)
        if event["event"] == "assigned":
            now_ns = int(event["time_ns"])
            given[generation] = min(now_ns, given.get(generation, now_ns))
    first, newer = None, dict[int, int]()
    for generation in sorted(known, reverse=True):
        if first is not None:
            newer[generation] = first
        if generation in given:
            first = min(given[generation], given[generation] if first is None else first)
    return newer


def _generation(event: Event) -> int | None:
    """The generation of an event; None: it has none."""
    generation = event.get("generation")
    return None if generation is None or generation < 0 else int(generation)
