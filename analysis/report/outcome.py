"""The two labels of a run, and its letters of CAP: what everybody reads first.

    outcome   8 of 10,000 acknowledged records lost           what happened to the data
    verdict   valid: as this configuration promises           what that means here
    CAP       stayed available, lost 8 acknowledged records: AP

The outcome knows no promise: the same loss has the same words whether it is permitted, demanded or
forbidden. `data` is its kind: `lost`; `disturbed`, nothing was lost and something else was seen;
`kept`; `unknown`. The verdict says what broke or, of an unknown run, what is missing.

The letters follow the rule of docs/anomalies.md ("CAP"): A is measured (analysis.measures.cap), C
is that nothing was seen that is lost, vanished or inconsistent. Each is judged by itself; null is
not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.anomalies import ANOMALIES
from analysis.measures.cap import Availability
from analysis.report.wording import count_of
from analysis.verdict.judge import Judgement, Verdict
from harness.model.runs.report import Cap, Outcome

LABELS = {(True, True): "CA", (True, False): "AP", (False, True): "CP"}
GONE = ("vanished", "unacknowledged-lost")  # besides what is lost
INCONSISTENT = {
    "lost": "lost {n} acknowledged record{s}",
    "vanished": "{n} record{s} vanished",
    "inconsistent-offset": "{n} record{s} not at the offset that was reported",
}


def outcome(judgements: Mapping[str, Judgement], doubts: Sequence[str], acked: int) -> Outcome:
    """What happened to the data, whatever that means here."""
    lost, others = judgements["lost"], dict(_others(judgements))
    words = ", ".join(others.values())
    if _seen(lost):
        data = f"{lost.count:,} of {count_of(acked, 'acknowledged record')} lost"
        return Outcome(data="lost", words=f"{data}, {words}" if words else data)
    if doubts or lost.suspended is not None:
        data = "not known whether data was lost"
        return Outcome(data="unknown", words=f"{data}, {words}" if words else data)
    data = "no acknowledged record lost" if acked else "nothing was acknowledged"
    if not others:
        return Outcome(data="kept", words=data)
    gone = any(name in others for name in GONE)
    return Outcome(data="lost" if gone else "disturbed", words=f"{data}, {words}")


def _others(judgements: Mapping[str, Judgement]) -> Iterator[tuple[str, str]]:
    """What else a headline tells, in one noun each."""
    for anomaly in ANOMALIES:
        judgement = judgements.get(anomaly.name)
        if judgement is None or anomaly.headline is None or not _seen(judgement):
            continue
        if anomaly.unless_seen is None or not judgements[anomaly.unless_seen].count:
            yield anomaly.name, count_of(judgement.count, anomaly.noun)


def verdict_words(verdict: Verdict, data: str, *, demanded: bool) -> str:
    """What the verdict says: that all is as it should be, what broke, or what is missing. `data` is
    the outcome's kind: what was lost or disturbed is not promised, it is allowed."""
    if verdict.name == "valid" and data in ("lost", "disturbed"):
        return (
            "this configuration allows that" + ", and what the scenario expects was seen" * demanded
        )
    if verdict.name == "valid":
        return "as this configuration promises" + " and this scenario expects" * demanded
    more = len(verdict.reasons) - 1
    return verdict.reasons[0] + (f", and {more} more" if more else "")


def cap(
    verdict: Verdict,
    judgements: Mapping[str, Judgement],
    doubts: Sequence[str],
    available: Availability,
) -> Cap:
    """The letters, each by itself, and both in words; without words where there is nothing to tell:
    an unknown run, or one without faults."""
    if verdict.name == "unknown":
        return Cap(available=None, consistent=None, label="", words="")
    if doubts:  # it is invalid all the same
        available = Availability(value=None)
    known = [name for name in INCONSISTENT if name in judgements]
    seen = next((name for name in known if _seen(judgements[name])), None)
    uncertain = bool(doubts) or any(judgements[name].suspended for name in known)
    consistent = False if seen else None if uncertain else True
    gone = _gone(seen, judgements[seen].count) if seen else "nothing lost"
    return Cap(
        available=available.value,
        consistent=consistent,
        label=_label(available.value, consistent),
        words=_cap_words(available, consistent, gone),
    )


def _label(available: bool | None, consistent: bool | None) -> str:
    if available is None or consistent is None:
        return ""
    return LABELS.get((available, consistent), "")


def _cap_words(available: Availability, consistent: bool | None, gone: str) -> str:
    if available.value is None or consistent is None:
        return f"cannot be told: {available.words}" if available.words else ""
    label = _label(available.value, consistent) or "neither A nor C"
    first, second = (available.words, gone) if available.value else (gone, available.words)
    return f"{first}, {second}: {label}"


def _gone(anomaly: str, count: int) -> str:
    return INCONSISTENT[anomaly].format(n=f"{count:,}", s="" if count == 1 else "s")


def _seen(judgement: Judgement) -> bool:
    """Whether it is certain that there are some."""
    return judgement.count > 0 and judgement.suspended is None
