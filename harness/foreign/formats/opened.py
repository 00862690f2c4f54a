"""The bytes of a file that is imported, packed by gzip or not.

    log.jsonl, log.jsonl.gz    =>  the same lines, of the process `log`

What a file is packed with is told by its first bytes, not by its name.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from harness.history.record_format import HistoryError

LONGEST: Final = 2**24  # bytes of a line; a record is at most 1 MB unless a broker allows more
HEAD: Final = 4096  # bytes that show what a file is
_GZIP: Final = b"\x1f\x8b"


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, of bounded length. Raises HistoryError."""
    with _opened(path) as file:
        number = 0
        while raw := file.readline(LONGEST):
            number += 1
            if len(raw) == LONGEST:
                raise HistoryError(f"{path}: line {number} is longer than {LONGEST:,} bytes")
            yield raw


def head_of(path: Path) -> bytes:
    """The first bytes of a file. Raises HistoryError."""
    with _opened(path) as file:
        return file.read(HEAD)


def bytes_of(path: Path) -> bytes:
    """All bytes of a file. Raises HistoryError."""
    with _opened(path) as file:
        return file.read()


def name_of(path: Path) -> str:
    """The process of lines that name none: the file's name, without odd letters."""
    name = path.name.removesuffix(".gz")
    return re.sub("[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-_") or "process"


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as stored:
            packed = stored.read(len(_GZIP)) == _GZIP
            stored.seek(0)
            if not packed:
                yield stored
                return
            with gzip.GzipFile(fileobj=stored) as file:
                yield cast("IO[bytes]", file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise HistoryError(
            f"{path}: it cannot be unpacked ({error}): give it whole, or unpacked"
        ) from None
    except OSError as error:
        raise HistoryError(f"{path}: cannot be read ({error.strerror})") from None
