"""What a scenario demands: `lost = ">= 1"`, `duplicate = "0"`, `lost = "> 50 %"` of the acked.

How long writes or reads stood still can be demanded as well, in seconds, of the longest window
(analysis.checks.unavailability): `produce-gap-s = ">= 8"`, `consume-gap-s = "<= 2"`; of a consumer
group how long it processed nothing, `process-gap-s = "<= 5"`.
So can the times in which followers leave the ISR and are back (analysis.measures.replication),
of each of them: `isr-leave-s = "1.9 to 5"`. Other counts: `acked-isr-alone = "0"`, what was
acknowledged while the leader was alone in its ISR; `redeliveries = "0"`; `expelled-owners = "0"`,
how often a member went on with a partition that another one had been given in a newer generation
(analysis.measures.rebalances); `kept-past-log-end = "0"` and `lost-within-log-end = "0"`, whether
exactly that was lost which a new leader did not have (analysis.frames.elections);
`misplaced-replicas = "0"`, whether each replica was where Kafka's rule puts it when the load began
(analysis.causes.run_facts.placement). That no record was acknowledged alone is known only where
each ack arrived while somebody saw the ISR (analysis.measures.leadership). And levels:
`ack-p99-ms = "<= 500"` and `delivery-p99-ms = "<= 1000"`, the latencies of the report
(analysis.measures.latency_and_rates), and `error-share = "<= 1 %"`, how many of all sends failed or
ended in doubt; what clients aborted on purpose did not.

A demand is on top of the promises: it can convict a run, never excuse one. A bare number means
exactly that many. In a run of which not everything is known, counts can only grow with more
knowledge, so a demand is met or broken only if no further anomaly could change that. A level can go
either way, so there it is neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from analysis.anomalies import BY_NAME, NAMES
from harness.model.sections.expect import COUNTED, OTHERS, Form, amount_words, form_of

DEMANDS = (*NAMES, *OTHERS)


def level_words(seen: float | None, unit: str) -> str:
    """A latency or a share as reports tell it: what is above 0 is never told as 0."""
    if seen is None:
        return "none"
    text = f"{seen:,.2f}" if seen == 0 or seen >= 0.01 else f"{seen:.7f}"
    return f"{text.rstrip('0').rstrip('.')} {unit}"


class DemandError(ValueError):
    """A demand that cannot be understood: one sentence with key and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many of an anomaly, or how long a gap or time, a scenario wants to see: from `least` to
    `most` (None: no limit)."""

    text: str
    least: float
    most: float | None

    @property
    def amount(self) -> str:
        """How much it asks for, in words."""
        return amount_words(self.text)

    def met(self, count: float, *, known: bool) -> bool | None:
        """Whether `count` meets it; None while it could still turn either way. `known`: nothing
        is left to find."""
        if self.most is not None and count > self.most:
            return False
        if known:
            return count >= self.least
        return True if count >= self.least and self.most is None else None


def demanded_words(anomaly: str, demand: Demand) -> str:
    """`at least 1 lost record`, `0 lost records`."""
    one = demand.amount.rpartition(" ")[2] == "1"
    return f"{demand.amount} {BY_NAME[anomaly].noun}{'' if one else 's'}"


def parse(expect: Mapping[str, str], acked: int = 0) -> dict[str, Demand]:
    """Anomaly -> demand; percentages are of the `acked` records. Raises DemandError."""
    return {name: _demand(name, text, acked) for name, text in expect.items()}


def _demand(name: str, text: str, acked: int) -> Demand:
    if name not in DEMANDS:
        near = get_close_matches(name, DEMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(DEMANDS)}"
        raise DemandError(f"expect.{name}: no such anomaly; {hint}")
    form = form_of(name)
    if form is not COUNTED:
        return _range(name, str(text), form)
    match = COUNTED.pattern.fullmatch(str(text))
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


def _range(name: str, text: str, form: Form) -> Demand:
    """A demand on a length or a level: at least, at most, or between."""
    match = form.pattern.fullmatch(text)
    if match is None:
        one, other, last = (f'"{example}"' for example in form.examples)
        raise DemandError(
            f"expect.{name}: {text!r} is not {form.noun}; write {one}, {other} or {last}"
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
