"""The folders of runs: results/<scenario>/<UTC time>-<seed>/, from the first moment on.

    run.json      what was run and how it ended; state running -> complete | incomplete
    history/      what workers and nemesis recorded (docs/history.md)
    logs/         each node's and each worker's output
    analysis/  report.json  report.html  junit.xml      what the check found (docs/report.md)

Every JSON file is replaced atomically. `latest` links beside point to the newest run.

A run's folder can come from anybody: a link that leads out of it is not followed, nor a `latest`
that leads out of its own folder.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.model.runs import disk
from harness.model.runs.json_text import read_bytes
from harness.model.runs.run_record import RecordError, RunRecord, parse

DEPTH = 3  # results/SCENARIO/RUN, and one more for whoever sorts them
_ALWAYS = frozenset({"run_id", "scenario", "seed", "backend", "state"})


class StoreError(Exception):
    """A results folder is not what it should be; one sentence with path and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """<scenario>/<UTC time>-<seed>."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def history(self) -> Path:
        """Where workers and nemesis record."""
        return self.path / "history"

    @property
    def logs(self) -> Path:
        """Where nodes and workers write their output."""
        return self.path / "logs"

    @property
    def recorded(self) -> bool:
        """Whether there is a run.json."""
        return (self.path / "run.json").exists()

    def read(self) -> RunRecord:
        """run.json. Raises StoreError when this is no run of ours."""
        file = self.path / "run.json"
        try:
            return parse(read_bytes(file))
        except FileNotFoundError:
            raise StoreError(f"{self.path}: not a run: it has no run.json") from None
        except OSError as error:
            raise StoreError(f"{file}: cannot be read: {error.strerror}") from None
        except ValueError as error:  # RecordError is one
            raise StoreError(f"{file}: {error}") from None

    def unverified(self) -> dict[str, Any]:
        """run.json without validation, for readers that ask many runs for little; checks only that
        it has the keys that every record has. Raises StoreError."""
        file = self.path / "run.json"
        try:
            record = json.loads(read_bytes(file))
            if not isinstance(record, dict) or not record.keys() >= _ALWAYS:
                raise ValueError("it is no record of a run: restore the file")
        except FileNotFoundError:
            raise StoreError(f"{self.path}: not a run: it has no run.json") from None
        except OSError as error:
            raise StoreError(f"{file}: cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{file}: {error}") from None
        return record

    def changed_ns(self) -> int:
        """When run.json was replaced, by the clock of its file. Raises StoreError."""
        with store_errors(self.path / "run.json"):
            return (self.path / "run.json").stat().st_mtime_ns

    def refuse_links(self) -> None:
        """Raise StoreError for a link that leads out of the folder, and for anything but files and
        folders."""
        within = Path(os.path.realpath(self.path))
        for root, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                path = Path(root, name)
                try:
                    mode = path.lstat().st_mode
                except FileNotFoundError:  # the run is still going on
                    continue
                if stat.S_ISLNK(mode) and not _leads_into(within, path):
                    raise StoreError(
                        f"{path}: a link that leads out of the run's folder: put the file itself "
                        "in its place, or remove it"
                    )
                if not (stat.S_ISLNK(mode) or stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                    raise StoreError(f"{path}: neither a file nor a folder: remove it")

    def write(self, record: RunRecord) -> RunRecord:
        """Replace run.json; returns its record."""
        write_atomically(self.path / "run.json", record.as_json())
        return record

    def update(self, **changes: Any) -> RunRecord:
        """Change top-level keys of run.json; returns its record. Raises StoreError."""
        try:
            return self.write(self.read().changed(**changes))
        except RecordError as error:
            raise StoreError(f"{self.path / 'run.json'}: {error}") from None


def create(results: Path, scenario: str, seed: int) -> RunFolder:
    """A new, empty run folder; `latest` points to it. Raises StoreError and DiskError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        path = _fresh(results / scenario, f"{stamp}-{seed}")
        if full := disk.trouble_with(path):
            path.rmdir()
            raise full
        for part in ("history", "logs"):
            (path / part).mkdir()
        _link(results / scenario / "latest", path.name)
        _link(results / "latest", f"{scenario}/{path.name}")
    except OSError as error:
        if full := disk.disk_error(error, results):
            raise full from None
        where = error.filename or results
        raise StoreError(
            f"{where}: cannot create the run's folder ({error.strerror}); "
            "choose another folder with --results"
        ) from None
    return RunFolder(path=path)


def find_run(which: str, results: Path) -> RunFolder:
    """A run by its folder, by its id below `results`, or by a scenario's name (its latest run)."""
    with store_errors(Path(which)):
        for path in (Path(which), results / which, results / which / "latest"):
            if (path / "run.json").is_file():
                _refuse_stray(path)
                folder = RunFolder(path=path.resolve())
                folder.refuse_links()
                return folder
    raise StoreError(f"{which}: no run there: give the folder that holds a run.json, or a run's id")


def runs_below(results: Path) -> Iterator[Path]:
    """The folders below, at most `DEPTH` deep, that hold a run.json, in order of their names;
    follows no links of the file system."""
    for root, folders, files in os.walk(results):
        folder = Path(root)
        if "run.json" in files and folder != results:
            folders.clear()
            yield folder
            continue
        deep = len(folder.relative_to(results).parts) >= DEPTH
        folders[:] = [] if deep else sorted(name for name in folders if name[0] != ".")


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Inside the block, a file or folder that cannot be read or written is one sentence. Raises
    StoreError and DiskError."""
    try:
        yield
    except BrokenPipeError:  # no file's: who reads what is printed has seen enough
        raise
    except OSError as error:
        if full := disk.disk_error(error, path):
            raise full from error
        where, why = error.filename or path, error.strerror or str(error).split("\n", 1)[0]
        raise StoreError(
            f"{where}: cannot be read or written ({why}): repair it, or use a copy of the run's "
            "folder"
        ) from error


def _leads_into(folder: Path, link: Path) -> bool:
    return Path(os.path.realpath(link)).is_relative_to(folder)


def _refuse_stray(path: Path) -> None:
    """Raise StoreError for a `latest` that does not lead to a run beside it, or below."""
    if path.name != "latest" or not path.is_symlink():
        return
    if not _leads_into(Path(os.path.realpath(path.parent)), path):
        raise StoreError(f"{path}: leads out of its folder: give the run's own folder")


def write_atomically(path: Path, text: str) -> None:
    """Replace a file's text in one step: a reader sees the old or the new one, never a part."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _fresh(parent: Path, name: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    path, number = parent / name, 1
    while True:
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            path = parent / f"{name}-{number}"
        else:
            return path.resolve()


def _link(link: Path, target: str) -> None:
    partial = link.with_name(f".{link.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(link)
