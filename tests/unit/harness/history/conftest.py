"""What the tests of histories share: a run without a history yet."""

import json
from pathlib import Path

import pytest

from tests.support.recorded_runs import RUN_ID


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with an empty history."""
    folder = tmp_path / RUN_ID
    (folder / "history").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"schema": 1, "run_id": RUN_ID, "workers": []}))
    return folder
