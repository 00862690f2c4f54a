"""A campaign's ledger: which runs began, what they came to, and which of them count no more.

    with Ledger.opened(Path("docs/data/study.jsonl")) as ledger:   # nobody else may write it
        ledger.add({"event": "started", **names})
        ledger.add({"event": "ended", **names, **what_it_came_to})
    read(path).standing                                            # the runs that count

A line is a JSON object, and is never changed or removed. `event` says what it tells:

    started      a run begins
    ended        it has ended, and came to this; with `"began": false` its cluster never came up,
                 so that there was no experiment
    superseded   an ended run counts no more, for a `reason` in words
    calibrated   whether what follows on this backend can be believed: `met`, and if not `why`

`configuration` is a digest (harness.model.runs.configuration); the first line of a digest has its
`settings`.

Each names its run by `cell`, `backend`, `seed` and `started_utc`. Lines without `event` are older:
they tell of runs that ended; one without `backend` is of the local one. A start without an end was
interrupted, or still goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.model.runs.disk import disk_told
from harness.model.runs.run_folder import StoreError

Line = Mapping[str, Any]
Name = tuple[str, str, int, str]

STARTED, ENDED, SUPERSEDED = "started", "ended", "superseded"
CALIBRATED = "calibrated"
NAMES = ("cell", "backend", "seed", "started_utc")


class LedgerError(StoreError):
    """The ledger cannot be read or written; the message names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """All lines of a ledger, in the order in which they were written."""

    all: Sequence[Line]

    @property
    def ended(self) -> Sequence[Line]:
        """What the runs came to whose experiment began, those that count no more too."""
        return [line for line in self._of(ENDED) if line.get("began", True)]

    @property
    def reasons(self) -> Mapping[Name, str]:
        """Why runs count no more."""
        return {name_of(line): str(line["reason"]) for line in self._of(SUPERSEDED)}

    @property
    def standing(self) -> Sequence[Line]:
        """What the runs came to that count."""
        aside = self.reasons
        return [line for line in self.ended if name_of(line) not in aside]

    @property
    def superseded(self) -> Sequence[Line]:
        """What the runs came to that count no more."""
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
        """Each sitting's, on each backend."""
        return list(self._of(CALIBRATED))

    def _of(self, event: str) -> Iterator[Line]:
        return (line for line in self.all if line.get("event", ENDED) == event)


class Ledger:
    """One that is open for writing."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path, self._file = path, file

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Ledger]:
        """Open it, or make it. Raises LedgerError where somebody else writes it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LedgerError(
                    f"{path}: another campaign writes it: wait for that one, or give this one "
                    "another file as `data`"
                ) from None
            except OSError:  # a file system without locks
                pass
            try:
                yield cls(path, file)
            finally:
                if not path.stat().st_size:  # nothing began
                    path.unlink()

    def read(self) -> Lines:
        """What it has now."""
        return read(self._path)

    def add(self, line: Line) -> None:
        """Write one line. What a killed process or a full disk left of the last one, which
        nobody has ever read, goes first. Raises DiskError."""
        text = self._path.read_bytes()
        whole = text.rfind(b"\n") + 1
        left = (json.dumps(line) + "\n").encode()
        with disk_told(self._path.parent):
            if whole < len(text):
                self._file.truncate(whole)
            while left:  # past Python's buffer, which would try once more at the end
                left = left[os.write(self._file.fileno(), left) :]


def read(path: Path) -> Lines:
    """The lines of a ledger, none where there is none; without the end of the last line nobody
    knows what it was to tell, and it is passed over. Raises LedgerError."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    lines = [_line(path, number, each) for number, each in enumerate(whole.splitlines(), 1)]
    _require_known(path, lines)
    return Lines(all=lines)


def has_digest(line: Line) -> bool:
    """Whether it says what was put to the test; older lines do not."""
    return "configuration" in line


def name_of(line: Line) -> Name:
    """By what its run is known."""
    return (
        str(line["cell"]),
        str(line.get("backend") or "local"),
        int(line["seed"]),
        str(line.get("started_utc") or ""),
    )


def _line(path: Path, number: int, text: str) -> dict[str, Any]:
    """A line that says what a ledger's line says."""
    where = f"{path}: line {number}"
    try:
        line = json.loads(text)
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
    if event == SUPERSEDED and not str(line.get("reason") or "").strip():
        raise LedgerError(f"{where}: reason: say in words why the run counts no more")
    return line


def _require_known(path: Path, lines: Sequence[Line]) -> None:
    """Each line's run is told once, and only a run that ended is superseded, after its end."""
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
