"""kafka-harness prune: old runs go, ledgers stay.

    kafka-harness prune --keep-days 30 --keep-failed

A run is removed as a whole: its folder gets a hidden name first, so that nobody ever sees half of
one. What still records, what cannot be read, and links are left alone and named. `latest` leads to
the newest run that is left.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.filesize import decimal

from harness.commands.closing_table import plain, shown
from harness.model.exit_codes import VALID
from harness.model.runs import json_text
from harness.model.runs.run_folder import RunFolder, StoreError, errors_told, runs_below

HIDDEN = ".pruned-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What is kept: runs of the last days, and, where asked for, all that are not valid."""

    days: float
    failed: bool


def prune(results: Path, keep: Keep, *, dry: bool, console: Console) -> int:
    """Remove what is not kept (`dry`: name it only). Raises StoreError without a folder."""
    if not results.is_dir():
        raise StoreError(f"{results}: no results folder: give one by --results")
    oldest = datetime.now(UTC) - timedelta(days=keep.days)
    removed: list[Path] = []
    freed = 0
    with errors_told(results):
        if not dry:
            for left in list(results.rglob(f"{HIDDEN}*")):  # of a call that was interrupted
                shutil.rmtree(left)
        for folder in list(runs_below(results)):
            why = _kept(folder, oldest, keep)
            if why:
                console.print(plain(f"kept     {shown(folder)}: {why}"))
            if why is not None:
                continue
            removed.append(folder)
            freed += sum(file.lstat().st_size for file in folder.rglob("*"))
            if not dry:
                _remove(folder)
            console.print(plain(f"{'would go' if dry else 'removed'}  {shown(folder)}"))
        above = {each for folder in removed for each in folder.parents}
        for folder in () if dry else [each for each in above if each.is_relative_to(results)]:
            _mend_latest(folder)
    words = "would be removed" if dry else "removed"
    console.print(plain(f"{len(removed)} runs {words}, {decimal(freed)}; ledgers stay"))
    return VALID


def _kept(folder: Path, oldest: datetime, keep: Keep) -> str | None:
    """Why a run stays, "" for one that is young; None: it goes."""
    run = RunFolder(path=folder)
    try:
        run.refuse_links()
        record = run.read()
    except StoreError as error:
        return str(error)
    if record.started_utc is None or datetime.fromisoformat(record.started_utc) >= oldest:
        return ""
    if record.state == "running":
        return "it still records, or its harness was killed: check it, or remove it by hand"
    if keep.failed and _exit_code(folder) != VALID:
        return "not valid"
    return None


def _exit_code(folder: Path) -> int | None:
    """None: not checked, or its report cannot be read."""
    try:
        return int(json_text.loads(json_text.read_bytes(folder / "report.json"))["exit_code"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _remove(folder: Path) -> None:
    hidden = folder.with_name(f"{HIDDEN}{folder.name}")
    folder.rename(hidden)
    shutil.rmtree(hidden)


def _mend_latest(folder: Path) -> None:
    """Let a link `latest` whose run has gone lead to the newest below that is left; none: it
    goes."""
    link = folder / "latest"
    if link.is_symlink() and not link.exists():
        link.unlink()
        left = sorted(runs_below(folder), key=lambda run: run.name)
        if left:
            link.symlink_to(left[-1].relative_to(folder))
