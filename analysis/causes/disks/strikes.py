"""Strikes: faults that take what was written, and starts that find a flipped bit.

    ISR 1 2; power of kafka1 lost at 5 s, of kafka2 at 6 s, both proved by 7 s
    =>  the whole ISR was struck: what was begun before 7 s may be gone
    ISR 1 2 3; power of kafka1 lost at 5 s; kafka1 leads anew at 8 s and never left the ISR
    =>  kafka1 came to lead without what it lost: what was begun before its `ok` may be gone
    ISR 1 2 3; power of kafka3 lost at 5 s, and nothing else
    =>  kafka3 may lack what the others have, until it has left the ISR and come back; no reader
        is given anything else than before

A strike counts for a partition whose whole ISR was hit, by one fault or by several that overlap
unhealed, whichever ISR the views show from its invoke to its `ok`, or its own `before`. Where KRaft
remembers eligible leaders (KIP-966) it must have hit ISR and ELR: who is in either has all that is
committed, and who was struck is out of both as it registers. Where no ELR was told, and there may
have been one, such a strike is in doubt.

It counts as well for one that a struck broker came to lead anew before it had left the ISR and come
back, which it can only with all that the leader has; so does the last known leader, whom Kafka
elects where ISR and ELR are empty. While others are eligible Kafka must not elect it there: as it
registers it is out of ISR and ELR, so what it then loses is not the strike's, unless unclean
elections are allowed or the metadata went back.

    ISR 1, ELR 2; power of kafka1 lost; then kafka1 leads, with ISR 1, ELR 2    =>  nothing

Where the fault ended its process, it leads anew only after the
healing has begun: until then a new epoch of its is one that the controller gave for another reason
(or, in 4.0, because it elects who is fenced, KAFKA-19522).

Under acks=1 the leader alone has a record when it is acked, so there its strike permits what was
acked. What readers are shown, and what the final read shows, it permits from its invoke, or from
when the struck broker led anew: until then they are given what the others have. Where they may read
from followers (KIP-392) it permits that from its invoke, until the broker has left the ISR and come
back. With `flush.messages=1` lost power takes nothing; a lost disk takes what was synced, too.

A flipped bit is found when its broker starts: recovery truncates there. So its broker's start is a
strike, unless the bit was put back before. Most faults start what they ended when they are healed;
where one does so itself, the time is not known: what was begun meanwhile is in doubt.

An ISR that nobody could read may have been any: such a strike is not sure, like one of a fault of
which it is not known what it can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.disks.flipped_bits import flipped
from analysis.causes.disks.strike import ALWAYS, Led, Strike, led_anew, seen_before
from analysis.causes.kinds import AFTER_STRIKE, LEADER_STRUCK, STRIKE
from analysis.causes.seen import Seen
from analysis.causes.settings import FLUSH, topic_values, unclean_allowed
from analysis.causes.states import Hidden, Partition, State
from analysis.run_facts.faults import Row, view_before

Values = Callable[[Seen, str, int, int | None], frozenset[str]]  # analysis.causes.settings


def strike_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are strikes, but for what struck brokers lack (struck_replicas)."""
    strikes = list(strikes_of(seen))
    for partition in seen.partitions:
        for strike in strikes_at(partition, strikes, seen):
            cause = replace(strike.cause(partition), begun_before_ns=_taken(strike))
            yield from _whole_isr(cause, strike, strikes, partition)
            yield from _leads_anew(cause, strike, partition, seen)
            if seen.acks_1:
                yield from _leader(cause, strike, partition)


def strikes_at(partition: Partition, strikes: Iterable[Strike], seen: Seen) -> Iterator[Strike]:
    """Those that may have taken something of a partition before it was read back."""
    read_ns = seen.read_ended_ns.get(partition.number)
    for strike in strikes:
        in_time = read_ns is None or strike.invoke_ns < read_ns
        if in_time and strike.hit(seen) and strike.partition in (None, partition.number):
            yield strike


def _taken(strike: Strike) -> int | None:
    """What was begun before this moment it can have taken (None: all)."""
    return min((ns for ns in (strike.ok_ns, strike.kept_from_ns) if ns is not None), default=None)


