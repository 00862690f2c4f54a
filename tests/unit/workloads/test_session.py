"""A worker's session: when the load is held back."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.history.progress_page import Progress
from tests.support.worker_sessions import PROCESS, session


@pytest.mark.parametrize(
    ("allowed", "sends", "held"),
    [
        (None, 0, False),
        (None, 5, False),
        (0, 0, True),
        (3, 2, False),
        (3, 3, True),
        (3, 4, True),
    ],
)
def test_no_send_begins_beyond_those_that_are_allowed(
    tmp_path: Path, allowed: int | None, sends: int, held: bool
) -> None:
    """None at all, when that is what is allowed."""
    worker = session(tmp_path)
    worker.counts.sends = sends
    Progress.open(tmp_path, PROCESS).allow(allowed)

    assert held == worker.held()
