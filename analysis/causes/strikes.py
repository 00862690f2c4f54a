"""Strikes: faults that take what was written, and flipped bits.

    ISR 1 2; power of kafka1 lost at 5 s, of kafka2 at 6 s, both proved by 7 s
    =>  the whole ISR was struck: what was begun before 7 s may be gone
    ISR 1 2 3; power of kafka1 lost at 5 s; kafka1 leads anew at 8 s and never left the ISR
    =>  kafka1 came to lead without what it lost: what was begun before its `ok` may be gone

A strike counts for a partition whose whole ISR was hit, by one fault or by several that overlap
unhealed, whichever ISR the views show from its invoke to its `ok`, or its own `before`; and for
one that a struck broker came to lead anew before it had left the ISR and come back, which it can
only with all that the leader has. Under acks=1 the leader alone has a record when it is acked, so
there its strike permits what was acked. With `flush.messages=1` lost power takes nothing; a lost
disk takes what was synced, too.

A flipped bit is found when its broker starts: recovery truncates there. So its broker's start is a
strike, unless the bit was put back before. Most faults start what they ended when they are healed;
where one does so itself, the time is not known: what was begun meanwhile is in doubt. Until a bit
is put back consumers that do not check CRCs are given what it made of a record.

An ISR that nobody could read may have been any: such a strike is not sure, like one of a fault of
which it is not known what it can do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.causes.cause import Cause
from analysis.causes.kinds import AFTER_STRIKE, BIT_WHEN_READ, LEADER_STRUCK, STRIKE
from analysis.causes.seen import Seen
from analysis.causes.settings import FLUSH, topic_values
from analysis.causes.states import Hidden, Partition, State
from analysis.run_facts.faults import Row, view_before

ALWAYS = 0  # before anything happened
Values = Callable[[Seen, str, int, int | None], frozenset[str]]  # analysis.causes.settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Nodes that lost something, from when until when, and until when they were not healed."""

    fault: int
    words: str
    nodes: frozenset[str]
    invoke_ns: int
    ok_ns: int | None  # None: never proved
    healed_ns: int | None
    before: Mapping[str, Any] = field(default_factory=dict)  # the fault's own view
    why: str | None = None  # it may have been none
    partition: int | None = None  # None: every one
    kept_from_ns: int | None = None  # what was begun from then on was on disk when it came
    own_topic: bool = False  # it takes nothing of internal topics

    def hit(self, seen: Seen) -> bool:
        """Whether it hit anybody that has records."""
        return not seen.brokers or bool(self.nodes & set(seen.brokers))


def strike_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are strikes."""
    strikes = list(strikes_of(seen))
    for strike in (each for each in strikes if each.hit(seen)):
        cause = Cause(
            kind=AFTER_STRIKE,
            words=strike.words,
            at_ns=strike.invoke_ns,
            fault=strike.fault,
            sure=strike.why is None,
            why=strike.why,
            partition=strike.partition,
        )
        yield replace(cause, shown_from_ns=strike.invoke_ns)
        for partition in seen.partitions:
            read_ns = seen.read_ended_ns.get(partition.number)
            in_time = read_ns is None or strike.invoke_ns < read_ns
            if in_time and strike.partition in (None, partition.number):
                mine = replace(cause, partition=partition.number, begun_before_ns=_taken(strike))
                yield from _whole_isr(mine, strike, strikes, partition)
                yield from _leads_anew(mine, strike, partition, seen)
                if seen.acks_1:
                    yield from _leader(mine, strike, partition)


def _taken(strike: Strike) -> int | None:
    """What was begun before this moment it can have taken (None: all)."""
    return min((ns for ns in (strike.ok_ns, strike.kept_from_ns) if ns is not None), default=None)


def strikes_of(seen: Seen, values: Values = topic_values) -> Iterator[Strike]:
    """The run's strikes, in the order of their rows, on a topic with these settings."""
    for fault, effects in seen.happened.known():
        kept_from_ns = _kept_from(fault, seen, values) if effects.takes == "unsynced" else None
        if effects.takes != "nothing" and kept_from_ns != ALWAYS:
            yield replace(_strike(fault), kept_from_ns=kept_from_ns)
        if effects.alters_stored_bytes:
            yield from _found_at_start(fault, seen)
    for fault in seen.happened.unknown():
        # Whom else it hit, and until when, is not known either.
        every = _strike(fault)
        yield replace(
            every,
            nodes=every.nodes | set(seen.brokers),
            ok_ns=fault["heal_ok_ns"],
            why=seen.why_unknown(),
        )