def strikes_of(seen: Seen, values: Values = topic_values) -> Iterator[Strike]:
    """The run's strikes, in the order of their rows, on a topic with these settings."""
    for fault, effects in seen.happened.known():
        kept_from_ns = _kept_from(fault, seen, values) if effects.takes == "unsynced" else None
        if effects.takes != "nothing" and kept_from_ns != ALWAYS:
            # Of a healing that was not recorded nobody knows when it started them.
            down = effects.ends_processes and not effects.starts_again
            started_ns = fault["heal_invoke_ns"] if down else None
            yield replace(
                _strike(fault),
                kept_from_ns=kept_from_ns,
                started_ns=started_ns or ALWAYS,
                heard_of=effects.ends_processes,
            )
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
        for partition, brokers in flipped(bit, seen).items():
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
    told = seen_before(strike, partition)
    isrs = [told, *partition.certain(strike.invoke_ns, strike.ok_ns)]
    possible = [told, *partition.within(strike.invoke_ns, strike.ok_ns)]
    kind = "ISR" if all(each is None or each.elr is None for each in possible) else "ISR and ELR"
    whole = replace(cause, words=f"{cause.words}: the whole {kind} of partition {partition.number}")
    why = [
        cause.why,
        *(each.why for each in together),
        *_between(strike, every, partition),
        *(each.why for each in _dark(strike, partition)),
        f"which replicas of partition {partition.number} were eligible was not told",
    ]
    if any(each and _hits(sure, each) and not each.guessed for each in isrs):
        yield from _struck(whole, strike.invoke_ns)
    elif any(each and _hits(every, each) for each in possible) or any(
        _between(strike, every, partition)
    ):
        doubt = replace(whole, sure=False, why=next(each for each in why if each))
        yield from _struck(doubt, strike.invoke_ns)
    else:
        yield from _maybe(whole, strike, partition, every)


def _hits(nodes: frozenset[str], state: State) -> bool:
    """Whether these are all who have what is committed, as far as that is known."""
    return bool(state.eligible) and state.eligible <= nodes


def _between(strike: Strike, nodes: frozenset[str], partition: Partition) -> Iterator[str]:
    """Why an ISR that was seen only afterwards may have been in force at the strike."""
    if strike.ok_ns is None:
        return
    for state in partition.after(strike.ok_ns):
        if state.since_ns <= strike.ok_ns and _hits(nodes, state):
            yield f"when the ISR of partition {partition.number} shrank was not seen"


def _leader(cause: Cause, strike: Strike, partition: Partition) -> Iterator[Cause]:
    leaders = {state.leader for state in partition.certain(strike.invoke_ns, strike.ok_ns)}
    before = seen_before(strike, partition)
    leaders |= {before.leader} if before else set()
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
            yield from ([doubt] if cause.acked_only else _struck(doubt, strike.invoke_ns))
            return


def _dark(strike: Strike, partition: Partition) -> list[Hidden]:
    return [each for each in partition.hidden if each.covers(strike.invoke_ns, strike.ok_ns)]


def _leads_anew(cause: Cause, strike: Strike, partition: Partition, seen: Seen) -> Iterator[Cause]:
    read_ns = seen.read_ended_ns.get(partition.number)
    for node in sorted(strike.nodes):
        led = led_anew(node, strike, partition)
        if led.at_ns is not None and (read_ns is None or led.at_ns < read_ns):
            words = f"{cause.words}, and {node} led partition {partition.number} without it"
            unseen = f"when {node} came to lead partition {partition.number} was not seen"
            why = cause.why if led.sure else cause.why or unseen
            chosen, doubt = _chosen(node, led, strike, partition, seen)
            if not chosen:
                continue
            why = why or doubt
            mine = replace(cause, words=words, sure=why is None, why=why)
            yield from _struck(mine, led.at_ns if led.unseen else led.since_ns)
            if led.unseen:
                yield after(replace(mine, sure=False, why=why or unseen), led.since_ns)
        else:
            yield from _hidden_lead(cause, strike, led.back_ns, partition)


def _chosen(
    node: str, led: Led, strike: Strike, partition: Partition, seen: Seen
) -> tuple[bool, str | None]:
    """Whether Kafka may have chosen a struck broker to lead, and why that is not known: not one of
    which it knew, while others were eligible."""
    if not (seen.kafka.elr and strike.heard_of and led.before and led.before.elr is not None):
        return True, None
    until_ns = led.at_ns or 0
    went_back = any(s.went_back for s in partition.within(strike.invoke_ns, until_ns))
    if went_back or led.before.eligible <= strike.nodes:
        return True, None
    for _, doubt in unclean_allowed(seen, led.since_ns, until_ns):
        return True, doubt
    if led.changes == 1 and not led.unseen:
        return False, None
    return True, f"who was eligible when {node} came to lead was not seen"


def _hidden_lead(
    cause: Cause, strike: Strike, back_ns: int | None, partition: Partition
) -> Iterator[Cause]:
    """It was not seen to lead anew: where nobody looked it may have, until it came back."""
    for hidden in partition.hidden:
        over = hidden.end_ns is not None and hidden.end_ns <= strike.up_ns
        late = back_ns is not None and hidden.start_ns >= back_ns
        if hidden.leaders and not over and not late:
            doubt = replace(cause, sure=False, why=cause.why or hidden.why)
            yield from _struck(doubt, max(strike.up_ns, hidden.start_ns))
            return


def _struck(cause: Cause, shown_from_ns: int) -> Iterator[Cause]:
    yield replace(cause, kind=STRIKE)
    yield replace(cause, kind=LEADER_STRUCK)
    yield after(cause, shown_from_ns)


def after(cause: Cause, shown_from_ns: int) -> Cause:
    """What shows after a strike, whatever the record."""
    return replace(cause, kind=AFTER_STRIKE, begun_before_ns=None, shown_from_ns=shown_from_ns)
