"""Seals a run's recorded history into Parquet, the one format that checkers read.

    history/*.seg, *.jsonl  ->  history/operations/<process>.parquet, one a process
                                history/{events,faults,views,blind,watermarks,kept,findings}.parquet
                                history/sealed.json, written last

It seals whatever was recorded, of a run that ended in order and of one that was killed. What cannot
be read as recorded (torn and impossible records, cut segments, damaged lines, a worker without its
end) becomes a row of `findings`, never an exception. `HistoryError` means that a file cannot be
read or written at all, or that its process is still recording.

Sealing can be repeated, interrupted anywhere and done twice at once (the second waits): each table
appears by a rename, `sealed.json` appears after all of them, and segments are removed after that.
Side files stay: people read them.

Sealing makes no history worse whose files were lost or mixed up. A table that cannot be made again
is kept, and is a finding (harness.history.placing). Segments are removed only if `sealed.json` is
this run's and their table reads back whole, unchanged since sealing.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import side_files
from harness.history.placing import Places, rows_of_this_run, rows_there
from harness.history.record_format import (
    F_NAMES,
    NOTHING,
    OPEN,
    OPTIONAL,
    PROCESS_NAME,
    TYPE_NAMES,
    HistoryError,
)
from harness.history.seal_record import SEALED, Seal, read_seal
from harness.history.segments import Array, Content, Finding, read_segment, segments_of
from harness.history.side_files import KEPT, NEMESIS, VIEWS, WATERMARKS, Row
from harness.history.stored_tables import TableError, digest
from harness.history.tables import OPERATION_COLUMNS, ROW_GROUP, SMALL_TABLES, schema
from harness.model.runs.disk import disk_error
from harness.model.runs.run_folder import RunFolder, StoreError

__all__ = ["HistoryError", "Seal", "seal"]

# Few distinct values; the numbers are mostly distinct, and a dictionary of them is wasted work.
_FEW: Final = ("run_id", "process", "f", "type", "partition", "error", "broker")
_DICTIONARIES: Final = [*_FEW, "instance", "transaction", "generation", "epoch"]
_TYPES: Final = pa.array([TYPE_NAMES.get(code, "") for code in range(max(TYPE_NAMES) + 1)])
_FS: Final = pa.array([F_NAMES.get(code, "") for code in range(max(F_NAMES) + 1)])


def seal(run_dir: Path) -> Seal:
    """Seal a run's history, or return its existing seal. Raises HistoryError and DiskError."""
    folder = run_dir / "history"
    if not folder.is_dir():
        raise HistoryError(f"{run_dir}: it has no folder `history`: give the folder of a run")
    run_id, workers = _id_and_workers(run_dir)
    with _errors_of(folder), _alone(folder):
        done = read_seal(folder)
        if done is None:
            done = _seal(folder, run_id, workers)
            text = done.model_dump_json(indent=1) + "\n"
            _replace(folder / SEALED, text.encode())
        elif done.run_id != run_id:
            raise HistoryError(
                f"{folder / SEALED}: of run {done.run_id}, but run.json says {run_id}: put back "
                "the run's own, or move it out of the folder to have what is there sealed"
            )
        _tidy(folder, done)
    return done


def _seal(folder: Path, run_id: str, workers: Sequence[str]) -> Seal:
    segments = segments_of(folder)
    others = (NEMESIS, VIEWS, WATERMARKS, KEPT)
    files = [*folder.glob("*.jsonl"), *(folder / "operations").glob("*.parquet")]
    named = {path.stem for path in files if re.fullmatch(PROCESS_NAME, path.stem)} - set(others)
    processes = sorted(segments.keys() | named)
    places = Places(folder=folder, run_id=run_id)
    findings: list[Finding] = []
    events: list[Row] = []
    operations = 0
    (folder / "operations").mkdir(exist_ok=True)
    for process in processes:
        _refuse_living(folder / f"{process}.jsonl")
        side = side_files.read(folder / f"{process}.jsonl")
        own = side_files.events(side, run_id)
        events += own
        own_segments = segments.get(process, [])
        operations += _put_operations(places, process, own_segments, own, findings)
        findings += [*side.findings(), *_no_end(process, own)]
    findings += [_never_recorded(worker) for worker in workers if worker not in processes]
    findings += _put_small_tables(places, events)
    if processes and not (folder / f"{VIEWS}.jsonl").exists():
        findings.append(_no_views())
    count = _put_findings(places, findings)
    return Seal(
        version=2,
        run_id=run_id,
        processes=tuple(processes),
        operations=operations,
        findings=count,
        tables=places.tables,
    )


