"""What cannot be sealed is refused in one sentence that names the file."""

from pathlib import Path

import pytest

from harness.history.record_format import HistoryError
from harness.history.recorder import Recorder
from harness.history.sealing import seal
from tests.support.recorded_runs import record_sends


def refused(run: Path, *words: str) -> None:
    """Sealing stops with one line that holds these words."""
    with pytest.raises(HistoryError) as error:
        seal(run)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_a_file_that_cannot_be_read_is_refused(run: Path) -> None:
    """A folder stands where a segment should be."""
    (run / "history/p.0000.seg").mkdir()

    refused(run, "p.0000.seg", "restore")


def test_a_side_file_that_cannot_be_read_is_refused(run: Path) -> None:
    """A folder stands where the views should be."""
    (run / "history/views.jsonl").unlink()
    (run / "history/views.jsonl").mkdir()

    refused(run, "views.jsonl", "restore")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    """There is no history in it."""
    refused(tmp_path, str(tmp_path), "history")


def test_a_run_json_that_cannot_be_read_is_refused(run: Path) -> None:
    """Without it nobody knows which run this is."""
    (run / "run.json").write_text("{")

    refused(run, "run.json", "restore")


def test_a_foreign_segment_is_refused(run: Path) -> None:
    """Whose operations would these be?"""
    (run / "history/some other.seg").write_bytes(b"")

    refused(run, "some other.seg")


def test_a_living_workers_history_is_refused(run: Path) -> None:
    """It is still writing: what would be sealed is not what it recorded."""
    recorder = Recorder(run / "history", "p")
    refused(run, "p.jsonl", "living")

    recorder.close()
    assert ("p",) == seal(run).processes


def test_a_place_that_cannot_be_written_is_refused(run: Path) -> None:
    """A file stands where the tables go."""
    record_sends(run, sends=1)
    (run / "history/operations").write_text("")

    refused(run, "operations", "cannot be written")


def test_a_spoiled_mark_is_refused(run: Path) -> None:
    """Sealed or not? Nobody can know, and segments may be gone."""
    seal(run)
    (run / "history/sealed.json").write_text("{}")

    refused(run, "sealed.json")
