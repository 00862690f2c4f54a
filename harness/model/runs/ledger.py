"""A campaign's ledger: which runs began, how they ended, and which of them no longer count.

    with Ledger.open(Path("docs/data/study.jsonl")) as ledger:     # nobody else may write it
        ledger.add({"event": "started", **names})
        ledger.add({"event": "ended", **names, **what_it_came_to})
    read(path).standing                                            # the runs that count

A line is a JSON object, and is never changed or removed. `event` is one of

    started      a run begins
    ended        it has ended, with this result; with `"began": false` its cluster never came up,
                 so that there was no experiment
    superseded   an ended run no longer counts, for a `reason` in words
    calibrated   whether what follows on this backend can be believed: `met`, and if not `why`; by
                 these `runs`, which are no cell's

`sitting` of an ended run is when the calibration before it began; older lines follow it without
naming it. `configuration` is a digest (harness.model.runs.configuration); the first line of a
digest has its `settings`.

Each line names its run by `cell`, `backend`, `seed` and `started_utc`. Lines without `event` are
older: their runs have ended; a line without `backend` is of the local one. A start without an end
was interrupted, or still goes on.

A last line without its newline counts if it is a whole JSON object, as a hand-written one may be;
half a line, left by a killed process or a full disk, does not, and is removed before the next line
is written. The writer holds a lock on the file, and checks before and after each line that the path
still leads to it: git and editors put another file in its place.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final, cast

from harness.model.bounds import utc_of
from harness.model.runs import json_text
from harness.model.runs.disk import disk_error
from harness.model.runs.ledger_line import Line
from harness.model.runs.run_folder import StoreError

Name = tuple[str, str, int, str]

STARTED, ENDED, SUPERSEDED = "started", "ended", "superseded"
CALIBRATED = "calibrated"
# Clients find a new leader within seconds; one that no write reached for longer has lost its own.
UNREACHED_S = 60.0

_TRIES: Final = 10  # to lock a file that nobody removes before the lock is there
_IN_THE_WAY: Final = "a file is where a folder of its path should be"
_REASONS: Final = {
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
}


class LedgerError(StoreError):
    """The ledger cannot be read or written; the message names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """All lines of a ledger, in the order in which they were written."""

    all: Sequence[Line]

    @property
    def ended(self) -> Sequence[Line]:
        """The results of runs whose experiment began, also of those that no longer count."""
        return [line for line in self._of(ENDED) if line.get("began", True)]

    @property
    def reasons(self) -> Mapping[Name, str]:
        """Why runs no longer count."""
        return {name_of(line): str(line["reason"]) for line in self._of(SUPERSEDED)}

    @property
    def standing(self) -> Sequence[Line]:
        """The results of runs that count."""
        aside = self.reasons
        return [line for line in self.ended if name_of(line) not in aside]

    @property
    def superseded(self) -> Sequence[Line]:
        """The results of runs that no longer count."""
        aside = self.reasons
        return [line for line in self.ended if name_of(line) in aside]

    @property
    def interrupted(self) -> Sequence[Line]:
        """Runs that began and did not end."""
        over = {name_of(line) for line in self._of(ENDED)}
        return [line for line in self._of(STARTED) if name_of(line) not in over]

    @property
    def without_cluster(self) -> Sequence[Line]:
        """Runs whose cluster never came up."""
        return [line for line in self._of(ENDED) if not line.get("began", True)]

    @property
    def calibrations(self) -> Sequence[Line]:
        """The calibration of each sitting, on each backend."""
        return list(self._of(CALIBRATED))

    def _of(self, event: str) -> Iterator[Line]:
        return (line for line in self.all if line.get("event", ENDED) == event)


