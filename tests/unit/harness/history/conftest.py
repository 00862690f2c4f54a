"""What the tests of histories share: a run without a history yet."""

from pathlib import Path

import pytest

from tests.support.recorded_runs import RUN_ID, new_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with a history in which nothing happened yet."""
    return new_run(tmp_path / RUN_ID)
