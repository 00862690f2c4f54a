"""Strikes: faults that take written records, and starts that find a flipped bit.

    ISR 1 2; power of kafka1 lost at 5 s, of kafka2 at 6 s, both proved by 7 s
    =>  the whole ISR was struck: what was begun before 7 s may be gone
    ISR 1 2 3; power of kafka1 lost at 5 s; kafka1 leads anew at 8 s and never left the ISR
    =>  kafka1 came to lead without what it lost: what was begun before its `ok` may be gone
    ISR 1 2 3; power of kafka3 lost at 5 s, and nothing else
    =>  kafka3 may lack what the others have, until it has left the ISR and come back; readers see
        no difference

A strike counts for a partition if it hit the whole ISR, by one fault or by several that overlap
unhealed, whichever ISR the views show from its invoke to its `ok`, or its own `before`. If KRaft
keeps eligible leaders (KIP-966) it must have hit ISR and ELR: members of either have all that is
committed, and a struck broker leaves both as it registers. If there may have been an ELR that is
not known, such a strike is in doubt.

A strike also counts for a partition that a struck broker led anew before it had left the ISR and
come back, which takes all that the leader has; so does the last known leader, whom Kafka elects if
ISR and ELR are empty. While others are eligible, Kafka must not elect it: as it registers it is out
of ISR and ELR, so a later loss has another cause, unless unclean elections are allowed or the
metadata went back.

    ISR 1, ELR 2; power of kafka1 lost; then kafka1 leads, with ISR 1, ELR 2    =>  nothing

If the fault ended its process, a broker leads anew only after the healing has begun: before that,
the controller raised its epoch for another reason (or, in 4.0, elected a fenced broker,
KAFKA-19522).

Under acks=1 the leader alone has a record when it is acked, so a strike of the leader permits the
loss of acked records. It permits what readers and the final read show from its invoke, or from when
the struck broker led anew: until then they read from the others. If readers may read from followers
(KIP-392), it permits that from its invoke until the broker has left the ISR and come back. With
`flush.messages=1` lost power takes nothing; a lost disk takes synced records, too.

A broker finds a flipped bit when it starts, and recovery truncates there. So the start is a strike,
unless the bit was put back before. The healing of most faults starts what they ended; if a fault
starts it itself the time is not known, and sends that began meanwhile are in doubt.

With an unknown ISR a strike is not sure, and neither is a fault of unknown effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.disks.flipped_bits import flipped
from analysis.causes.disks.strike import ALWAYS, Led, Strike, led_anew, seen_before
from analysis.causes.kinds import AFTER_STRIKE, LEADER_STRUCK, STRIKE
from analysis.causes.run_facts.faults import view_before
from analysis.causes.seen import Seen
from analysis.causes.settings import FLUSH, topic_values, unclean_allowed
from analysis.causes.states import Partition, State
from analysis.stored.table_rows import Fault

Values = Callable[[Seen, str, int, int | None], frozenset[str]]  # analysis.causes.settings


def strike_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that are strikes, without those of struck_replicas."""
    strikes = list(strikes_of(seen))
    for partition in seen.partitions:
        for strike in strikes_at(partition, strikes, seen):
            cause = replace(strike.cause(partition), begun_before_ns=_taken_before_ns(strike))
            yield from _whole_isr(cause, strike, strikes, partition)
            yield from _leads_anew(cause, strike, partition, seen)
            if seen.acks_1:
                yield from _leader(cause, strike, partition)


def strikes_at(partition: Partition, strikes: Iterable[Strike], seen: Seen) -> Iterator[Strike]:
    """The strikes that may have taken records of a partition before its final read."""
    read_ns = seen.read_ended_ns.get(partition.number)
    for strike in strikes:
        in_time = read_ns is None or strike.invoke_ns < read_ns
        if in_time and strike.hit(seen) and strike.partition in (None, partition.number):
            yield strike


def _taken_before_ns(strike: Strike) -> int | None:
    """What was begun before this moment it can have taken (None: all)."""
    return min((ns for ns in (strike.ok_ns, strike.kept_from_ns) if ns is not None), default=None)


