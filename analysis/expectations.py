"""What a scenario demands: `lost = ">= 1"`, `duplicate = "0"`, `unseen = "<= 10"`.

A demand is on top of the promises: it can convict a run, never excuse one. A bare number means
exactly that many. In a run of which not everything is known, counts can only grow with more
knowledge, so a demand is met or broken only if no further anomaly could change that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

ANOMALIES = (
    "lost",
    "vanished",
    "unseen",
    "duplicate",
    "phantom",
    "inconsistent-offset",
    "stale-read",
    "skipped",
    "reprocessed",
    "unacknowledged-lost",
    "diverged",
)
OF_GROUPS = frozenset({"skipped", "reprocessed"})  # judged only where a consumer group is at work
_FORM = re.compile(r"\s*(>=|<=|==|=|>|<)?\s*(\d+)\s*")


class ExpectationError(ValueError):
    """A demand that cannot be understood: one sentence with key and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many of an anomaly a scenario wants to see, from `least` to `most` (None: no limit)."""

    text: str
    least: int
    most: int | None

    def met(self, count: int, *, known: bool) -> bool | None:
        """Whether `count` meets it; None while it could still turn either way. `known`: nothing
        is left to find."""
        if self.most is not None and count > self.most:
            return False
        if known:
            return count >= self.least
        return True if count >= self.least and self.most is None else None


def parse(expect: Mapping[str, str]) -> dict[str, Demand]:
    """Anomaly -> demand. Raises ExpectationError."""
    return {name: _demand(name, text) for name, text in expect.items()}


def _demand(name: str, text: str) -> Demand:
    if name not in ANOMALIES:
        near = get_close_matches(name, ANOMALIES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(ANOMALIES)}"
        raise ExpectationError(f"expect.{name}: no such anomaly; {hint}")
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ExpectationError(f'expect.{name}: {text!r} is no demand; write ">= 1" or "0"')
    sign, number = match[1] or "=", int(match[2])
    least, most = {
        ">=": (number, None),
        ">": (number + 1, None),
        "<=": (0, number),
        "<": (0, number - 1),
    }.get(sign, (number, number))
    return Demand(text=str(text), least=least, most=most)
