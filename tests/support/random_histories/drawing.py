"""Random histories: any operations at all (chaos), and histories with planted anomalies.

400 of each; the variable HISTORIES asks for another number, ORACLE_SEED for others:

    HISTORIES=10000 ORACLE_SEED=2 python -m pytest tests/unit/analysis/test_oracle.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")
HISTORIES = int(os.environ.get("HISTORIES", "400"))
SEED = int(os.environ.get("ORACLE_SEED", "0"))  # 0: those of every test run
SEEDS = range(SEED * 10**6, SEED * 10**6 + HISTORIES)  # of histories that Python alone draws


_DRAWN: dict[Any, list[Any]] = {}  # by sort: several tests ask of the same ones, and change none


def drawn(sort: Callable[[], st.SearchStrategy[T]]) -> list[T]:
    """Many histories, the same in every test run unless others are asked for."""
    if sort not in _DRAWN:
        _DRAWN[sort] = _draw(sort())
    return _DRAWN[sort]


def _draw(strategy: st.SearchStrategy[T]) -> list[T]:
    cases: list[T] = []

    @settings(
        max_examples=HISTORIES,
        database=None,
        derandomize=not SEED,
        phases=(Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow],  # a matter of the host
    )
    @given(strategy)
    def draw(case: T) -> None:
        cases.append(case)

    (seed(SEED)(draw) if SEED else draw)()
    return cases
