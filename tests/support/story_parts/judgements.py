"""How the checks of stories judge what they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def judged(report: Mapping[str, Any], anomaly: str) -> str:
    """How the only one of an anomaly, or each of it, is judged."""
    words: dict[str, int] = report["anomalies"][anomaly]["judged"]
    (word,) = [word for word, n in words.items() if n]
    return word
