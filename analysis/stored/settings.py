"""Settings as a stored run has them: numbers, or texts of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]  # by Kafka's names


def nanoseconds(settings: Settings, key: str, default_ms: int) -> int:
    """A length of time that is set in milliseconds."""
    return int(float(settings.get(key, default_ms)) * 1e6)
