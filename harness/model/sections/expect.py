"""How a scenario's demands are written, and by which runs they can be judged.

analysis.verdict.demands says what they mean, and that an anomaly's name is a demand too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# demand -> kind of window
GAPS = {
    "produce-gap-s": "produce",
    "consume-gap-s": "consume",
    "process-gap-s": "process",
    "output-gap-s": "output",
}
# demand -> the field of report.json's `replication.isr` that it is about
ISR_TIMES = {"isr-leave-s": "leave_after_s", "isr-return-s": "return_after_s"}
# demand -> the field that it is about: of report.json's `counts`, `replication` or `rebalances`, or
# `misplaced`
COUNTS = {
    "acked-isr-alone": "acked_isr_alone",
    "redeliveries": "redeliveries",
    "undelivered": "undelivered",
    "expired-unread": "expired_unread",
    "expelled-owners": "expelled",
    "kept-past-log-end": "kept_past_log_end",
    "lost-within-log-end": "lost_within_log_end",
    "misplaced-replicas": "misplaced",
    "unordered-ends": "unordered_ends",
}
ALONE = "acked-isr-alone"
SAMPLED = ("kept-past-log-end", "lost-within-log-end")  # of these, what samples tell
QUANTILES = ("ack-p99-ms", "delivery-p99-ms", "through-p99-ms")
SHARES = ("error-share",)
OF_READERS = ("redeliveries", "delivery-p99-ms")
OF_PROGRAMS = ("unordered-ends",)
OF_OUTPUTS = ("strange-output", "not-passed", "output-gap-s", "through-p99-ms")
OF_GROUPS = ("process-gap-s", "expelled-owners", "expired-unread")
WITHOUT_ACKS = {  # demand -> what nobody knows then
    "produce-gap-s": "nobody knows when writes stopped",
    "consume-gap-s": "nobody knows what there was to read",
    "process-gap-s": "nobody knows what there was to process",
    "output-gap-s": "nobody knows which inputs there were",
    "acked-isr-alone": "nothing is acknowledged",
    "ack-p99-ms": "nothing is acknowledged",
    "error-share": "nobody knows which sends failed",
    "undelivered": "nobody knows which sends arrived",
    "expired-unread": "nothing is acknowledged",
}
OTHERS = (*GAPS, *ISR_TIMES, *COUNTS, *QUANTILES, *SHARES)  # than anomalies
_SIGNS = {  # the longer ones first
    ">=": "at least ",
    "<=": "at most ",
    "==": "",
    ">": "more than ",
    "<": "less than ",
    "=": "",
}
FORM = re.compile(r"\s*(>=|<=|==|=|>|<)?\s*(\d+)\s*(%)?\s*")
_NUMBER = r"\d+(?:\.\d+)?"
_RANGE = (
    rf"\s*(?:(?P<sign>>=|<=)\s*(?P<limit>{_NUMBER})|(?P<least>{_NUMBER}) to (?P<most>{_NUMBER}))\s*"
)
_BETWEEN = re.compile(r"\s*(\S+) to (\S+?)(\s*%)?\s*")  # whatever numbers are
LENGTH = re.compile(_RANGE)
SHARE = re.compile(rf"{_RANGE}%\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How demands of one kind are written."""

    pattern: re.Pattern[str]
    noun: str
    examples: tuple[str, ...]


COUNTED = Form(pattern=FORM, noun="a demand", examples=("0", ">= 1", "<= 3"))
_SECONDS = Form(pattern=LENGTH, noun="a demand in seconds", examples=(">= 8", "<= 2", "1.5 to 4"))
_MS = Form(pattern=LENGTH, noun="a demand in ms", examples=("<= 500", ">= 20", "5 to 100"))
_PERCENT = Form(pattern=SHARE, noun="a demand in %", examples=("<= 1 %", ">= 0.5 %", "1 to 5 %"))


def form_of(demand: str) -> Form:
    """How a demand is written."""
    if demand in GAPS or demand in ISR_TIMES:
        return _SECONDS
    if demand in QUANTILES:
        return _MS
    return _PERCENT if demand in SHARES else COUNTED


