"""kafka-harness prune: removes old runs, keeps ledgers.

    kafka-harness prune --keep-days 30 --keep-failed

A run's folder gets a hidden name before it is removed, so that half a run is never seen. Runs that
still record or cannot be read, links, and runs whose folder holds a campaign's ledger are kept and
named. `latest` leads to the newest run that is left. Hidden folders of an interrupted call are
removed too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.filesize import decimal

from harness.commands.options import RESULTS, Results, console
from harness.model.exit_codes import VALID
from harness.model.runs import json_text

HIDDEN = ".pruned-"
# Folders of runs and their checks: large, and without ledgers.
FILLED_BY_RUNS: Final = ("history", "logs", "analysis")


def prune(
    keep_days: Annotated[
        float, typer.Option(metavar="N", min=0, help="Runs that began before that many days go.")
    ],
    keep_failed: Annotated[
        bool, typer.Option("--keep-failed", help="Keep all that are not valid, however old.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    results: Results = RESULTS,
) -> None:
    """Remove old runs; campaigns' ledgers stay.

    kafka-harness prune --keep-days 30 --keep-failed
    """
    raise typer.Exit(
        remove_runs(results, keep_days, failed_too=not keep_failed, dry=dry_run, console=console)
    )


def remove_runs(
    results: Path, older_than_days: float, *, failed_too: bool, dry: bool, console: Console
) -> int:
    """Remove the runs that are not kept (`dry`: only name them). Raises StoreError without a folder
    and for days that are no number."""
    from harness.commands.closing_table import plain, shown
    from harness.model.runs.run_folder import StoreError, runs_below, store_errors

    if not results.is_dir():
        raise StoreError(f"{results}: no results folder: give one by --results")
    oldest = _days_ago(older_than_days)
    moved: list[Path] = []
    removed = freed = 0
    with store_errors(results):
        if not dry:
            for left in list(_left_below(results)):
                if why := _not_a_run_s(left):
                    console.print(plain(f"kept     {shown(left)}: {why}"))
                else:
                    _gone(left, console)
        for folder in list(runs_below(results)):
            why = _kept(folder, oldest, failed_too=failed_too)
            if why:
                console.print(plain(f"kept     {shown(folder)}: {why}"))
            if why is not None:
                continue
            size = sum(file.lstat().st_size for file in folder.rglob("*"))
            if not dry:
                hidden = _hidden(folder)
                moved.append(folder)
                if not _gone(hidden, console):
                    continue
            removed, freed = removed + 1, freed + size
            console.print(plain(f"{'would go' if dry else 'removed'}  {shown(folder)}"))
        above = {parent for folder in moved for parent in folder.parents}
        for folder in [parent for parent in above if parent.is_relative_to(results)]:
            _mend_latest(folder)
    words = "would be removed" if dry else "removed"
    console.print(plain(f"{removed} runs {words}, {decimal(freed)}; ledgers stay"))
    return VALID


def _days_ago(days: float) -> datetime:
    """That moment, or the calendar's first where it is earlier. Raises StoreError."""
    from harness.model.runs.run_folder import StoreError

    try:
        return datetime.now(UTC) - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
    except ValueError:  # nan
        raise StoreError(f"--keep-days: {days} is no number of days: give 0 or more") from None


def _left_below(results: Path) -> Iterator[Path]:
    """The hidden folders that an interrupted call left beside runs, as `runs_below` finds them; no
    links and files, which are not ours."""
    from harness.model.runs.run_folder import DEPTH

    for root, folders, files in os.walk(results):
        folder = Path(root)
        if "run.json" in files and folder != results:
            folders.clear()
            continue
        paths = [folder / name for name in sorted(folders) if name.startswith(HIDDEN)]
        yield from (path for path in paths if not path.is_symlink())
        above = len(folder.relative_to(results).parts) + 1 < DEPTH
        folders[:] = [name for name in folders if above and name[0] != "."]


def _not_a_run_s(folder: Path) -> str | None:
    """Why a run's folder must be kept in any case: it holds, or may hold, a campaign's ledger."""
    from harness.model.runs.ledger import is_ledger

    for root, folders, files in os.walk(folder):
        if Path(root) == folder:
            folders[:] = [name for name in folders if name not in FILLED_BY_RUNS]
        for path in (Path(root, name) for name in sorted(files)):
            try:
                if path.is_file() and not path.is_symlink() and is_ledger(path):
                    return f"{path.name} in it is a campaign's ledger: move that elsewhere"
            except OSError as error:
                return f"{path.name} in it cannot be read ({error.strerror}): remove it by hand"
    return None


def _kept(folder: Path, oldest: datetime, *, failed_too: bool) -> str | None:
    """Why a run is kept, "" for a young one; None: it is not."""
    from harness.model.bounds import utc_of
    from harness.model.runs.run_folder import RunFolder, StoreError

    run = RunFolder(path=folder)
    try:
        run.refuse_links()
        record = run.read()
    except StoreError as error:
        return str(error)
    if record.started_utc is None or utc_of(record.started_utc) >= oldest:
        return ""
    if record.state == "running":
        return "it still records, or its harness was killed: check it, or remove it by hand"
    if not failed_too and _exit_code(folder) != VALID:
        return "not valid"
    return _not_a_run_s(folder)


def _exit_code(folder: Path) -> int | None:
    """The run's exit code; None: not checked, or its report cannot be read."""
    try:
        return int(json_text.loads(json_text.read_bytes(folder / "report.json"))["exit_code"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _hidden(folder: Path) -> Path:
    """The folder under a hidden name."""
    hidden = folder.with_name(f"{HIDDEN}{folder.name}")
    while os.path.lexists(hidden):  # somebody else's, and left alone
        hidden = hidden.with_name(f"{hidden.name}-again")
    return folder.rename(hidden)


def _gone(hidden: Path, console: Console) -> bool:
    """Remove a folder; whether it is gone. Prints what cannot be removed."""
    from harness.commands.closing_table import plain, shown

    try:
        shutil.rmtree(hidden)
    except OSError as error:
        why = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        console.print(plain(f"left     {shown(hidden)}: it cannot be removed ({why})"))
        return False
    return True


def _mend_latest(folder: Path) -> None:
    """Let a link `latest` to a removed run lead to the newest that is left, or remove it."""
    from harness.model.runs.run_folder import runs_below

    link = folder / "latest"
    if link.is_symlink() and not link.exists():
        link.unlink()
        left = sorted(runs_below(folder), key=lambda run: run.name)
        if left:
            link.symlink_to(left[-1].relative_to(folder))
