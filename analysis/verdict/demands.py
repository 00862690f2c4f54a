"""What a scenario demands: `lost = ">= 1"`, `duplicate = "0"`, `lost = "> 50 %"` of the acked.

How long writes or reads stood still can be demanded as well, in seconds, of the longest window
(analysis.checks.availability): `produce-gap-s = ">= 8"`, `consume-gap-s = "<= 2"`.
So can the times in which followers leave the ISR and are back (analysis.measures.replication),
of each of them: `isr-leave-s = "1.9 to 5"`. Other counts: `acked-isr-alone = "0"`, what was
acknowledged while the leader was alone in its ISR; `kept-past-log-end = "0"` and
`lost-within-log-end = "0"`, whether exactly that was lost which a new leader did not have
(analysis.frames.elections).

A demand is on top of the promises: it can convict a run, never excuse one. A bare number means
exactly that many. In a run of which not everything is known, counts can only grow with more
knowledge, so a demand is met or broken only if no further anomaly could change that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from analysis.anomalies import NAMES

GAPS = {"produce-gap-s": "produce", "consume-gap-s": "consume"}  # demand -> kind of window
# demand -> the field of report.json's `replication.isr` that it is about
ISR_TIMES = {"isr-leave-s": "leave_after_s", "isr-return-s": "return_after_s"}
# demand -> the field of report.json's `counts` or `replication` that it is about
COUNTS = {
    "acked-isr-alone": "acked_isr_alone",
    "kept-past-log-end": "kept_past_log_end",
    "lost-within-log-end": "lost_within_log_end",
}
SAMPLED = ("kept-past-log-end", "lost-within-log-end")  # of these, what samples tell
DEMANDS = (*NAMES, *GAPS, *ISR_TIMES, *COUNTS)
FORM = re.compile(r"\s*(>=|<=|==|=|>|<)?\s*(\d+)\s*(%)?\s*")
_SECONDS = r"\d+(?:\.\d+)?"
LENGTH = re.compile(
    rf"\s*(?:(?P<sign>>=|<=)\s*(?P<limit>{_SECONDS})|(?P<least>{_SECONDS}) to "
    rf"(?P<most>{_SECONDS}))\s*"
)


class DemandError(ValueError):
    """A demand that cannot be understood: one sentence with key and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many of an anomaly, or how long a gap or time, a scenario wants to see: from `least` to
    `most` (None: no limit)."""

    text: str
    least: float
    most: float | None

    def met(self, count: float, *, known: bool) -> bool | None:
        """Whether `count` meets it; None while it could still turn either way. `known`: nothing
        is left to find."""
        if self.most is not None and count > self.most:
            return False
        if known:
            return count >= self.least
        return True if count >= self.least and self.most is None else None


def parse(expect: Mapping[str, str], acked: int = 0) -> dict[str, Demand]:
    """Anomaly -> demand; percentages are of the `acked` records. Raises DemandError."""
    return {name: _demand(name, text, acked) for name, text in expect.items()}


def unjudged(demands: Iterable[str], acks: str, *, tailing: bool, watched: bool) -> str | None:
    """The demand on what is no anomaly that such a run cannot be judged by, why, and the remedy."""
    for name in demands:
        if name in GAPS and GAPS[name] == "produce" and acks == "0":
            return f"{name}: with acks=0 nobody knows when writes stopped; remove this demand"
        if name in GAPS and GAPS[name] == "consume" and not tailing:
            return (
                f"{name}: no consumer follows the log (workload.consumers is 0); remove this demand"
            )
        if (name in ISR_TIMES or name in SAMPLED) and not watched:
            return f"{name}: judged only where `check.watermarks` is set; remove this demand"
        if name in COUNTS and name not in SAMPLED and acks == "0":
            return f"{name}: with acks=0 nothing is acknowledged; remove this demand"
    return None


def _demand(name: str, text: str, acked: int) -> Demand:
    if name not in DEMANDS:
        near = get_close_matches(name, DEMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(DEMANDS)}"
        raise DemandError(f"expect.{name}: no such anomaly; {hint}")
    if name in GAPS or name in ISR_TIMES:
        return _length(name, str(text))
    match = FORM.fullmatch(str(text))
    if match is None:
        raise DemandError(f'expect.{name}: {text!r} is not a demand; write ">= 1" or "0"')
    sign, number = match[1] or "=", int(match[2])
    if match[3]:
        return _share(name, text, sign, number * acked)
    least, most = {
        ">=": (number, None),
        ">": (number + 1, None),
        "<=": (0, number),
        "<": (0, number - 1),
    }.get(sign, (number, number))
    return Demand(text=str(text), least=least, most=most)


def _length(name: str, text: str) -> Demand:
    """A demand on seconds: at least, at most, or between."""
    match = LENGTH.fullmatch(text)
    if match is None:
        raise DemandError(
            f"expect.{name}: {text!r} is not a demand in seconds; "
            'write ">= 8", "<= 2" or "1.5 to 4"'
        )
    if match["sign"] == ">=":
        return Demand(text=text, least=float(match["limit"]), most=None)
    least, most = match["least"] or 0, match["most"] or match["limit"]
    return Demand(text=text, least=float(least), most=float(most))


def _share(name: str, text: str, sign: str, hundredfold: int) -> Demand:
    """A demand on a share: counts are whole, so the nearest one that meets it is the limit."""
    below, above = hundredfold // 100, -(-hundredfold // 100)
    limits = {
        ">=": (above, None),
        ">": (below + 1, None),
        "<=": (0, below),
        "<": (0, above - 1),
    }
    if sign not in limits:
        raise DemandError(f'expect.{name}: {text!r} would have to be met exactly; write "> 50 %"')
    least, most = limits[sign]
    return Demand(text=text, least=least, most=most)