def _put_small_tables(places: Places, events: list[Row]) -> list[Finding]:
    """Put all tables but the findings; returns what was wrong with the harness's own lines."""
    names = (NEMESIS, VIEWS, WATERMARKS, KEPT)
    nemesis, views, watermarks, kept = sides = [
        side_files.read(places.folder / f"{name}.jsonl") for name in names
    ]
    faults = side_files.faults(nemesis, places.run_id)
    changes, blind = side_files.views(views, places.run_id)
    looks = side_files.watermarks(watermarks, places.run_id)
    made = {
        "events": events,
        "faults": faults,
        "views": changes,
        "blind": blind,
        "watermarks": looks,
        "kept": side_files.kept(kept, places.run_id),
    }
    for name, rows in made.items():
        write = partial(_write_small, name, rows)
        places.put(f"{name}.parquet", name, SMALL_TABLES[name], write)
    return [finding for side in sides for finding in side.findings()]


def _put_findings(places: Places, findings: Sequence[Finding]) -> int:
    """Put the findings, with those of an earlier sealing, whose causes may be gone."""
    columns = SMALL_TABLES["findings"]
    every = [*findings, *places.kept]
    rows: list[Row] = [{"run_id": places.run_id, **asdict(finding)} for finding in every]
    earlier = rows_of_this_run(places.folder / "findings.parquet", places.run_id, columns)
    rows += [row for row in earlier if row not in rows]
    return places.put(
        "findings.parquet", "findings", columns, partial(_write_small, "findings", rows)
    )


def _tidy(folder: Path, done: Seal) -> None:
    """Remove sealed segments, and files that only running workers use."""
    for process, paths in segments_of(folder).items():
        if _is_whole(folder, done, process):
            for path in paths:
                path.unlink()
    for pattern in ("*.partial", "*.progress"):
        for path in folder.glob(pattern):
            path.unlink()


def _is_whole(folder: Path, done: Seal, process: str) -> bool:
    """Whether a process's table has everything of its segments."""
    if process not in done.processes:
        return False
    if done.version == 1:  # which knows the rows of all processes together
        of_all = [_rows(folder, name, done.run_id) for name in done.processes]
        return None not in of_all and done.operations == sum(name or 0 for name in of_all)
    sealed = done.tables.get(f"operations/{process}.parquet")
    if sealed is None or sealed.kept:
        return False
    file = folder / "operations" / f"{process}.parquet"
    same = _rows(folder, process, done.run_id) == sealed.rows
    return same and digest(file) == sealed.sha256


def _rows(folder: Path, process: str, run_id: str) -> int | None:
    return rows_there(folder / "operations" / f"{process}.parquet", OPERATION_COLUMNS, run_id)


def _put_operations(
    places: Places,
    process: str,
    segments: Sequence[Path],
    events: list[Row],
    findings: list[Finding],
) -> int:
    """Put one process's table; returns its rows. Adds findings on the way."""
    name = f"operations/{process}.parquet"
    if not segments:
        if os.path.lexists(places.folder / name):
            return places.put(name, process, OPERATION_COLUMNS, None)
        findings.append(_no_segments(process))
    contents = _contents(process, segments, findings)
    write = partial(_write_operations, places.run_id, process, contents, events)
    return places.put(name, process, OPERATION_COLUMNS, write)


def _contents(process: str, paths: Sequence[Path], findings: list[Finding]) -> Iterator[Content]:
    """The contents of each segment in turn; adds findings on the way."""
    expected = 0
    for number, path in enumerate(paths):
        last = number == len(paths) - 1
        content = read_segment(path, process, first_id=expected, last=last)
        findings += content.findings
        expected = content.end_id
        yield content


