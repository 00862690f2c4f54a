"""Names a full or read-only disk, whatever failed because of it.

    results/study-1/20261121T021500Z-42: the disk is full: make room, or keep runs on another with
    --results DIR

Neither the run nor the arguments are wrong: the command ends with 255.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOM_BYTES: Final = 2**20  # less is as good as none
_ELSEWHERE: Final = "or keep runs on another with --results DIR"
_REASONS: Final = {
    errno.ENOSPC: f"the disk is full: make room, {_ELSEWHERE}",
    errno.EDQUOT: f"your part of the disk is full: make room, {_ELSEWHERE}",
    errno.EROFS: f"the disk is read-only: make it writable, {_ELSEWHERE}; a stored run can be "
    "checked from a copy of its folder",
}


class DiskError(Exception):
    """A disk is full or read-only; one sentence with the folder and the remedy."""


def disk_error(error: OSError, folder: Path) -> DiskError | None:
    """The error's meaning for the disk below `folder`, or of the file that it names; None if it has
    none."""
    reason = _REASONS.get(error.errno or 0)
    named = Path(error.filename) if isinstance(error.filename, str) else folder
    where = folder if named.is_relative_to(folder) else named
    return DiskError(f"{where}: {reason}") if reason else None


def trouble_with(folder: Path) -> DiskError | None:
    """Whether the disk below a folder is full or read-only, found by trying; None if it is not, or
    if it cannot be tried for another reason."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
    except OSError as error:
        return disk_error(error, folder)
    return None


def trouble_in_words(words: str, folder: Path) -> DiskError | None:
    """The same by an error's words, where another program had the error itself."""
    for number in _REASONS:
        if os.strerror(number) in words:
            return disk_error(OSError(number, ""), folder)
    return trouble_with(folder)


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Inside the block, a failure because of a full or read-only disk is a DiskError."""
    try:
        yield
    except OSError as error:
        if trouble := disk_error(error, folder):
            raise trouble from error
        raise
