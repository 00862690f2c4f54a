"""A run in a store, staged: what the driver itself reads of it lies in a scratch folder of its own.

    hdfs://…/study-1/2026…-7/             /tmp/…/0/
        run.json, history/**      copied     read with the same suspicion as any local run
        history/*.jsonl, logs/    named      empty files, so that the page can link to them
        analysis/, report.*       put        made here, then put into the store, report.json last

Spark's executors read the operations from the store, and write evidence to it; they never see the
scratch folder. The driver reads each byte of a history once, whatever is made of it: only so is
every table held against the digest that it was sealed with, and each row against what can be
recorded, by the very code that judges local runs.

A history is sealed where it was recorded: one that is not is refused.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from analysis.remote.store import Store
from analysis.stored.run_files import HISTORY, OPERATIONS, CheckError
from harness.history.seal_record import SEALED
from harness.model.runs.disk import DiskError

RECORD, ANALYSIS, REPORT = "run.json", "analysis", "report.json"
TEXTS = ("report.html", "junit.xml", REPORT)  # in the order in which they appear
ONLY_NAMED = (HISTORY, "logs")  # what else lies there, the page links to
SPARE_BYTES = 256 * 2**20  # for evidence and reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A run in a store, and its scratch folder."""

    store: Store
    folder: Path

    def fetch(self) -> None:
        """Make the folder. Raises CheckError, Unreachable and DiskError."""
        store = self.store
        there, history = store.names(""), store.names(HISTORY)
        if RECORD not in there:
            raise CheckError(f"{store.uri}: no run there: give the folder that holds a run.json")
        if SEALED not in history:
            raise CheckError(
                f"{store.uri}: its history is not sealed: `kafka-harness check FOLDER` seals it "
                "where it was recorded; then copy it again"
            )
        tables = {
            **{f"{HISTORY}/{name}": size for name, size in history.items() if _is_read(name)},
            **{f"{OPERATIONS}/{name}": size for name, size in store.names(OPERATIONS).items()},
        }
        _require_room(self.folder.parent, there[RECORD] + sum(tables.values()) + SPARE_BYTES)
        (self.folder / OPERATIONS).mkdir(parents=True)
        for name in (RECORD, *tables):
            store.fetch(name, self.folder / name)
        for part in ONLY_NAMED:
            (self.folder / part).mkdir(exist_ok=True)
            for name in store.names(part):
                (self.folder / part / name).touch()

    def publish(self) -> None:
        """Put into the store what a check has made, report.json last: whoever finds it finds all
        that it tells of."""
        if not self.store.has_renames:  # the folder is replaced piece by piece
            self.store.remove(REPORT)
        self.store.put_folder(self.folder / ANALYSIS, ANALYSIS)
        for name in TEXTS:
            self.store.put(self.folder / name, name)


def _is_read(name: str) -> bool:
    return name == SEALED or name.endswith(".parquet")


def _require_room(scratch: Path, wanted_bytes: int) -> None:
    free_bytes = shutil.disk_usage(scratch).free
    if free_bytes < wanted_bytes:
        raise DiskError(
            f"{scratch}: {free_bytes:,} bytes are free, and the check needs {wanted_bytes:,} for "
            "what it reads of the history: make room, or name another folder by TMPDIR"
        )
