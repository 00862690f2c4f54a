"""What a screen has left for Spark: the operations of suspects, and which signs it saw of what.

analysis.screens makes it, analysis.checks.rules asks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from analysis.frames.history_frames import History
from analysis.frames.signs import Sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What Spark must still be asked about."""

    history: History  # operations: those of suspects
    signs: frozenset[Sign]  # what was seen
    steps: Callable[[], DataFrame]  # analysis.frames.steps
