"""Makes the folder of an imported run, and removes it if anything fails.

    results/imported/20261124T120000Z-0/    gone, and `imported` too where it was not there before
    results/latest                          the link that it was, or none

Every exception undoes it, Ctrl-C too, which waits while the folder is made and while it is undone.
Cannot undo: what a killed process leaves (SIGTERM, SIGKILL).
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from harness.model.runs.run_folder import RunFolder, create


@contextmanager
def new_folder(results: Path, name: str) -> Iterator[RunFolder]:
    """A new run's folder, which stays when the block is over. Raises StoreError and DiskError."""
    scenario = results / name
    missing = [path for path in (scenario, *scenario.parents) if not _exists(path)]
    links = {path / "latest": _target(path / "latest") for path in (results, scenario)}
    runs = _names_in(scenario)
    run: RunFolder | None = None
    try:
        with _undisturbed():
            run = create(results, name, 0)
        yield run
    except BaseException:
        with _undisturbed():
            ours = _names_in(scenario) - runs if run is None else {run.path.name}
            for run_id in ours:
                _remove(scenario / run_id, whole=run is not None)
            for link, target in links.items():
                _restore(link, target)
            for folder in missing:  # the deepest first
                with suppress(OSError):  # another run may be in it by now
                    folder.rmdir()
        raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Inside the block Ctrl-C waits until it is over."""
    if threading.current_thread() is not threading.main_thread():  # where Ctrl-C never is
        yield
        return
    asked: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        asked.append(number)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if asked:
            raise KeyboardInterrupt


def _remove(run: Path, *, whole: bool) -> None:
    """Remove a run's folder; of one that may be another's only what is empty."""
    if whole:
        shutil.rmtree(run, ignore_errors=True)
        return
    for folder in (run / "history", run / "logs", run):
        with suppress(OSError):
            folder.rmdir()


def _restore(link: Path, target: Path | None) -> None:
    """A link that leads to what was removed leads where it led; another's is left to it."""
    partial = link.with_name(f".{link.name}.{os.getpid()}")  # as whoever makes the link calls it
    with suppress(OSError):
        partial.unlink(missing_ok=True)
        if _target(link) == target or link.exists():
            return
        if target is None:
            link.unlink()
            return
        partial.symlink_to(target)
        partial.replace(link)


def _target(link: Path) -> Path | None:
    try:
        return link.readlink()
    except OSError:  # it is not there, or no link
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # nobody may know
        return True


def _names_in(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:
        return set()
