"""The verdict in plain English, for somebody who decides and does not operate Kafka.

    Data was lost: 3 of 10,000 acknowledged records are gone after the leader was killed 10 times;
    with acks=1 Kafka does not promise otherwise. Writes stopped for at most 2.4 s.

First what happened to the data, then other anomalies that matter, a demand that was not met, and
how long nothing could be written or read. What is not known is said first, and never as good news.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.verdict.facts import Facts
from analysis.verdict.judge import Counted, Gap, Judgement, Verdict

_DONE = {
    "kill": "killed",
    "stop": "shut down",
    "pause": "paused",
    "cut-answers": "kept from answering its clients",
    "cut": "cut off",
    "lose": "connected by links that lose packets",
    "delay": "moved to the end of a long line",
    "throttle": "throttled",
    "reorder": "sending packets out of order",
    "duplicate": "sending packets twice",
    "corrupt": "sending spoiled packets",
    "slow": "slowed down",
    "roll": "restarted one by one",
    "crash-loop": "killed again and again",
    "elect": "elected again",
    "move-leader": "replaced by another",
    "reassign": "given other replicas",
    "raise-replication": "given one more replica",
    "set-config": "set otherwise",
    "add-partitions": "given more partitions",
    "decommission": "taken out and replaced",
    "delete-pod": "shut down with its pod",
    "delete-pod-now": "taken away with its pod",
    "drain": "drained from its machine",
    "command": "struck by a command",
}
_HARMLESS = frozenset({"dump-log"})  # breaks nothing, so nothing happened "after" it
_WHO = {
    "leader": "the leader",
    "follower": "a follower",
    "controller": "the controller",
    "leader-and-controller": "the leader, also the controller,",
    "leader-not-controller": "the leader, not the controller,",
    "preferred-leader": "the preferred leader",
    "last-isr": "the last in-sync replica",
    "group-coordinator": "the group's coordinator",
    "transaction-coordinator": "the transactions' coordinator",
    "one": "a random broker",
    "random": "a random broker",
    "zk-leader": "the ZooKeeper leader",
    "zk-follower": "a ZooKeeper follower",
    "zk-followers": "the ZooKeeper followers",
    "zk-one": "a random ZooKeeper member",
    "zk-minority": "a minority of the ZooKeepers",
    "zk-majority": "a majority of the ZooKeepers",
    "zk-all": "every ZooKeeper member",
    "producer": "a producer",
    "producers": "all producers",
    "consumer": "a consumer",
    "consumers": "all consumers",
    "group-consumer": "a member of the consumer group",
    "group-consumers": "all members of the consumer group",
    "followers": "all followers",
    "minority": "a minority of the brokers",
    "majority": "a majority of the brokers",
    "all": "every broker",
}
_MANY = frozenset({"followers", "zk-followers", "producers", "consumers", "group-consumers"})


def sentence(  # noqa: PLR0913  everything that the verdict was made of
    *,
    verdict: Verdict,
    judgements: Mapping[str, Judgement],
    doubts: Sequence[str],
    acked: int,
    facts: Facts,
    faults: Sequence[Mapping[str, Any]],
    windows: Sequence[Mapping[str, Any]],
    threshold_ms: float,
    gaps: Mapping[str, Gap | Counted] | None = None,
) -> str:
    """The whole text: two to five short sentences."""
    after = faults_words(faults)
    parts = [
        _data(judgements["lost"], doubts, acked, after, facts),
        *_others(judgements, facts),
        *_demands(judgements),
        *_gap_demands(gaps or {}),
        _stopped("produce", "Writes", windows, threshold_ms) if acked else "",
        _stopped("consume", "Reads", windows, None),
    ]
    if verdict.name == "unknown" and judgements["lost"].count:
        parts.append(f"Whether all promises were kept is unknown: {doubts[0]}.")
    return " ".join(part for part in parts if part)


def faults_words(faults: Sequence[Mapping[str, Any]]) -> str:
    """`the leader was killed 10 times and a follower was paused`; empty without faults."""
    hit = Counter(
        (fault["verb"], fault["target"])
        for fault in faults
        if fault["nodes"] and fault["verb"] not in _HARMLESS
    )
    words = [_fault(verb, target, times) for (verb, target), times in hit.items()]
    return _and(words)


def _fault(verb: str, target: str, times: int) -> str:
    done = _DONE.get(verb, f"hit by {verb}")
    often = {1: "", 2: " twice"}.get(times, f" {times:,} times")
    were = "were" if target in _MANY else "was"
    return f"{_WHO.get(target, target)} {were} {done}{often}"


def _data(lost: Judgement, doubts: Sequence[str], acked: int, after: str, facts: Facts) -> str:
    happened = f" after {after}" if after else ""
    if lost.count:
        are = "is" if lost.count == 1 else "are"
        promise = (
            f"{_with(facts)} Kafka promises that none is"
            if lost.promise.forbidden
            else f"{_with(facts)} Kafka does not promise otherwise"
        )
        return (
            f"Data was lost: {lost.count:,} of {_records(acked)} {are} gone{happened}; {promise}."
        )
    if doubts:
        return f"It is not known whether data was lost: {doubts[0]}."
    if not acked:  # acks=0, and what was sent did arrive
        return f"Nothing was acknowledged, so no acknowledged data can be lost{happened}."
    every = "the only acknowledged record was" if acked == 1 else f"all {_records(acked)} were"
    return f"No data was lost: {every} read back{happened or ', and no fault was injected'}."


def _others(judgements: Mapping[str, Judgement], facts: Facts) -> list[str]:
    lost = judgements["lost"].count
    never = "committed" if facts.transactional else "written"
    words = {
        "vanished": ("{n} that consumers had already been given {is} gone", lost == 0),
        "duplicate": ("{n} {is} in the log more than once", True),
        "phantom": (f"{{n}} {{was}} read that {{was}} never {never}", True),
        "inconsistent-offset": ("{n} {is} not at the offset that was reported", True),
        "unacknowledged-lost": ("{n} that {was} sent without asking for an ack {is} gone", True),
        "diverged": ("{n} {is} not the same on every replica", True),
        "early-read": ("{n} {was} read before every in-sync replica had it", True),
        "skipped": ("{n} {was} committed by the consumer group and never processed", True),
        "reprocessed": ("{n} {was} processed more than once by the consumer group", True),
    }
    parts = []
    for name, (text, of_interest) in words.items():
        judgement = judgements.get(name)
        if judgement is None or not judgement.count or not (of_interest or judgement.convicts):
            continue
        one = judgement.count == 1
        said = text.format(n=_plural(judgement.count, "record"), **_verbs(one))
        promise = (
            "which Kafka promises cannot happen"
            if judgement.convicts
            else ("which this configuration allows")
        )
        parts.append(f"{said[0].upper()}{said[1:]}, {promise}.")
    return parts


def _verbs(one: bool) -> dict[str, str]:
    return {"is": "is", "was": "was"} if one else {"is": "are", "was": "were"}


def _demands(judgements: Mapping[str, Judgement]) -> list[str]:
    return [
        f"The scenario demands {name} {judgement.demand.text}, but {judgement.count:,} "
        f"{'was' if judgement.count == 1 else 'were'} seen."
        for name, judgement in judgements.items()
        if judgement.demand and judgement.demand_met is False
    ]


def _gap_demands(gaps: Mapping[str, Gap | Counted]) -> list[str]:
    what = {"produce-gap-s": "writes", "consume-gap-s": "reads"}
    return [
        f"The scenario demands that {what[name]} stop for {gap.demand.text} s, but the longest "
        f"stop was {gap.longest_s:.1f} s."
        if isinstance(gap, Gap) and name in what
        else f"The scenario demands {name} {gap.demand.text}, but {gap.told()}."
        for name, gap in gaps.items()
        if gap.met is False
    ]


def _stopped(
    kind: str, what: str, windows: Sequence[Mapping[str, Any]], threshold_ms: float | None
) -> str:
    """The longest outage. Without any: below which length all were, or nothing."""
    mine = [window for window in windows if window["kind"] == kind]
    if not mine:
        if threshold_ms is None:
            return ""
        return f"{what} never stopped for {_seconds(threshold_ms / 1000)} or longer."
    longest = max(mine, key=lambda window: float(window["length_s"]))
    length = _seconds(float(longest["length_s"]))
    if longest["end_s"] is None:
        return f"{what} stopped for {length} and had not come back when the load ended."
    return f"{what} stopped for {'' if len(mine) == 1 else 'at most '}{length}."


def _with(facts: Facts) -> str:
    unclean = " and unclean leader election" if facts.unclean else ""
    return f"with acks={facts.acks}{unclean}"


def _records(acked: int) -> str:
    return _plural(acked, "acknowledged record")


def _plural(count: int, one: str) -> str:
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def _seconds(length: float) -> str:
    return f"{length:.1f} s" if length < 100 else f"{length:,.0f} s"


def _and(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