def _kept_from(fault: Row, seen: Seen, values: Values) -> int | None:
    """From when on everything was put on disk at once, until the fault was proved:
    flush.messages=1. None: it was not."""
    rows = [row for row, effects in seen.happened.known() if effects.topic_settings]
    changed = [row[name] for row in rows for name in ("ok_ns", "heal_ok_ns")]
    moments = [ns for ns in changed if ns is not None and ns <= fault["invoke_ns"]]
    for moment_ns in (ALWAYS, *sorted(moments)):
        if values(seen, FLUSH, moment_ns, fault["ok_ns"]) == {"1"}:
            return int(moment_ns)
    return None


def _strike(fault: Row) -> Strike:
    nodes = ", ".join(fault["nodes"])
    named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
    return Strike(
        fault=fault["fault"],
        words=f"{fault['verb']} took what {nodes} had written",
        nodes=frozenset(fault["nodes"]),
        invoke_ns=fault["invoke_ns"],
        ok_ns=fault["heal_ok_ns"] if fault["ok_ns"] is None else fault["ok_ns"],
        healed_ns=fault["heal_ok_ns"],
        before=view_before(fault),
        why=f"{named}: it was never proved" if fault["ok_ns"] is None else None,
    )


def _found_at_start(bit: Row, seen: Seen) -> Iterator[Strike]:
    """Each start of a bit's broker before the bit was put back."""
    for fault, effects in seen.happened.known():
        for partition, brokers in _flipped(bit, seen).items():
            hit = brokers & set(fault["nodes"])
            if not (effects.ends_processes and hit):
                continue
            start = Strike(
                fault=bit["fault"],
                words=f"{', '.join(sorted(hit))} started anew with a flipped bit on its disk",
                nodes=hit,
                invoke_ns=fault["invoke_ns"],
                ok_ns=fault["heal_ok_ns"],
                healed_ns=fault["heal_ok_ns"],
                why=_strike(bit).why or _strike(fault).why,
                partition=partition,
                own_topic=True,
            )
            yield from (_sometime if effects.starts_again else _when_healed)(start, bit, fault)


def _when_healed(start: Strike, bit: Row, fault: Row) -> Iterator[Strike]:
    started_ns = fault["heal_invoke_ns"]
    if started_ns is None:
        return
    if bit["invoke_ns"] < started_ns and _later(bit["heal_ok_ns"], started_ns):
        yield replace(start, invoke_ns=started_ns)


def _sometime(start: Strike, bit: Row, fault: Row) -> Iterator[Strike]:
    """Between the fault's invoke and its healing, once or more often: what was begun before the
    fault was there at each start; of what was begun meanwhile nobody knows."""
    begun_ns, over_ns = fault["invoke_ns"], fault["heal_ok_ns"]
    flipped = bit["ok_ns"] is not None and bit["ok_ns"] <= begun_ns
    stayed = bit["heal_ok_ns"] is None or (over_ns is not None and bit["heal_ok_ns"] >= over_ns)
    if flipped and stayed:
        yield replace(start, ok_ns=begun_ns)
    if _later(over_ns, bit["invoke_ns"]) and _later(bit["heal_ok_ns"], begun_ns):
        named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
        yield replace(start, why=f"{named}: when it started them is not known")


def _later(time_ns: int | None, moment_ns: int) -> bool:
    return time_ns is None or time_ns > moment_ns


