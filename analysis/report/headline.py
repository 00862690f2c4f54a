"""The verdict in plain English, for somebody who decides and does not operate Kafka.

    Data was lost: 3 of 10,000 acknowledged records are gone after the leader was killed 10 times;
    with acks=1 Kafka allows this. Writes stopped for at most 2.4 s.

What broke comes first: promises, then demands. Then what happened to the data, other anomalies
that matter, and how long nothing could be written or read. What is not known is never good news.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.anomalies import ANOMALIES
from analysis.causes.run_facts.configuration import Facts
from analysis.report.judged import Judged
from analysis.report.wording import count_of
from analysis.stored.table_rows import Fault
from analysis.verdict.demands import demanded_words
from analysis.verdict.judge import Counted, Gap, Judgement, Level
from harness.model.plan import Telling
from harness.model.runs.report_course import Window
from harness.model.untold import BEGINS, FAULTS


def sentence(
    judged: Judged,
    *,
    acked: int,
    faults: Sequence[Fault],
    plan: Sequence[Mapping[str, Any]],
    threshold_ms: float,
) -> str:
    """The whole text: two to five short sentences."""
    judgements, facts, reasons = judged.judgements, judged.facts, judged.verdict.reasons
    lost = judgements["lost"]
    after = "" if FAULTS in facts.untold else _after(faults, plan)
    data = _data(judged, acked, after)
    timed = acked and BEGINS not in facts.untold
    parts = [
        data if lost.convicts else "",
        *_others(judgements, facts, broken=True),
        *_demands(judgements),
        *_gap_demands({**judged.gaps, **judged.numbers, **judged.levels}),
        "" if lost.convicts else data,
        _deleted(judged) if lost.count or not judged.unclear else "",
        _superseded(judged) if lost.count or not judged.unclear else "",
        *_others(judgements, facts, broken=False),
        _stopped("produce", "Writes", judged.windows, threshold_ms) if timed else "",
        _stopped("consume", "Reads", judged.windows, None),
        _stopped("process", "The consumer group", judged.windows, None),
        _stopped("output", "Outputs", judged.windows, None),
    ]
    is_lost = lost.count and lost.suspended is None
    if judged.verdict.name == "unknown" and (is_lost or not judged.unclear):
        parts.append(f"Whether all promises were kept is unknown: {reasons[0]}.")
    if judged.without_digests:
        parts.append(
            "The history was sealed without digests of its tables, so they could not be held "
            "against what was sealed."
        )
    if judged.defaults_of:
        parts.append(_defaults(judged))
    return " ".join(part for part in parts if part)


def faults_words(faults: Sequence[Fault], plan: Sequence[Mapping[str, Any]]) -> str:
    """`the leader was killed 10 times and a follower was paused`, in the words of the plan's
    steps (of those that it carries out); empty without faults."""
    tellings = {step["step"]: Telling(**step["telling"]) for step in plan if step.get("telling")}
    as_planned = {(step["step"], step.get("verb"), step.get("target")) for step in plan}
    hit = Counter(
        (tellings.get(fault["step"]) if _named(fault) in as_planned else None) or _by_verb(fault)
        for fault in faults
        if fault["nodes"]
    )
    return _and([_fault(telling, times) for telling, times in hit.items() if telling.done])


def _named(fault: Fault) -> tuple[Any, ...]:
    return fault["step"], fault["verb"], fault["target"]


def _after(faults: Sequence[Fault], plan: Sequence[Mapping[str, Any]]) -> str:
    """After which faults the data was read, as the end of a sentence."""
    if words := faults_words(faults, plan):
        return f" after {words}"
    hit = any(fault["nodes"] for fault in faults)  # by a step that only observes
    return f", and no fault {'disturbed the cluster' if hit else 'was injected'}"


def _by_verb(fault: Fault) -> Telling:
    """A fault for which the plan has no words."""
    return Telling(done=f"hit by {fault['verb']}", who=str(fault["target"]))


def _fault(telling: Telling, times: int) -> str:
    often = {1: "", 2: " twice"}.get(times, f" {times:,} times")
    return f"{telling.who} {'were' if telling.many else 'was'} {telling.done}{often}"


def _data(judged: Judged, acked: int, after: str) -> str:
    """What happened to the data, behind what was tried where sends are undelivered."""
    data = _of_acknowledged(judged, acked, after)
    return f"{judged.tried}. {data}" if judged.tried else data


def _of_acknowledged(judged: Judged, acked: int, after: str) -> str:
    lost, superseded = judged.judgements["lost"], judged.counts.get("superseded", 0)
    deleted = judged.deleted + superseded
    if lost.count and lost.suspended is None:
        are = "is" if lost.count == 1 else "are"
        return (
            f"Data was lost: {lost.count:,} of {_records(acked)} {are} gone{after}; "
            f"{_of_loss(lost, judged.facts)}."
        )
    if judged.unclear:
        return f"It is not known whether data was lost: {judged.unclear[0]}."
    if not acked:  # acks=0, and what was sent did arrive
        return f"Nothing was acknowledged, so no acknowledged data can be lost{after}."
    every = "the only acknowledged record was" if acked == 1 else f"all {_records(acked)} were"
    if deleted:
        were = "was" if acked - deleted == 1 else "were"
        every = f"{acked - deleted:,} of {_records(acked)} {were}"
    vanished = judged.judgements.get("vanished")
    gone = vanished is not None and vanished.count and vanished.suspended is None
    data = "No acknowledged data" if gone or judged.tried else "No data"
    return f"{data} was lost: {every} read back{after}."


def _deleted(judged: Judged) -> str:
    records, unread = judged.deleted, judged.counts.get("expired_unread", 0)
    if not records:
        return ""
    lie = "lies" if records == 1 else "lie"
    below = f"{_records(records)} {lie} below the log's start, where records may be deleted."
    if not unread:
        return below
    was = "was" if unread == 1 else "were"
    return (
        f"{below} {unread:,} of these {was} deleted before any member of the consumer group was "
        "given them, and the group has committed past them."
    )


def _superseded(judged: Judged) -> str:
    records = judged.counts.get("superseded", 0)
    if not records:
        return ""
    have, them = ("has", "it") if records == 1 else ("have", "them")
    deletes = ", or delete it" if judged.facts.tombstones else ""
    return (
        f"{_records(records)} {have} a later one of the same key{deletes}, and compaction deleted "
        f"{them}."
    )


def _of_loss(lost: Judgement, facts: Facts) -> str:
    """What the loss means here."""
    if 0 < lost.tally.forbidden < lost.count:
        allows = f"{_with(facts)}Kafka allows this, but " if _allowed_by(facts) else ""
        return f"{allows}{_shares(lost, told=not allows)}"
    if lost.convicts:
        with_acks = "" if "acks" in facts.untold else f"with acks={facts.acks} "
        return f"{with_acks}Kafka promises that this cannot happen"
    if lost.undecided:
        return f"whether Kafka allows this {_with(facts)}is unknown"
    return f"{_with(facts)}Kafka allows this" if _allowed_by(facts) else "what happened permits it"


def _allowed_by(facts: Facts) -> bool:
    """Whether the configuration allows losses; else only what takes what was written may."""
    return facts.acks != "all" or facts.replicas == 1 or facts.unclean or not facts.epochs


def _shares(judgement: Judgement, *, told: bool = False) -> str:
    """How many nothing permits, and of how many others that is not known; with `told` also how many
    what happened permits."""
    tally = judgement.tally
    parts = [f"nothing that happened permits {tally.forbidden:,} of them"]
    if tally.permitted and told:
        parts.insert(0, f"what happened permits {tally.permitted:,} of them")
    if tally.in_doubt:
        parts.append(f"whether anything permits {tally.in_doubt:,} of them is unknown")
    return _and(parts)


_ONE = {"is": "is", "was": "was", "them": "it"}
_MANY = {"is": "are", "was": "were", "them": "them"}


def _others(judgements: Mapping[str, Judgement], facts: Facts, *, broken: bool) -> Iterator[str]:
    """What else was seen, in the words of its checker: what breaks a promise, or what does not."""
    written = "committed" if facts.transactional else "written"
    for anomaly in ANOMALIES:
        judgement = judgements.get(anomaly.name)
        if judgement is None or not judgement.count or anomaly.headline is None:
            continue
        if judgement.suspended is not None or judgement.convicts != broken:
            continue
        implied = anomaly.unless_seen is not None and judgements[anomaly.unless_seen].count
        if implied and not judgement.convicts:
            continue
        number = _ONE if judgement.count == 1 else _MANY
        records = count_of(judgement.count, anomaly.of)
        seen = anomaly.headline.format(n=records, written=written, **number)
        yield f"{seen[0].upper()}{seen[1:]}, {_of_other(judgement)}."


def _of_other(judgement: Judgement) -> str:
    """What it means here."""
    if 0 < judgement.tally.forbidden < judgement.count:
        return f"and {_shares(judgement)}"
    if judgement.convicts:
        return "which Kafka promises cannot happen"
    if judgement.undecided:
        return "and whether this configuration allows that is unknown"
    return "which this configuration allows"


def _defaults(judged: Judged) -> str:
    """Which promises are asked rests on them."""
    idempotent = "idempotent" if judged.facts.idempotent else "not idempotent"
    return (
        f"Settings that nobody told are the defaults of {judged.defaults_of}: producers have "
        f"acks={judged.facts.acks} and are {idempotent}."
    )


def _demands(judgements: Mapping[str, Judgement]) -> list[str]:
    return [
        f"The scenario demands {demanded_words(name, judgement.demand)}, but {judgement.count:,} "
        f"{'was' if judgement.count == 1 else 'were'} seen."
        for name, judgement in judgements.items()
        if judgement.demand and judgement.demand_met is False
    ]


def _gap_demands(gaps: Mapping[str, Gap | Counted | Level]) -> list[str]:
    what = {
        "produce-gap-s": "writes",
        "consume-gap-s": "reads",
        "process-gap-s": "the consumer group",
    }
    return [
        f"The scenario demands that {what[name]} stop for {gap.demand.amount} s, but the longest "
        f"stop was {gap.longest_s:.1f} s."
        if isinstance(gap, Gap) and name in what
        else f"The scenario demands {name} {gap.demand.amount}, but {gap.describe()}."
        for name, gap in gaps.items()
        if gap.met is False
    ]


def _stopped(kind: str, what: str, windows: Sequence[Window], threshold_ms: float | None) -> str:
    """The longest outage. Without any: below which length all were, or nothing."""
    mine = [window for window in windows if window.kind == kind]
    if not mine:
        if threshold_ms is None:
            return ""
        return f"{what} never stopped for {_seconds(threshold_ms / 1000)} or longer."
    longest = max(mine, key=lambda window: float(window.length_s))
    length = _seconds(float(longest.length_s))
    if longest.end_s is None:
        return f"{what} stopped for {length} and had not resumed when the load ended."
    return f"{what} stopped for {'' if len(mine) == 1 else 'at most '}{length}."


def _with(facts: Facts) -> str:
    """The settings on which it depends what may be lost, with a space behind; of those that are
    not told nothing, and nothing where none is."""
    settings = [] if "acks" in facts.untold else [f"acks={facts.acks}"]
    if facts.replicas == 1:
        settings.append("one replica")
    elif facts.unclean:
        settings.append("unclean leader election")
    if facts.replicas > 1 and not facts.epochs:
        settings.append("no leader epochs")
    return f"with {_and(settings)} " if settings else ""


def _records(acked: int) -> str:
    return count_of(acked, "acknowledged record")


def _seconds(length: float) -> str:
    return f"{length:.1f} s" if length < 100 else f"{length:,.0f} s"


def _and(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
