"""The runs that are asked, as the driver holds them: small files, read once, when they are needed.

    run.json       who the run is, when its load began
    sealed.json    which tables its history has, with their digests
    report.json    what the check found: asked only for `runs`, `anomalies` and `windows`

Nothing is judged here and nothing is written. A table is read as it was sealed or not at all: one
that is missing, a link, or another than the one that was sealed is an error of one sentence; so is
a run that was not sealed or, where that matters, not checked. Of a thousand runs each costs some
milliseconds: no folder is listed but those whose files nobody names.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analysis.anomalies import NAMES
from analysis.stored.run_files import HISTORY, OPERATIONS
from analysis.stored.stored_run import load_bounds
from analysis.stored.value_texts import VALUES_TABLE
from harness.history.record_format import HistoryError
from harness.history.seal_record import Seal, read_seal
from harness.history.stored_tables import TableError, check_file, digest
from harness.model.runs import json_text
from harness.model.runs.report import Report, report_of
from harness.model.runs.run_folder import RunFolder, StoreError

Row = dict[str, Any]
ANALYSIS, REPORT = "analysis", "report.json"


class AskError(Exception):
    """A question or a run that cannot be asked: one sentence with what is wrong and the remedy."""


@dataclass(frozen=True, kw_only=True)
class AskedRun:
    """One stored run."""

    path: Path  # resolved
    record: Mapping[str, Any]  # run.json
    seal: Seal

    @property
    def run_id(self) -> str:
        """<scenario>/<UTC time>-<seed>."""
        return self.seal.run_id

    @functools.cached_property
    def load_ns(self) -> tuple[int, int]:
        """When its load began and ended. Raises AskError."""
        with self._record_errors():
            if any(phase["name"] == "load" for phase in self.record.get("phases") or []):
                return load_bounds(self.record, [])
            return load_bounds(self.record, [pq.read_metadata(file) for file in self.operations()])

    @functools.cached_property
    def report(self) -> Report | None:
        """What the check found; None: it was not checked. Raises AskError."""
        file = self.path / REPORT
        if not file.exists():
            return None
        try:
            found = report_of(json.loads(json_text.read_bytes(file)))
            if found.run_id != self.run_id:
                raise ValueError(f"it is of run {found.run_id}")
        except (OSError, ValueError, RecursionError) as error:
            raise AskError(
                f"{file}: not a report of this version ({_reason(error)}): {self._check} makes it "
                "anew"
            ) from None
        return found

    def operations(self) -> list[Path]:
        """The files of its operations. Raises AskError."""
        return [self._sealed(f"{OPERATIONS}/{each}.parquet") for each in self.seal.processes]

    def small(self, name: str) -> list[Path]:
        """The file of a small table. Raises AskError."""
        return [self._sealed(f"{HISTORY}/{name}.parquet")]

    def anomalies(self) -> list[Path]:
        """The files of evidence that have rows. Raises AskError."""
        found = self._checked().anomalies
        names = [name for name in NAMES if name in found and found[name].count]
        return [file for name in names for file in self._made(name)]

    def texts(self) -> list[Path]:
        """The file of its values' texts, which imported runs have. Raises AskError."""
        return [self._sealed(f"{HISTORY}/{VALUES_TABLE}")] if self.has_texts else []

    @property
    def has_texts(self) -> bool:
        """Whether its values stand for texts."""
        return VALUES_TABLE in self.seal.tables

    @property
    def untold(self) -> list[str]:
        """What an imported history does not tell (harness.model.untold). Raises AskError."""
        with self._record_errors():
            return [str(each) for each in self.record.get("untold") or ()]

    def windows(self) -> list[Path]:
        """The files of windows, if there are any. Raises AskError."""
        return list(self._made("windows")) if self._checked().windows else []

    def row(self) -> Row:
        """What the view `runs` says of it. Raises AskError."""
        with self._record_errors():
            return self._row()

    def _row(self) -> Row:
        scenario, (begin_ns, end_ns) = self.record["scenario"], self.load_ns
        return {
            "run_id": self.run_id,
            "scenario": scenario["name"],
            "title": scenario["title"],
            "seed": self.record["seed"],
            "backend": self.record["backend"],
            "state": self.record["state"],
            "verdict": self.report and self.report.verdict,
            "sentence": self.report and self.report.sentence,
            "acks": self._acks(scenario["workload"]["producer"]),
            "kafka": (self.record.get("versions") or {}).get("kafka"),
            "operations": self.seal.operations,
            "started_utc": self.record.get("started_utc"),
            "begin_ns": begin_ns,
            "end_ns": end_ns,
            "load_s": round((end_ns - begin_ns) / 1e9, 6),
            "folder": str(self.path),
        }

    def _acks(self, producer: Mapping[str, Any]) -> str | None:
        return None if "acks" in self.untold else str(producer.get("acks", "all"))

    @contextlib.contextmanager
    def _record_errors(self) -> Iterator[None]:
        """Inside the block, a run.json that says something else than records do is an AskError."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise AskError(
                f"{self.path / 'run.json'}: not the record of a run: {self._check} says why"
            ) from None

    def _checked(self) -> Report:
        if self.report is None:
            raise AskError(
                f"{self.path}: not checked yet, so nobody knows its anomalies and windows: "
                f"{self._check} first"
            )
        return self.report

    @property
    def _check(self) -> str:
        return _check(self.path)

    def _made(self, name: str) -> Iterator[Path]:
        """The files of one table of the check."""
        folder = self.path / ANALYSIS / f"{name}.parquet"
        parts = sorted(each.name for each in folder.glob("*.parquet"))
        if not parts:
            raise AskError(f"{folder}: missing, or without tables: {self._check} makes it anew")
        for part in parts:
            yield self._own(f"{ANALYSIS}/{name}.parquet/{part}")

    def _sealed(self, name: str) -> Path:
        """One file of the history, as it was sealed."""
        file = self._own(name)
        sealed = self.seal.tables.get(name.removeprefix(f"{HISTORY}/"))
        if self.seal.version == 1:  # which knew no digests
            return file
        try:
            if sealed is None or digest(file) != sealed.sha256:
                raise TableError("it is not the table that was sealed")
        except TableError as error:
            raise self._damaged(file, error) from None
        return file

    def _own(self, name: str) -> Path:
        """A file of the folder's own: no link, and behind none."""
        file = self.path / name
        try:
            check_file(file)
            if os.path.realpath(file) != str(file):
                raise TableError("it is behind a link that leads elsewhere")
        except TableError as error:
            raise self._damaged(file, error) from None
        return file

    def _damaged(self, file: Path, error: TableError) -> AskError:
        return AskError(f"{file}: {error}: restore it; {self._check} says what is left of the run")


def asked_run(folder: Path) -> AskedRun:
    """A run of which only run.json and sealed.json are read. Raises AskError."""
    path = folder.resolve()
    try:
        record = RunFolder(path=path).unverified()
        seal = read_seal(path / HISTORY)
    except (StoreError, HistoryError) as error:
        raise AskError(str(error)) from None
    if seal is None:
        raise AskError(f"{path}: its history is not sealed yet: {_check(path)} seals it")
    if seal.run_id != record.get("run_id"):
        raise AskError(
            f"{path}: its history is of run {seal.run_id}, but run.json says "
            f"{record.get('run_id')}: put back the one that belongs here"
        )
    return AskedRun(path=path, record=record, seal=seal)


def _check(path: Path) -> str:
    return f"`kafka-harness check {shlex.quote(str(path))}`"


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__