def strikes_of(seen: Seen, values: Values = topic_values) -> Iterator[Strike]:
    """The run's strikes, in the order of their rows, on a topic with these settings."""
    for fault, effects in seen.happened.known():
        kept_from_ns = _kept_from(fault, seen, values) if effects.takes == "unsynced" else None
        if effects.takes != "nothing" and kept_from_ns != ALWAYS:
            # Without a recorded healing it is not known when they started.
            down = effects.ends_processes and not effects.starts_again
            started_ns = fault["heal_invoke_ns"] if down else None
            yield replace(
                _strike(fault),
                kept_from_ns=kept_from_ns,
                started_ns=started_ns or ALWAYS,
                ended=effects.ends_processes,
            )
        if effects.alters_stored_bytes:
            yield from _starts_on_flipped_bit(fault, seen)
    for fault in seen.happened.unknown():
        # It may have hit others, too, and for longer.
        every = _strike(fault)
        yield replace(
            every,
            nodes=every.nodes | set(seen.brokers),
            ok_ns=fault["heal_ok_ns"],
            why=seen.why_unknown(),
        )


def _kept_from(fault: Fault, seen: Seen, values: Values) -> int | None:
    """From when on flush.messages=1 synced each record, until the fault was proved; None: it did
    not."""
    rows = [row for row, effects in seen.happened.known() if effects.topic_settings]
    changed = [row[name] for row in rows for name in ("ok_ns", "heal_ok_ns")]
    moments = [ns for ns in changed if ns is not None and ns <= fault["invoke_ns"]]
    for moment_ns in (ALWAYS, *sorted(moments)):
        if values(seen, FLUSH, moment_ns, fault["ok_ns"]) == {"1"}:
            return int(moment_ns)
    return None


def _strike(fault: Fault) -> Strike:
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


def _starts_on_flipped_bit(bit: Fault, seen: Seen) -> Iterator[Strike]:
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


def _when_healed(start: Strike, bit: Fault, fault: Fault) -> Iterator[Strike]:
    started_ns = fault["heal_invoke_ns"]
    if started_ns is None:
        return
    if bit["invoke_ns"] < started_ns and _later(bit["heal_ok_ns"], started_ns):
        yield replace(start, invoke_ns=started_ns)


def _sometime(start: Strike, bit: Fault, fault: Fault) -> Iterator[Strike]:
    """Starts between the fault's invoke and its healing: records from before the fault were there
    at each of them; whether later ones were is not known."""
    begun_ns, over_ns = fault["invoke_ns"], fault["heal_ok_ns"]
    was_flipped = bit["ok_ns"] is not None and bit["ok_ns"] <= begun_ns
    stayed = bit["heal_ok_ns"] is None or (over_ns is not None and bit["heal_ok_ns"] >= over_ns)
    if was_flipped and stayed:
        yield replace(start, ok_ns=begun_ns)
    if _later(over_ns, bit["invoke_ns"]) and _later(bit["heal_ok_ns"], begun_ns):
        named = f"step {fault['step']}, {fault['verb']} {fault['target']}"
        yield replace(start, why=f"{named}: when it started them is not known")


def _later(time_ns: int | None, moment_ns: int) -> bool:
    return time_ns is None or time_ns > moment_ns


def _overlapping(strike: Strike, strikes: Sequence[Strike]) -> Iterator[Strike]:
    """The strike, and earlier ones that may not have been healed."""
    for other in strikes:
        begun = strike.ok_ns is None or other.invoke_ns <= strike.ok_ns
        here = strike.partition is None or other.partition in (None, strike.partition)
        if other is strike or (begun and here and _later(other.healed_ns, strike.invoke_ns)):
            yield other