def _write_operations(
    run_id: str,
    process: str,
    contents: Iterator[Content],
    events: list[Row],
    path: Path,
) -> int:
    """Write one process's table, a segment at a time; returns its rows."""
    names = side_files.error_names(events)
    wanted, rows, count = schema(OPERATION_COLUMNS), 0, 0
    waiting: list[pa.Table] = []
    with pq.ParquetWriter(path, wanted, compression="zstd", use_dictionary=_DICTIONARIES) as writer:
        for content in contents:
            waiting.append(_operations(run_id, process, content, names))
            count += len(content.ids)
            rows += len(content.ids)
            if rows >= ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting), row_group_size=rows)
                waiting, rows = [], 0
        writer.write_table(pa.concat_tables([*waiting, wanted.empty_table()]))
    return count


def _operations(run_id: str, process: str, content: Content, names: dict[int, str]) -> pa.Table:
    records, length = content.records, len(content.ids)
    missing = {name: records[name] == NOTHING for name in ("instance", *OPTIONAL)}
    columns = {
        "run_id": pa.repeat(pa.scalar(run_id), length),
        "process": pa.repeat(pa.scalar(process), length),
        "id": pa.array(content.ids),
        "f": _FS.take(pa.array(records["f"])),
        "type": _TYPES.take(pa.array(records["type"])),
        "error": _errors(records["error"], names),
        "end_ns": pa.array(records["end_ns"], mask=records["type"] == OPEN),
        **{name: pa.array(records[name], mask=mask) for name, mask in missing.items()},
        **{name: pa.array(records[name]) for name in ("partition", "intended_ns", "start_ns")},
    }
    wanted = schema(OPERATION_COLUMNS)
    return pa.table([columns[name] for name in wanted.names], schema=wanted)


def _errors(codes: Array, names: dict[int, str]) -> pa.Array:
    """The names of error codes; null where there was none."""
    distinct, positions = np.unique(codes, return_inverse=True)
    texts = [None if code == 0 else names.get(code, f"code {code}") for code in distinct.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(positions.reshape(-1)))


def _no_end(process: str, events: list[Row]) -> list[Finding]:
    if any(row["event"] == "end" for row in events):
        return []
    text = "it has no `end`: the worker died, or its side file was truncated"
    return [Finding(process=process, kind="no-end", count=1, text=text)]


def _no_segments(process: str) -> Finding:
    text = f"{process}.0000.seg: missing; a worker has one from its first moment on"
    return Finding(process=process, kind="truncated-segment", count=1, text=text)


def _no_views() -> Finding:
    text = f"{VIEWS}.jsonl: missing; the cluster is watched from before the first worker on"
    return Finding(process=VIEWS, kind="missing", count=1, text=text)


def _never_recorded(worker: str) -> Finding:
    text = "run.json names this worker, but it has recorded nothing"
    return Finding(process=worker, kind="no-end", count=1, text=text)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else seals this history; the lock ends with its process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _refuse_living(path: Path) -> None:
    """Raise HistoryError if a recorder still holds the lock of its side file (see
    history.Recorder)."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HistoryError(
                f"{path}: a running worker still writes to it: wait until the run ends, or stop it"
            ) from None


def _id_and_workers(run_dir: Path) -> tuple[str, list[str]]:
    """The run's id and its workers; without a run.json, the id by the folder's place."""
    run = RunFolder(path=run_dir.resolve())
    if not run.recorded:
        return run.run_id, []
    try:
        record = run.read()
    except StoreError as error:
        raise HistoryError(str(error)) from None
    return record.run_id, [worker.process for worker in record.workers]


def _write_small(name: str, rows: list[Row], path: Path) -> int:
    pq.write_table(pa.Table.from_pylist(rows, schema(SMALL_TABLES[name])), path, compression="zstd")
    return len(rows)


def _replace(path: Path, data: bytes) -> None:
    unnamed = path.with_name(f".{path.name}")
    unnamed.unlink(missing_ok=True)  # never through a link
    unnamed.write_bytes(data)
    unnamed.replace(path)


@contextmanager
def _errors_of(folder: Path) -> Iterator[None]:
    try:
        yield
    except TableError as error:
        raise HistoryError(f"{folder}: a table just written cannot be read back: {error}") from None
    except OSError as error:
        if full := disk_error(error, folder):
            raise full from None
        where = error.filename or folder
        raise HistoryError(
            f"{where}: cannot be written ({error.strerror or error}): "
            "make room and make the folder writable, then check the run again"
        ) from None
