"""What of a campaign is still ahead, and what its runs found so far, in one line each.

    run 12 of 320, about 2 h 40 min to go: failover-hard/acks=1, local
    so far: 3 of 12 lost records, 5 have duplicates, 1 invalid, 0 unknown

The time left is what the runs to come are expected to take, by how much longer or shorter than
expected those of this sitting took.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from harness.model.scenario import Scenario
from harness.scenario.expected_length import expected_s, in_words


class Outlook:
    """Runs to be made, one after the other."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._expected_s = list(map(expected_s, scenarios))
        self._done = 0
        self._began_s = time.monotonic()
        self._found = Counter[str]()

    def before(self, what: str) -> str:
        """As a run begins."""
        left = in_words(self.left_s(time.monotonic() - self._began_s))
        return f"run {self._done + 1} of {len(self._expected_s)}, about {left} to go: {what}"

    def left_s(self, took_s: float) -> float:
        """How long all that are not done will take, where those that are took so long."""
        expected_s = sum(self._expected_s[: self._done])
        pace = took_s / expected_s if self._done else 1.0
        return pace * sum(self._expected_s[self._done :])

    def after(self, line: Mapping[str, Any]) -> str:
        """As a run has ended, with its line in the ledger."""
        self._done += 1
        anomalies = line.get("anomalies", {})
        self._found["lost"] += anomalies.get("lost", 0) > 0
        self._found["duplicate"] += anomalies.get("duplicate", 0) > 0
        self._found[str(line.get("verdict", "without a verdict"))] += 1
        found = self._found
        others = [f"{found[end]} {end}" for end in ("invalid", "unknown", "without a verdict")]
        return (
            f"so far: {found['lost']} of {self._done} lost records, {found['duplicate']} have "
            f"duplicates, {', '.join(others)}"
        )
