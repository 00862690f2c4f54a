"""Spark clusters and stores: nothing here starts a run."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_trace_is_left() -> None:
    """Rules and links of this host are those of the pods that are tested at the same time."""
