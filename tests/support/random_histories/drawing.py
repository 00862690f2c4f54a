"""Random histories: any operations at all (chaos), and histories with planted anomalies.

400 of each; the variable HISTORIES asks for another number:

    HISTORIES=10000 python -m pytest tests/unit/analysis/test_oracle.py
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.oracle import Case

HISTORIES = int(os.environ.get("HISTORIES", "400"))


def drawn(strategy: st.SearchStrategy[Case]) -> list[Case]:
    """Many histories, the same in every test run."""
    cases: list[Case] = []

    @settings(
        max_examples=HISTORIES,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow],  # a matter of the host
    )
    @given(strategy)
    def draw(case: Case) -> None:
        cases.append(case)

    draw()
    return cases