class Ledger:
    """A ledger that is open for writing."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path, self._file = path, file

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Ledger]:
        """Open it, or make it. Raises LedgerError where somebody else writes it, or where there can
        be no file, and DiskError."""
        with _locked(path) as file:
            try:
                yield cls(path, file)
            finally:
                # Nothing began. Under the lock, so that whoever opened it meanwhile sees it gone.
                if _leads_to(path, file) and not os.fstat(file.fileno()).st_size:
                    with suppress(OSError):
                        path.unlink()

    def read(self) -> Lines:
        """Its lines now. Raises LedgerError."""
        self._require_same()
        return read(self._path)

    def add(self, line: Line) -> None:
        """Write one line, after removing half a last line that a killed process or a full disk
        left. Raises LedgerError and DiskError."""
        self._require_same()
        with _ledger_errors(self._path):
            text = _content(self._file)
            whole = text[: _whole(text)]
            if len(whole) < len(text):
                os.ftruncate(self._file.fileno(), len(whole))
            left = b"\n" if whole and not whole.endswith(b"\n") else b""
            left += _text(line)
            while left:  # past Python's buffer, which would try once more at the end
                left = left[os.write(self._file.fileno(), left) :]
        self._require_same()

    def _require_same(self) -> None:
        """Raise LedgerError where the path leads to another file by now: nobody would ever read
        what is written into the open one."""
        if not _leads_to(self._path, self._file):
            raise LedgerError(
                f"{self._path}: it was replaced or removed (by git, an editor, `sed -i`) while it "
                "was written, so that lines may be missing in it: put back what it lacks, and "
                "start again, a campaign with --resume: a recorded run whose start stands there "
                "is not made again"
            )


def read(path: Path) -> Lines:
    """The lines of a ledger, none without a file; skips half a last line. Raises LedgerError."""
    text = b""
    with _ledger_errors(path), suppress(FileNotFoundError), _open(path, os.O_RDONLY) as file:
        text = _content(file)
    whole = text[: _whole(text)].decode(errors="replace")
    raw_lines = whole.removesuffix("\n").split("\n") if whole else []
    lines = [_line(path, number, line) for number, line in enumerate(raw_lines, 1)]
    _require_known(path, lines)
    return Lines(all=lines)


def is_ledger(path: Path) -> bool:
    """Whether any of its lines is a ledger's, whatever else is wrong with it. Raises OSError."""
    with path.open("rb") as file:
        return any(_tells_of_a_run(line) for line in file if b'"cell"' in line)


def has_digest(line: Line) -> bool:
    """Whether a line has its configuration's digest; older lines have none."""
    return "configuration" in line


def write_outages(line: Line) -> list[tuple[float, float | None]]:
    """Each write outage's length, and how much of it a leader elected in it already led: None where
    nobody was elected. Empty for older lines, which do not say. Seconds."""
    return list(zip(line.get("produce_gaps_s", ()), line.get("produce_led_s", ()), strict=False))


def unreached_leaders(line: Line) -> list[tuple[float, float]]:
    """The outages of these in which an elected leader led for over UNREACHED_S."""
    return [(gap, led) for gap, led in write_outages(line) if led is not None and led > UNREACHED_S]


def superseded(line: Line, why: str) -> Line:
    """The line that says that a run counts no more."""
    cell, backend, seed, started_utc = name_of(line)
    names: Line = {"cell": cell, "backend": backend, "seed": seed, "started_utc": started_utc}
    return {"event": SUPERSEDED, **names, "reason": why}


def name_of(line: Line) -> Name:
    """By what its run is known."""
    backend, started_utc = line.get("backend") or "local", line.get("started_utc") or ""
    return line["cell"], backend, line["seed"], started_utc


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """Open for this process alone. Raises LedgerError and DiskError."""
    for _ in range(_TRIES):
        with _ledger_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                break
            except OSError:  # a file system without locks
                pass
            # Whoever had the lock before may have removed the file after it was opened here.
            if _leads_to(path, file):
                yield file
                return
    raise LedgerError(
        f"{path}: another campaign writes it: wait for that one, or give this one another file as "
        "`data`"
    )