def _meanwhile(strike: Strike, strikes: Sequence[Strike]) -> Iterator[Strike]:
    """The strike, and those that may have come before it and were not healed yet."""
    for other in strikes:
        begun = strike.ok_ns is None or other.invoke_ns <= strike.ok_ns
        here = strike.partition is None or other.partition in (None, strike.partition)
        if other is strike or (begun and here and _later(other.healed_ns, strike.invoke_ns)):
            yield other


def _whole_isr(
    cause: Cause, strike: Strike, strikes: Sequence[Strike], partition: Partition
) -> Iterator[Cause]:
    together = [
        each for each in _meanwhile(strike, strikes) if each.partition in (None, partition.number)
    ]
    sure = frozenset[str]().union(*(each.nodes for each in together if each.why is None))
    every = frozenset[str]().union(*(each.nodes for each in together))
    told = _before(strike, partition.number, "isr")
    isrs = [told, *(each.isr for each in partition.certain(strike.invoke_ns, strike.ok_ns))]
    possible = [told, *(each.isr for each in partition.within(strike.invoke_ns, strike.ok_ns))]
    whole = replace(cause, words=f"{cause.words}: the whole ISR of partition {partition.number}")
    why = [
        cause.why,
        *(each.why for each in together),
        *_between(strike, every, partition),
        *(each.why for each in _dark(strike, partition)),
    ]
    if any(isr and isr <= sure for isr in isrs):
        yield from _struck(whole)
    elif any(isr and isr <= every for isr in possible) or any(_between(strike, every, partition)):
        yield from _struck(replace(whole, sure=False, why=next(each for each in why if each)))
    else:
        yield from _maybe(whole, strike, partition, every)


def _between(strike: Strike, nodes: frozenset[str], partition: Partition) -> Iterator[str]:
    """Why an ISR that was seen only afterwards may have been in force at the strike."""
    if strike.ok_ns is None:
        return
    for state in partition.after(strike.ok_ns):
        if state.since_ns <= strike.ok_ns and state.isr and state.isr <= nodes:
            yield f"when the ISR of partition {partition.number} shrank was not seen"


def _leader(cause: Cause, strike: Strike, partition: Partition) -> Iterator[Cause]:
    leaders = {state.leader for state in partition.certain(strike.invoke_ns, strike.ok_ns)}
    leaders |= _before(strike, partition.number, "leader")
    words = f"{cause.words}, and it led partition {partition.number}"
    mine = replace(cause, kind=LEADER_STRUCK, words=words, acked_only=True)
    if leaders & strike.nodes:
        yield mine
    else:
        yield from _maybe(mine, strike, partition, strike.nodes)


def _maybe(
    cause: Cause, strike: Strike, partition: Partition, nodes: frozenset[str]
) -> Iterator[Cause]:
    """In doubt where it was not to be seen who was in the ISR, or led, at the strike. Who leads is
    in the ISR: where nobody else can have led, one of these must have been hit."""
    for hidden in _dark(strike, partition):
        if hidden.leaders or hidden.led & nodes:
            doubt = replace(cause, sure=False, why=cause.why or hidden.why)
            yield from ([doubt] if cause.acked_only else _struck(doubt))
            return


def _dark(strike: Strike, partition: Partition) -> list[Hidden]:
    return [each for each in partition.hidden if each.covers(strike.invoke_ns, strike.ok_ns)]


