"""A full and a read-only disk: real ones, each in a mount namespace of its own."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from harness.model.runs import run_folder
from harness.model.runs.disk import (
    DiskError,
    disk_error,
    disk_errors,
    trouble_in_words,
    trouble_with,
)
from harness.model.runs.run_folder import RunFolder, StoreError, store_errors
from tests.support.commands import COMMAND
from tests.support.labs.small_disks import FULL, READ_ONLY, STORED, on_a_disk
from tests.support.recorded_runs import run_record


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(FULL, "the disk is full: make room"), (READ_ONLY, "the disk is read-only: make it writable")],
)
@pytest.mark.parametrize(  # a run asks Java for its version before that
    "command", ["check", pytest.param("run", marks=pytest.mark.jvm)]
)
def test_it_is_named_in_one_sentence_before_anything_is_made(
    tmp_path: Path, command: str, spoil: str, reason: str
) -> None:
    told = {
        "check": ["check", f"{tmp_path}/run"],
        "run": ["run", "baseline", "--seed", "1", "--results", str(tmp_path)],
    }

    done = on_a_disk(tmp_path, spoil, *COMMAND, *told[command])

    assert 255 == done.returncode, done.stdout + done.stderr
    assert 1 == len(done.stderr.strip().splitlines())
    assert f"kafka-harness: {tmp_path}" in done.stderr
    assert reason in done.stderr
    left = {line for line in done.stdout.splitlines() if line.startswith(str(tmp_path))}
    assert left == {f"{tmp_path}/run/{path.relative_to(STORED)}" for path in STORED.rglob("*")}


def test_a_disk_with_room_is_no_trouble(tmp_path: Path) -> None:
    assert trouble_with(tmp_path) is None
    assert trouble_in_words("Job aborted due to stage failure", tmp_path) is None
    assert [] == list(tmp_path.iterdir())


def test_the_words_of_another_program_tell_it_too(tmp_path: Path) -> None:
    told = trouble_in_words("java.io.IOException: No space left on device\n\tat …", tmp_path)

    assert str(told).startswith(f"{tmp_path}: the disk is full: make room")


def test_only_errors_of_the_disk_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "no", "file")
    with pytest.raises(DiskError, match="read-only"), disk_errors(tmp_path):
        raise OSError(errno.EROFS, "no", "file")
    with pytest.raises(StoreError, match="cannot be read or written"), store_errors(tmp_path):
        raise OSError(errno.EIO, "no")
    with pytest.raises(DiskError, match="full"), store_errors(tmp_path):
        raise OSError(errno.ENOSPC, "no")


def test_a_file_of_the_run_is_told_by_its_folder_any_other_by_itself(tmp_path: Path) -> None:
    def where(file: Path) -> str:
        return str(disk_error(OSError(errno.ENOSPC, "no", str(file)), tmp_path)).split(": ")[0]

    assert where(tmp_path / ".run.json.7") == str(tmp_path)
    assert where(Path("/cache/archive")) == "/cache/archive"


def test_what_could_not_be_written_leaves_the_old_and_no_part(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path)
    folder.write(run_record(seed=7))
    code = (
        "import sys; from pathlib import Path; "
        "from harness.model.runs.run_folder import write_atomically; "
        "write_atomically(Path(sys.argv[1]), 'x' * 10**6)"
    )

    done = on_a_disk(tmp_path, FULL, sys.executable, "-c", code, f"{tmp_path}/run/run.json")

    assert "No space left on device" in done.stderr
    assert ".run.json" not in done.stdout
    assert f"{tmp_path}/run/run.json" in done.stdout


def test_a_run_whose_folder_has_no_room_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "harness.model.runs.disk.trouble_with", lambda path: DiskError(f"{path}: full")
    )

    with pytest.raises(DiskError):
        run_folder.create(tmp_path, "study-1", 7)
    assert [] == list((tmp_path / "study-1").iterdir())
