"""The part of a history that a screen leaves to Spark: the operations of suspects, and the signs.

analysis.screens makes it, analysis.checks.rules reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from analysis.frames.history_frames import History
from analysis.frames.signs import Sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The part of a history that Spark must still check."""

    history: History  # operations: those of suspects
    signs: frozenset[Sign]  # what was seen
    steps: Callable[[], DataFrame]  # analysis.frames.steps