def _leads_anew(cause: Cause, strike: Strike, partition: Partition, seen: Seen) -> Iterator[Cause]:
    read_ns = seen.read_ended_ns.get(partition.number)
    for node in sorted(strike.nodes):
        led = _led_anew(node, strike, partition)
        if led.at_ns is not None and (read_ns is None or led.at_ns < read_ns):
            words = f"{cause.words}, and {node} led partition {partition.number} without it"
            unseen = f"when {node} came to lead partition {partition.number} was not seen"
            why = cause.why if led.sure else cause.why or unseen
            yield from _struck(replace(cause, words=words, sure=why is None, why=why))
        else:
            yield from _hidden_lead(cause, strike, led.back_ns, partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Led:
    """When a struck broker led anew, or was back with all that the leader has."""

    at_ns: int | None = None
    back_ns: int | None = None
    sure: bool = True  # it did not do so before it was struck, when nobody looked


def _led_anew(node: str, strike: Strike, partition: Partition) -> _Led:
    last, out = partition.at(strike.invoke_ns), False
    for state in partition.after(strike.invoke_ns):
        # Out before it was struck is nothing: it may have come back meanwhile.
        struck = strike.ok_ns is not None and state.time_ns > strike.ok_ns
        out |= struck and last is not None and bool(last.isr) and node not in last.isr
        if state.leader == node and _anew(last, state):
            dark = partition.nobody_looked(state.since_ns, state.time_ns)
            return _Led(at_ns=state.time_ns, sure=not dark or state.since_ns >= strike.invoke_ns)
        if out and node in state.isr:
            return _Led(back_ns=state.time_ns)
        last = state
    return _Led()


def _hidden_lead(
    cause: Cause, strike: Strike, back_ns: int | None, partition: Partition
) -> Iterator[Cause]:
    """It was not seen to lead anew: where nobody looked it may have, until it came back."""
    for hidden in partition.hidden:
        over = hidden.end_ns is not None and hidden.end_ns <= strike.invoke_ns
        late = back_ns is not None and hidden.start_ns >= back_ns
        if hidden.leaders and not over and not late:
            yield from _struck(replace(cause, sure=False, why=cause.why or hidden.why))
            return


def _anew(last: State | None, state: State) -> bool:
    """Whether its leader was elected since."""
    if last is None:
        return False  # it may have led before
    if last.leader != state.leader:
        return True
    return None not in (last.epoch, state.epoch) and last.epoch != state.epoch


def _struck(cause: Cause) -> Iterator[Cause]:
    yield replace(cause, kind=STRIKE)
    yield replace(cause, kind=LEADER_STRUCK)


def _before(strike: Strike, partition: int, key: str) -> frozenset[str]:
    """The ISR, or the leader, by the fault's own view, if that was no older one."""
    if strike.before.get("known") is False:
        return frozenset()
    found = strike.before.get(key, {}).get(str(partition), ())
    return frozenset([found] if isinstance(found, str) else found)


# Flipped bits that consumers are given


def bit_causes(seen: Seen) -> Iterator[Cause]:
    """While a bit is flipped, readers that do not check CRCs are given what it made of a record."""
    everything = [(fault, seen.why_unknown()) for fault in seen.happened.unknown()]
    known = [(f, None) for f, effects in seen.happened.known() if effects.alters_stored_bytes]
    for fault, why in [*known, *everything]:
        for partition, brokers in (_flipped(fault, seen) if why is None else _any(fault)).items():
            yield Cause(
                kind=BIT_WHEN_READ,
                words=f"{fault['verb']} changed what {', '.join(sorted(brokers))} had written",
                at_ns=fault["invoke_ns"],
                sure=why is None,
                why=why,
                partition=partition,
                fault=fault["fault"],
                begun_before_ns=fault["ok_ns"] if why is None else fault["heal_ok_ns"],
                known_from_ns=fault["invoke_ns"],
                known_until_ns=fault["heal_ok_ns"],
            )


def _flipped(fault: Row, seen: Seen) -> dict[int | None, frozenset[str]]:
    """The partitions in which bits were flipped, and on whose disks: a fault may hit several
    brokers. Its proof names each segment: <topic>-<partition>/... of <broker>."""
    segment = rf"\b{re.escape(seen.topic)}-(\d{{1,9}})/(?:\S* of (\w+))?"
    found: dict[int | None, frozenset[str]] = {}
    for number, broker in re.findall(segment, fault["evidence"] or "") if seen.topic else ():
        hit = frozenset(fault["nodes"]) & {broker} or frozenset(fault["nodes"])
        found[int(number)] = found.get(int(number), frozenset()) | hit
    return found or _any(fault)


def _any(fault: Row) -> dict[int | None, frozenset[str]]:
    """The same where no proof names a partition."""
    return {None: frozenset(fault["nodes"])}