def _whole_isr(
    cause: Cause, strike: Strike, strikes: Sequence[Strike], partition: Partition
) -> Iterator[Cause]:
    together = [
        other
        for other in _overlapping(strike, strikes)
        if other.partition in (None, partition.number)
    ]
    sure = frozenset[str]().union(*(other.nodes for other in together if other.why is None))
    every = frozenset[str]().union(*(other.nodes for other in together))
    before = seen_before(strike, partition)
    isrs = [before, *partition.certain(strike.invoke_ns, strike.ok_ns)]
    possible = [before, *partition.within(strike.invoke_ns, strike.ok_ns)]
    later = list(_later_isrs(strike, every, partition))
    kind = "ISR" if all(s is None or s.elr is None for s in possible) else "ISR and ELR"
    whole = replace(cause, words=f"{cause.words}: the whole {kind} of partition {partition.number}")
    why = [
        cause.why,
        *(other.why for other in together),
        *later,
        *(hidden.why for hidden in partition.hidden_in(strike.invoke_ns, strike.ok_ns)),
        f"which replicas of partition {partition.number} were eligible was not told",
    ]
    if any(state and _hits(sure, state) and not state.elr_unknown for state in isrs):
        yield from _all_kinds(whole, strike.invoke_ns)
    elif any(state and _hits(every, state) for state in possible) or any(later):
        doubt = replace(whole, sure=False, why=next(filter(None, why)))
        yield from _all_kinds(doubt, strike.invoke_ns)
    else:
        yield from _in_doubt(whole, strike, partition, every)


def _hits(nodes: frozenset[str], state: State) -> bool:
    """Whether these nodes are all known holders of what is committed."""
    return bool(state.eligible) and state.eligible <= nodes


def _later_isrs(strike: Strike, nodes: frozenset[str], partition: Partition) -> Iterator[str]:
    """Why an ISR that was seen only later may have been in force at the strike."""
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
    struck = replace(cause, kind=LEADER_STRUCK, words=words, acked_only=True)
    if leaders & strike.nodes:
        yield struck
    else:
        yield from _in_doubt(struck, strike, partition, strike.nodes)


def _in_doubt(
    cause: Cause, strike: Strike, partition: Partition, nodes: frozenset[str]
) -> Iterator[Cause]:
    """The cause in doubt, if ISR or leader at the strike were hidden. The leader is in the ISR: if
    the possible leaders are known, one of them must have been hit."""
    for hidden in partition.hidden_in(strike.invoke_ns, strike.ok_ns):
        if hidden.leaders or hidden.led & nodes:
            doubt = replace(cause, sure=False, why=cause.why or hidden.why)
            yield from ([doubt] if cause.acked_only else _all_kinds(doubt, strike.invoke_ns))
            return


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
            led_without = replace(cause, words=words, sure=why is None, why=why)
            yield from _all_kinds(led_without, led.at_ns if led.unseen else led.since_ns)
            if led.unseen:
                yield after(replace(led_without, sure=False, why=why or unseen), led.since_ns)
        else:
            yield from _hidden_lead(cause, strike, led.back_ns, partition)


def _chosen(
    node: str, led: Led, strike: Strike, partition: Partition, seen: Seen
) -> tuple[bool, str | None]:
    """Whether Kafka may have elected a struck broker, and why that is not known. It does not elect
    one whose end it knows while others are eligible."""
    if not (seen.kafka.elr and strike.ended and led.before and led.before.elr is not None):
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
    """The cause in doubt, for a blind stretch in which the broker may have led anew."""
    for hidden in partition.hidden:
        over = hidden.end_ns is not None and hidden.end_ns <= strike.up_ns
        late = back_ns is not None and hidden.start_ns >= back_ns
        if hidden.leaders and not over and not late:
            doubt = replace(cause, sure=False, why=cause.why or hidden.why)
            yield from _all_kinds(doubt, max(strike.up_ns, hidden.start_ns))
            return


def _all_kinds(cause: Cause, shown_from_ns: int) -> Iterator[Cause]:
    yield replace(cause, kind=STRIKE)
    yield replace(cause, kind=LEADER_STRUCK)
    yield after(cause, shown_from_ns)


def after(cause: Cause, shown_from_ns: int) -> Cause:
    """The cause of what readers show after a strike, for any record."""
    return replace(cause, kind=AFTER_STRIKE, begun_before_ns=None, shown_from_ns=shown_from_ns)