def amount_words(demand: str) -> str:
    """`at least 1` of `>= 1`, `at most 2`, `0`, `1.5 to 4`."""
    text = demand.strip()
    sign = next((sign for sign in _SIGNS if text.startswith(sign)), "")
    return f"{_SIGNS.get(sign, '')}{text.removeprefix(sign).strip()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What of a run was looked at: whether a consumer follows the log, whether a group shares it
    and its members told of generations that they have in common, whether the replicas are
    sampled, whether Kafka placed them, and it is known where."""

    tailing: bool
    grouped: bool
    generations: bool
    watched: bool
    placed: bool
    programs: bool = False
    outputs: bool = False  # of programs


def unjudged(demands: Iterable[str], acks: str, looks: Looks) -> list[tuple[str, str]]:
    """The demands other than anomalies that such a run cannot be judged by, each with the
    reason."""
    reasons = ((name, _unjudged(name, acks, looks)) for name in demands)
    return [(name, why) for name, why in reasons if why]


def _unjudged(name: str, acks: str, looks: Looks) -> str | None:
    if acks == "0" and name in WITHOUT_ACKS:
        return f"with acks=0 {WITHOUT_ACKS[name]}"
    if name == "consume-gap-s" and not looks.tailing:
        return "no consumer follows the log (workload.consumers is 0)"
    if name in OF_GROUPS and (why := _unjudged_of_group(name, looks)):
        return why
    if name in OF_READERS and not (looks.tailing or looks.grouped):
        return (
            "nobody reads (workload.consumers, workload.group_consumers and workload.transformers "
            "are 0)"
        )
    return _unjudged_of_others(name, looks)


def _unjudged_of_others(name: str, looks: Looks) -> str | None:
    if name in OF_PROGRAMS and not looks.programs:
        return "there is no program ([[programs]])"
    if name in OF_OUTPUTS and not looks.outputs:
        return "nobody makes outputs ([outputs])"
    if (name in ISR_TIMES or name in SAMPLED) and not looks.watched:
        return "judged only where `check.watermarks` is set"
    if name == "misplaced-replicas" and not looks.placed:
        where = 'where Kafka places them (topic.placement = "kafka")'
        return f"judged only {where}, in own clusters with ZooKeeper"
    return None


def _unjudged_of_group(name: str, looks: Looks) -> str | None:
    if not looks.grouped:
        return (
            "there is no consumer group (workload.group_consumers and workload.transformers are 0)"
        )
    if name == "expelled-owners" and not looks.generations:
        return (
            "judged only where members are of one generation (classic protocol, none static), in "
            "histories of format 2"
        )
    return None


def split_demands(expect: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The demands that stay with a user's own clients, and those that are only shown.

    A scenario's `lost = ">= 1"` describes its own configuration. Once a file replaces a key of it,
    a demand that something must happen is shown, and not judged; upper limits stay:

        lost = ">= 1"                 shown
        duplicate = "3"               shown
        produce-gap-s = "8 to 12"     "<= 12" is judged, ">= 8" is shown
        lost = "0"                    judged
        isr-leave-s = "<= 5"          shown: each such demand wants a follower to leave
    """
    stay, shown = dict[str, str](), dict[str, str]()
    for name, demand in expect.items():
        upper, lower = (None, demand) if name in ISR_TIMES else _ends(str(demand))
        if upper is not None:
            stay[name] = upper
        if lower is not None:
            shown[name] = lower
    return stay, shown


def _ends(demand: str) -> tuple[str | None, str | None]:
    """The upper limit of a demand, and its part that something must happen."""
    if limits := _BETWEEN.fullmatch(demand):
        unit = limits[3] or ""
        return f"<= {limits[2]}{unit}", f">= {limits[1]}{unit}"
    plain = demand.strip().lstrip("= ") if not demand.strip().startswith((">", "<")) else ""
    if demand.strip().startswith("<") or plain == "0":
        return demand, None
    return None, demand
