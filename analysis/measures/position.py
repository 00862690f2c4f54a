"""Where a run stood between consistent and available, in a word, by its letters of CAP.

CP kept what it acknowledged and stopped accepting writes until the fault was healed, AP went on and
lost some, *both* went on and lost nothing, *neither* stopped and lost some. The letters themselves
are of what was recorded, and not of the configuration (docs/anomalies.md, "Consistent or
available"); where one is not known, neither is the position.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POSITIONS = ("CP", "AP", "both", "neither", "unknown")
_BY_LETTERS: Mapping[tuple[Any, Any], str] = {
    (False, True): "CP",
    (True, False): "AP",
    (True, True): "both",  # CA in a report
    (False, False): "neither",
}


def position_of(cap: Mapping[str, Any]) -> str:
    """One of POSITIONS, by the `cap` of a report."""
    letters = cap.get("available"), cap.get("consistent")
    known = all(isinstance(letter, bool) for letter in letters)
    return _BY_LETTERS[letters] if known else "unknown"
