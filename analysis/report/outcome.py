"""The two labels of a run, and its letters of CAP: what everybody reads first.

    outcome   8 of 10,000 acknowledged records lost           what happened to the data
    verdict   valid: as this configuration promises           what that means here
    CAP       available after a gap of 3.1 s, lost 8 acknowledged records

The outcome knows no promise: the same loss has the same words whether it is permitted, demanded or
forbidden. Where sends are undelivered it begins with what was tried. `data` is its kind: `lost`;
`disturbed`, nothing was lost and something else was seen; `undelivered`, neither, and sends are not
in the log; `kept`; `unknown`. The verdict says what broke or, of an unknown run, what is missing.

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
from analysis.verdict.untested import sends_unknown
from harness.model.runs.report import Cap, Outcome
from harness.model.runs.report_findings import SendError

LABELS = {(True, True): "CA", (True, False): "AP", (False, True): "CP"}
GONE = ("vanished", "unacknowledged-lost")  # besides what is lost
TIMED_OUT = "_MSG_TIMED_OUT"
ERROR_WORDS = {  # errors of librdkafka's; others by their names
    TIMED_OUT: "timed out",
    "_QUEUE_FULL": "the client's queue was full",
    "_PURGE_QUEUE": "given up by the client",
    "_PURGE_INFLIGHT": "given up by the client",
    "_TRANSPORT": "the connection broke",
    "_UNKNOWN_TOPIC": "the topic was not known",
    "_UNKNOWN_PARTITION": "the partition was not known",
    "_FATAL": "after the client's fatal error",
    "MSG_SIZE_TOO_LARGE": "too large",
    None: "without an answer",
}
ERRORS_MAX = 3  # that are named
INCONSISTENT = {
    "lost": "lost {n} acknowledged record{s}",
    "vanished": "{n} record{s} vanished",
    "inconsistent-offset": "{n} record{s} not at the offset that was reported",
}


def tried_words(counts: Mapping[str, int], errors: Sequence[SendError], timeout_ms: float) -> str:
    """`1,595 of 4,035 sends acknowledged; 2,440 failed (timed out after 120 s), 0 of these are in
    the log`; empty where none is known to be undelivered. `timeout_ms`: of a send."""
    if not counts["undelivered"]:
        return ""
    failed = counts["failed"] - counts["aborted"] + counts["indeterminate"]
    landed = counts["failed_landed"] + counts["indeterminate_landed"]
    unknown = sends_unknown(counts)
    why = _error_words(errors, timeout_ms)
    return (
        f"{counts['acked']:,} of {count_of(counts['sends'], 'send')} acknowledged; {failed:,} "
        f"failed{f' ({why})' if why else ''}, {landed:,} of these "
        f"{'is' if landed == 1 else 'are'} in the log"
        + (f" and of {unknown:,} that is not known" if unknown else "")
    )


def _error_words(errors: Sequence[SendError], timeout_ms: float) -> str:
    """The most frequent errors, with their numbers where there are several."""
    named = [(_error(row.error, timeout_ms), row.sends) for row in errors[:ERRORS_MAX]]
    if len(errors) == 1:
        return named[0][0]
    more = sum(row.sends for row in errors[ERRORS_MAX:])
    words = [f"{sends:,} {name}" for name, sends in named]
    return ", ".join([*words, *([f"{more:,} with other errors"] if more else [])])


def _error(name: str | None, timeout_ms: float) -> str:
    if name == TIMED_OUT and timeout_ms:
        return f"timed out after {timeout_ms / 1000:g} s"
    return ERROR_WORDS.get(name, str(name))


def outcome(
    judgements: Mapping[str, Judgement], doubts: Sequence[str], acked: int, tried: str = ""
) -> Outcome:
    """What happened to the data, whatever that means here; `tried`: see tried_words."""
    lost, others = judgements["lost"], dict(_others(judgements))
    if _seen(lost):
        kind = "lost"
        data = f"{lost.count:,} of {count_of(acked, 'acknowledged record')} lost"
    elif doubts or lost.suspended is not None:
        kind, data = "unknown", "not known whether data was lost"
    else:
        none = "none of the acknowledged is lost" if tried else "no acknowledged record lost"
        data = none if acked else "nothing was acknowledged"
        gone = any(name in others for name in GONE)
        quiet = "undelivered" if tried else "kept"
        kind = "lost" if gone else "disturbed" if others else quiet
    words = ", ".join([data, *others.values()])
    return Outcome.model_validate({"data": kind, "words": f"{tried}; {words}" if tried else words})


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
    the outcome's kind: what was lost, disturbed or undelivered is not promised, it is allowed."""
    if verdict.name == "valid" and data in ("lost", "disturbed", "undelivered"):
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
    first, second = (available.words, gone) if available.value else (gone, available.words)
    return f"{first}, {second}"


def _gone(anomaly: str, count: int) -> str:
    return INCONSISTENT[anomaly].format(n=f"{count:,}", s="" if count == 1 else "s")


def _seen(judgement: Judgement) -> bool:
    """Whether it is certain that there are some."""
    return judgement.count > 0 and judgement.suspended is None
