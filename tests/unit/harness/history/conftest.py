"""What the tests of histories share: a run without a history yet."""

from pathlib import Path

import pytest

from harness.model.runs.run_folder import RunFolder
from tests.support.recorded_runs import RUN_ID
from tests.support.run_records import run_record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with a history in which nothing happened yet."""
    folder = tmp_path / RUN_ID
    (folder / "history").mkdir(parents=True)
    (folder / "history/views.jsonl").touch()
    RunFolder(path=folder).write(run_record(run_id=RUN_ID))
    return folder
