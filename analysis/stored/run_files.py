"""A run's files, validated as they are read.

run.json must be the record of a run (harness.model.runs.run_record): without it nothing can be
judged. A table of the history is left out, and is `Damage`, if it is missing or unreadable, if it
differs from the sealed one, or if it has rows that no worker records.

Segments and side files have no run's id, so a history may have got another run's before it was
sealed: their times lie outside run.json's phases. That is damage, too.

A history that an old harness sealed, or none, has no digests: then the rows of each table are
validated, and the counts of all operations and findings.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.stored.columns import format_of, is_summed_up
from analysis.stored.damage import HARMLESS, Damage
from analysis.stored.fault_views import unseen
from analysis.stored.recorded.impossible import impossible
from analysis.stored.recorded.missing_events import missing_events
from analysis.stored.recorded.operations import Numbered, dropped_slots, oddity
from analysis.stored.recorded.rows import ANOTHER_TIME, EVER_NS, Span, lacks, strange
from analysis.stored.table_rows import Blind, Event, Fault, Finding, View
from harness.history import stored_tables, tables
from harness.history.record_format import HistoryError
from harness.history.seal_record import SEALED, Seal, read_seal
from harness.history.stored_tables import TableError
from harness.model.runs import json_text
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.model.untold import VALUES

Rows = tuple[dict[str, Any], ...]
HISTORY = "history"
OPERATIONS = f"{HISTORY}/operations"
FIRST_PHASE, LAST_PHASE = "set-up", "collect"
MARGIN_NS = 10**9
_READ_NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"  # Spark passes over what begins with _ or .


class CheckError(Exception):
    """The runs cannot be checked as they are: one sentence with file, key and remedy."""


def read_record(folder: Path) -> dict[str, Any]:
    """run.json, whichever harness wrote it, as the newest would have."""
    try:
        run = RunFolder(path=folder)
        run.refuse_links()
        record = run.read().model_dump(mode="json")
    except StoreError as error:
        raise CheckError(str(error)) from None
    if not record["run_id"]:
        raise CheckError(f"{folder / 'run.json'}: run_id is empty: restore the file")
    return record


@dataclass(kw_only=True)
class Tables:
    """The tables of one history; `damage` grows as they are read."""

    folder: Path  # the run's
    run_id: str
    seal: Seal | None
    span_ns: Span = EVER_NS  # when the run was
    damage: list[Damage] = field(default_factory=list)
    values_told: bool = True  # else records were read of which nobody says what they were

    def small(self, name: str) -> Rows:
        """A small table; no rows where it is damaged, or where it is of an older harness, which had
        none of that name."""
        file = f"{HISTORY}/{name}.parquet"
        if self._is_older(name):
            return ()
        try:
            return self._small(self.folder / file, name)
        except TableError as error:
            self.damage.append(Damage(file=file, why=str(error)))
            return ()

    def _is_older(self, name: str) -> bool:
        sealed = self.seal is not None and f"{name}.parquet" in self.seal.tables
        there = os.path.lexists(self.folder / HISTORY / f"{name}.parquet")
        return name in tables.ADDED_TABLES and not sealed and not there

    def _small(self, file: Path, name: str) -> Rows:
        data = stored_tables.read_bytes(file)
        self._check_digest(f"{name}.parquet", hashlib.sha256(data).hexdigest())
        rows = stored_tables.rows_in(data, tables.SMALL_TABLES[name])
        why = lacks(rows, tables.REQUIRED[name], self.run_id) or _no_json(rows)
        if why := why or strange(rows, self.span_ns) or impossible(rows, name):
            raise TableError(why)
        if self.seal and name == "findings" and len(rows) != self.seal.findings:
            raise TableError(f"it has {len(rows)} rows, and {self.seal.findings} were sealed")
        return tuple(rows)

    def evidence(self) -> tuple[pa.Table | None, str | None]:
        """What was kept of the brokers' own logs, and why there is none; neither of an older
        harness, which kept nothing. No verdict rests on it, so what is wrong with it is no
        `damage`."""
        file = f"{HISTORY}/kept.parquet"
        if self._is_older("kept"):
            return None, None
        try:
            return self._evidence(self.folder / file), None
        except TableError as error:
            return None, f"{file}: {error}"

    def _evidence(self, file: Path) -> pa.Table:
        columns = tables.SMALL_TABLES["kept"]
        self._check_digest(file.name, stored_tables.digest(file))
        rows = stored_tables.footer(file, columns).num_rows
        if rows > stored_tables.MOST_SMALL_ROWS:
            raise TableError(f"it has {rows:,} rows, more than any table of ours")
        table = stored_tables.whole(file, columns, self.run_id)
        times = pc.min_max(table["time_ns"]).as_py()
        if rows and strange([{"time_ns": time_ns} for time_ns in times.values()], self.span_ns):
            raise TableError(f"it holds rows {ANOTHER_TIME}")
        return table

    def events(self, files: Mapping[str, Path], findings: Sequence[Finding]) -> tuple[Event, ...]:
        """The workers' events; no rows where they lack what the operations in these files, by
        process, rest on. Of a worker of which sealing found lines damaged that is known already,
        and a history that nobody sealed may be told by anybody."""
        known = len(self.damage)
        rows = cast("tuple[Event, ...]", self.small("events"))
        if self.seal is None or len(self.damage) > known:
            return rows
        torn = {finding["process"] for finding in findings if finding["kind"] not in HARMLESS}
        whole = {process: file for process, file in files.items() if process not in torn}
        unended = {finding["process"] for finding in findings if finding["kind"] == "no-end"}
        for why in missing_events(rows, whole, unended, values_told=self.values_told):
            self.damage.append(Damage(file=f"{HISTORY}/events.parquet", why=why))
        return rows if len(self.damage) == known else ()

    def views(self, faults: Sequence[Fault], blind: Sequence[Blind]) -> tuple[View, ...]:
        """The table of views; no rows where it lacks what the faults saw."""
        known = len(self.damage)
        rows = cast("tuple[View, ...]", self.small("views"))
        why = unseen(faults, rows, blind) if len(self.damage) == known else None
        if why is None:
            return rows
        self.damage.append(Damage(file=f"{HISTORY}/views.parquet", why=why))
        return ()

    def operations(
        self, partitions: int, findings: Sequence[Finding] = ()
    ) -> dict[str, pq.FileMetaData]:
        """The footers of the good tables of operations, by process. `partitions`: how many the
        workers know of; those that a fault adds stay empty. `findings`: what sealing found."""
        sealed = self.seal.processes if self.seal else ()
        found = {}
        for process in sorted({*sealed, *self._stored()}):
            file = f"{OPERATIONS}/{process}.parquet"
            try:
                dropped = dropped_slots(findings, process)
                found[process] = self._operations(self.folder / file, partitions, dropped)
            except TableError as error:
                self.damage.append(Damage(file=file, why=str(error), process=process))
        rows = sum(footer.num_rows for footer in found.values())
        formats = {format_of(footer) for footer in found.values() if footer.num_rows}
        if self.seal and len(formats) > 1:
            why = "some of its tables are of format 1, and some of format 2"
            self.damage.append(Damage(file=OPERATIONS, why=why))
        if self.seal and found.keys() == set(sealed) and rows != self.seal.operations:
            why = f"it holds {rows:,} operations, and {self.seal.operations:,} were sealed"
            self.damage.append(Damage(file=OPERATIONS, why=why))
        return found

    def _operations(self, file: Path, partitions: int, dropped: int | None) -> pq.FileMetaData:
        process = file.stem
        if self.seal and process not in self.seal.processes:
            raise TableError("it is not among the tables that were sealed")
        if not re.fullmatch(_READ_NAME, process):
            raise TableError("no worker has this name, and readers of Parquet pass over it")
        if self.seal and self.seal.version == 2:
            self._check_digest(f"operations/{process}.parquet", stored_tables.digest(file))
        numbered = Numbered()
        odd = oddity(
            numbered.watched(stored_tables.row_groups(file, tables.OPERATION_COLUMNS)),
            run_id=self.run_id,
            process=process,
            partitions=partitions,
            span_ns=self.span_ns,
        )
        odd = odd or numbered.lacks(dropped) or (numbered.lacks_values() if self.seal else None)
        if odd is not None:
            raise TableError(odd)
        footer = stored_tables.footer(file, tables.OPERATION_COLUMNS)
        if not is_summed_up(footer):
            raise TableError("its footer does not sum its columns up, as sealing does")
        if self.seal and format_of(footer) is None:
            raise TableError("it is of no format: it has some of what format 2 has, and not all")
        return footer

    def _stored(self) -> list[str]:
        """The names of the tables of operations that are there, of whomever."""
        folder = self.folder / OPERATIONS
        try:
            names = sorted(path.name for path in folder.iterdir())
        except OSError as error:
            self.damage.append(Damage(file=OPERATIONS, why=f"cannot be read ({error.strerror})"))
            return []
        return [name.removesuffix(".parquet") for name in names if name.endswith(".parquet")]

    def _check_digest(self, name: str, found: str) -> None:
        if self.seal is None or self.seal.version == 1:
            return
        sealed = self.seal.tables.get(name)
        if sealed is None:
            raise TableError("sealed.json, which has the digest of each table, has none of it")
        if sealed.sha256 != found:
            raise TableError("it is not the table that was sealed: its SHA-256 is another")


def tables_of(folder: Path, record: Mapping[str, Any]) -> Tables:
    """The tables of a run's history. Raises CheckError where there is no history at all."""
    run_id = str(record["run_id"])
    if not (folder / HISTORY).is_dir():
        raise CheckError(f"{folder / HISTORY}: missing, or no folder: restore the run's history")
    found = Tables(folder=folder, run_id=run_id, seal=None, span_ns=_span_ns(record))
    found.values_told = VALUES not in (record.get("untold") or ())
    file = f"{HISTORY}/{SEALED}"
    try:
        found.seal = read_seal(folder / HISTORY)
    except HistoryError as error:
        why = str(error).removeprefix(f"{folder / file}: ")
        found.damage.append(Damage(file=file, why=why))
    if found.seal and found.seal.run_id != run_id:
        why = f"it is of run {found.seal.run_id}, but run.json says {run_id}"
        found.damage.append(Damage(file=file, why=why))
        found.seal = None
    return found


def _span_ns(record: Mapping[str, Any]) -> Span:
    """When a run was: from its first phase to its last, as far as its record has them. Of a run
    that did not get to its end, faults are healed and workers ended after its last phase."""
    phases = record.get("phases") or []
    if not phases or phases[0]["name"] != FIRST_PHASE:
        return EVER_NS
    ended = record.get("state") == "complete" and phases[-1]["name"] == LAST_PHASE
    to_ns = phases[-1]["end_ns"] + MARGIN_NS if ended else EVER_NS[1]
    return phases[0]["start_ns"] - MARGIN_NS, to_ns


def _no_json(rows: list[dict[str, Any]]) -> str | None:
    """What a fault's views of the cluster are not: JSON objects."""
    for number, row in enumerate(rows):
        for name in ("before", "after"):
            try:
                if not isinstance(json_text.loads(row.get(name) or "{}"), dict):
                    raise ValueError
            except ValueError:
                return f"row {number}: {name} is no JSON object"
    return None