def _open(path: Path, flags: int) -> FileIO:
    """A regular file, without a buffer. Raises OSError for anything else."""
    # Not to wait for the other end of a pipe.
    number = os.open(path, flags | os.O_NONBLOCK, 0o666)
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else 0, "it is no regular file", str(path))
    return FileIO(number, "r+" if flags & os.O_RDWR else "r")


def _text(line: Line) -> bytes:
    """A line that can be read again: half a character, of a path or a terminal that is not UTF-8,
    becomes a question mark."""
    whole = json.dumps(line, ensure_ascii=False).encode(errors="replace")
    return (json.dumps(json_text.loads(whole)) + "\n").encode()


def _content(file: FileIO) -> bytes:
    file.seek(0)
    return file.readall()


def _leads_to(path: Path, file: FileIO) -> bool:
    """Whether the path leads to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        why = error.strerror
        raise LedgerError(f"{path}: cannot be looked at ({why}): put that right") from error


@contextmanager
def _ledger_errors(path: Path) -> Iterator[None]:
    """Inside the block, a ledger that cannot be read or written is one sentence. Raises LedgerError
    and DiskError."""
    try:
        yield
    except OSError as error:
        if full := disk_error(error, path.parent):
            raise full from error
        why = _REASONS.get(error.errno or 0, error.strerror)
        raise LedgerError(
            f"{path}: no ledger can be read or written there ({why}): put that right, or give "
            "another file"
        ) from error


def _whole(text: bytes) -> int:
    """The number of bytes in whole lines; a last line without its newline is whole if it is a JSON
    object."""
    ended = text.rfind(b"\n") + 1
    try:
        is_object = isinstance(json.loads(text[ended:].decode(errors="replace")), dict)
    except RecursionError:  # no writer of ours left this: it is told, not cut off
        is_object = True
    except ValueError:
        is_object = False
    return len(text) if is_object else ended


def _tells_of_a_run(text: bytes) -> bool:
    try:
        line = json_text.loads(text)
    except ValueError:
        return False
    return isinstance(line, dict) and "cell" in line and "seed" in line


def _line(path: Path, number: int, text: str) -> Line:
    """A line that says what a ledger's line says."""
    where = f"{path}: line {number}"
    try:
        line = json_text.loads(text)
    except ValueError as error:
        raise LedgerError(
            f"{where}: not a line of a ledger: {error}: put back the file as git or a backup has it"
        ) from None
    if not isinstance(line, dict) or not isinstance(line.get("cell"), str):
        raise LedgerError(f"{where}: no cell is named: give a campaign's ledger")
    if not isinstance(line.get("seed"), int):
        raise LedgerError(f"{where}: seed: a number is missing")
    event = line.get("event", ENDED)
    if event not in (STARTED, ENDED, SUPERSEDED, CALIBRATED):
        raise LedgerError(f"{where}: event: {event!r} is none that this release knows")
    if event == STARTED:
        try:
            utc_of(str(line.get("started_utc")))
        except ValueError:
            raise LedgerError(f"{where}: started_utc: a time in ISO 8601 is missing") from None
    if event == SUPERSEDED and not str(line.get("reason") or "").strip():
        raise LedgerError(f"{where}: reason: say in words why the run counts no more")
    return cast("Line", line)


def _require_known(path: Path, lines: Sequence[Line]) -> None:
    """Check that each run ends once, and that only an ended run is superseded, after its end."""
    seen: set[tuple[str, Name]] = set()
    for number, line in enumerate(lines, 1):
        event, name = line.get("event", ENDED), name_of(line)
        if (event, name) in seen and name[3]:
            raise LedgerError(f"{path}: line {number}: {_words(name)} has {event} before")
        if event == SUPERSEDED and (ENDED, name) not in seen:
            raise LedgerError(f"{path}: line {number}: {_words(name)} is no run that ended before")
        seen.add((event, name))


def _words(name: Name) -> str:
    cell, backend, seed, started = name
    return f"{cell} on {backend}, seed {seed}, of {started or 'an unknown time'}"
