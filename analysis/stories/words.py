"""A story as one sentence, which also says what is not known.

Offset 2,504 of partition 0 was acknowledged by kafka1 at 30.412 s, written with epoch 2; no
consumer was given it; kafka2 and kafka3 did not have it (their logs ended at 2,504); kafka1 was
killed between 30.413 s and 30.601 s; kafka2 led with epoch 3 from log end 2,504 at 33.101 s; kafka1
cut its log off from 2,504 on at 34.601 s; no replica has it now.

A fault takes effect between its injection and its proof, so the sentence has both times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.stories.replicas import Clock, Replica
from analysis.stories.story import Copy, Story, place

SAID_FAULTS = 4


def sentence(story: Story, clock: Clock) -> str:
    """The story in one sentence."""
    text = "; ".join((_loss_parts if story.gone else _double_parts)(story, clock))
    return f"{text[:1].upper()}{text[1:]}."


def names(many: Sequence[str]) -> str:
    """`kafka1, kafka2 and kafka3`."""
    return " and ".join([", ".join(many[:-1]), many[-1]]) if len(many) > 1 else "".join(many)


# Of records that are not where they were acknowledged


def _loss_parts(story: Story, clock: Clock) -> Iterator[str]:
    yield _torn_send(story, clock) if story.facts.anomaly == "torn" else _ack(story, clock)
    yield from _deliveries(story)
    yield from _holders(story)
    yield from _faults(story, clock)
    yield _election(story, clock)
    yield from _truncations(story, clock)
    if story.was_read or story.facts.outcome in ("acked_elsewhere", "other_partition"):
        yield _elsewhere(story)
    else:
        yield from _holders_now(story)
    if story.facts.replaced:
        yield _replacement(story)


def _torn_send(story: Story, clock: Clock) -> str:
    """Records without an answer to their commit, which other records of the transaction prove."""
    one, span = story.one, story.span
    many = "one record" if one else f"{span.records:,} records"
    sent = ""
    if span.sent_ns is not None:
        sent = f", sent {_when(*span.sent_ns, clock)},"
    return (
        f"{many} of partition {story.facts.partition}{sent} {'was' if one else 'were'} never "
        "acknowledged, since the commit that was asked for had no answer; but other records of "
        f"{'its transaction' if one else 'their transactions'} are in the log, so it was carried "
        "out"
    )


def _ack(story: Story, clock: Clock) -> str:
    facts, span = story.facts, story.span
    where = f"{place(story)} of partition {facts.partition}"
    if span.acked_ns is None:
        return f"two records were seen at {where}; when one was acknowledged there is not known"
    when = _when(*span.acked_ns, clock)
    if story.was_read:
        return _delivery(story, where, when)
    was = "was" if story.one else "were"
    if facts.certain:
        by = facts.leader or "a leader whose name nothing tells"
        return f"{where} {was} acknowledged by {by} {when}, written with epoch {facts.epoch}"
    acked = f"{where} {was} acknowledged {when}"
    if not story.leader_was_asked:
        return f"{acked}; by whom is not known"
    return f"{acked}, {_leader_shown(story)}; by whom is not known for certain"


def _delivery(story: Story, where: str, when: str) -> str:
    """A read of records at a place where the final read does not have them."""
    facts = story.facts
    given = (
        f"{'a consumer was' if story.one else 'consumers were'} given what was at {where} {when}"
    )
    if facts.certain:
        by = f" by {facts.leader}" if facts.leader else ""
        return f"{given}, written with epoch {facts.epoch}{by}"
    return f"{given}, {_leader_shown(story)}; who wrote {story.it} is not known for certain"


def _leader_shown(story: Story) -> str:
    facts = story.facts
    shown = "no leader" if facts.leader is None else facts.leader
    epoch = "" if facts.epoch is None else f" with epoch {facts.epoch}"
    return f"when {story.keeper} showed {shown}{epoch} leading"


def _when(first_ns: int, last_ns: int, clock: Clock) -> str:
    """One moment, or from the first to the last of several."""
    first, last = clock(first_ns), clock(last_ns)
    return f"at {first}" if first == last else f"from {first} to {last}"


def _deliveries(story: Story) -> Iterator[str]:
    """Whether a consumer had read what is lost."""
    if story.facts.anomaly != "lost":
        return
    if not story.span.delivered:
        yield f"no consumer was given {story.it}"
    elif story.span.delivered == story.span.records:
        yield f"consumers had been given {story.it}"
    else:
        yield f"consumers had been given {story.span.delivered:,} of them"


def _holders(story: Story) -> Iterator[str]:
    """Which other brokers had it, did not have it, and of which that is not known."""
    others = [r for r in story.facts.replicas if not _wrote(r, story)]
    had, lacked, unknown = ([r for r in others if r.had == known] for known in _KNOWN)
    if had:
        yield f"{_brokers(had)} had {story.it}{' too' if story.facts.certain else ''}"
    if lacked:
        yield f"{_brokers(lacked)} did not have {story.it}{_log_ends(lacked)}"
    if len(unknown) == len(story.facts.replicas):
        yield f"in whose logs {'it was' if story.one else 'they were'} is not known"
    elif unknown:
        yield f"whether {_brokers(unknown)} had {story.it} is not known"


_KNOWN = ("yes", "no", "unknown")


def _wrote(replica: Replica, story: Story) -> bool:
    return story.facts.certain and replica.broker == story.facts.leader


def _log_ends(lacked: Sequence[Replica]) -> str:
    """Where the logs of brokers without the records ended."""
    ends = sorted({replica.log_end for replica in lacked if replica.log_end is not None})
    if not ends or any(replica.log_end is None for replica in lacked):
        return ""
    whose = "their logs" if len(lacked) > 1 else "its log"
    return f" ({whose} ended at {names([f'{end:,}' for end in ends])})"


def _faults(story: Story, clock: Clock) -> Iterator[str]:
    shown = list(story.faults)
    if len(shown) > SAID_FAULTS:
        shown = [f for f in shown if story.facts.leader in f["nodes"]] or shown
    more = len(story.faults) - len(shown[:SAID_FAULTS])
    shown = shown[:SAID_FAULTS]
    for fault in shown:
        began, proved = clock(fault["invoke_ns"]), fault["ok_ns"]
        when = f"from {began} on" if proved is None else f"between {began} and {clock(proved)}"
        yield f"{names(fault['nodes'])} {story.was_done(fault)} {when}"
    if more > 0:
        yield f"there were {more} more faults" if more > 1 else "there was one more fault"


def _election(story: Story, clock: Clock) -> str:
    chosen = story.facts.election
    if chosen is None:
        return f"which leader came to lead without {story.it} is not known"
    again = " again" if chosen.leader == story.facts.leader else ""
    outside = ", outside the ISR," if chosen.outside else ""
    if chosen.log_end is None:
        epoch = "" if chosen.epoch is None else f" with epoch {chosen.epoch}"
        return (
            f"{chosen.leader}{outside} led{again}{epoch}, as {story.keeper} showed at "
            f"{clock(chosen.at_ns)}; where its log ended then is not known"
        )
    return (
        f"{chosen.leader}{outside} led{again} with epoch {chosen.epoch} from log end "
        f"{chosen.log_end:,} at {clock(chosen.at_ns)}"
    )


def _truncations(story: Story, clock: Clock) -> Iterator[str]:
    cut = [replica for replica in story.facts.replicas if replica.cut_at is not None]
    for replica in sorted(cut, key=lambda replica: replica.cut_ns or 0):
        when = clock(replica.cut_ns)
        yield f"{replica.broker} cut its log off from {replica.cut_at:,} on at {when}"


def _holders_now(story: Story) -> Iterator[str]:
    replicas = story.facts.replicas
    has, lack, unknown = ([r for r in replicas if r.now == known] for known in _KNOWN)
    if has:
        where = {replica.now_why for replica in has} if story.facts.replaced else set()
        there = f" {where.pop()} now" if len(where) == 1 and story.one else ""
        still = "" if there else "still "
        yield f"{_brokers(has)} {still}{_have(has)} {story.it}{there}"
    if lack and len(lack) == len(replicas):
        yield f"no replica has {story.it} now"
    elif lack:
        yield f"{_brokers(lack)} {_has_not(lack)} {story.it} now"
    if unknown and len(unknown) == len(replicas):
        final_read = "the final read did not find" if story.read else "the final read is incomplete"
        rest = f"{final_read} {story.it}" if story.read else final_read
        yield f"which replica has {story.it} now is not known, and {rest}"
    elif unknown:
        yield f"whether {_brokers(unknown)} {_have(unknown)} {story.it} now is not known"


def _elsewhere(story: Story) -> str:
    copy = story.facts.copies[-1] if story.facts.copies else None
    there = "" if story.facts.outcome == "other_partition" else "elsewhere in the log"
    if story.one and story.subject.other_offset is not None:
        other = story.subject.other_partition
        there = f"at offset {story.subject.other_offset:,}"
        there += "" if other in (None, story.facts.partition) else f" of partition {other}"
    by = "" if copy is None or copy.epoch is None else f", written with epoch {copy.epoch}"
    is_ = "it is" if story.one else "they are"
    return f"{is_} {there or 'in another partition'} now{by}"


def _replacement(story: Story) -> str:
    copy = story.facts.copies[0] if story.facts.copies else None
    value = story.subject.other_value
    what = f"value {value:,}" if story.one and value is not None else "other records"
    lies = "lies" if story.one else "lie"
    if copy is None or copy.epoch is None:
        return f"{what} {lies} there instead"
    by = "" if copy.leader is None else f" by {copy.leader}"
    return f"{what} {lies} there instead, written with epoch {copy.epoch}{by}"


# Of records that are in the log twice, or in another order


def _double_parts(story: Story, clock: Clock) -> Iterator[str]:
    facts, span = story.facts, story.span
    first, second = facts.copies
    one = story.one
    many = "one record" if one else f"{span.records:,} records"
    where = f"{many} of partition {facts.partition}"
    there = f"{_at(story)}{_epoch_of(first)}"
    if facts.anomaly == "duplicate":
        is_ = "is" if one else "are"
        yield f"{where} {is_} in the log twice: {there}, and {_other(story)}{_epoch_of(second)}"
    else:
        later = "one that its client sent later" if one else "ones that their client sent later"
        lies = f"{'lies' if one else 'lie'} behind {later}"
        before = f"the other one {_other(story)}" if one else "the other ones before them"
        yield f"{where} {lies}: {there}, {before}{_epoch_of(second)}"
    if span.sent_ns is not None:
        sent = _when(*span.sent_ns, clock)
        acked = "never acknowledged"
        if span.acked_ns is not None:
            until = clock(span.acked_ns[1])
            acked = f"acknowledged {'at' if one else 'until'} {until}"
        yield f"sent {sent}, {acked}"
    yield from _faults(story, clock)
    if facts.election is not None:
        yield _election(story, clock)
    yield from _holders_of_both(story)


def _at(story: Story) -> str:
    first, last = story.span.first_offset, story.span.last_offset
    if first is None or last is None:
        return "at an offset that is not known"
    return f"at offset {first:,}" if story.one else f"at offsets from {first:,} to {last:,}"


def _other(story: Story) -> str:
    if not story.one or story.subject.other_offset is None:
        return "at others"
    there = f"at offset {story.subject.other_offset:,}"
    if story.subject.other_partition in (None, story.facts.partition):
        return there
    return f"{there} of partition {story.subject.other_partition}"


def _epoch_of(copy: Copy) -> str:
    if copy.epoch is None:
        return ", written in an epoch that is not known"
    return f", written with epoch {copy.epoch}" + (f" by {copy.leader}" if copy.leader else "")


def _holders_of_both(story: Story) -> Iterator[str]:
    both = "both" if story.facts.anomaly == "duplicate" else "all"
    replicas = story.facts.replicas
    for known, words in (
        ("yes", "{who} {have} " + both),
        ("no", "{who} {not_have} " + both),
        ("unknown", "what {who} {have} now is not known"),
    ):
        some = [replica for replica in replicas if replica.now == known]
        if some:
            yield words.format(who=_brokers(some), have=_have(some), not_have=_has_not(some))


# Grammar


def _brokers(replicas: Sequence[Replica]) -> str:
    return names(sorted(replica.broker for replica in replicas))


def _have(replicas: Sequence[Replica]) -> str:
    return "has" if len(replicas) == 1 else "have"


def _has_not(replicas: Sequence[Replica]) -> str:
    return "does not have" if len(replicas) == 1 else "do not have"
