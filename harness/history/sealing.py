"""Sealing: a run's recorded history becomes Parquet, the one format that checkers read.

    history/*.seg, *.jsonl  ->  history/operations/<process>.parquet, one a process
                                history/{events,faults,views,blind,watermarks,findings}.parquet
                                history/sealed.json, written last

Whatever was recorded is sealed, of a run that ended in order and of one that was killed. What
cannot be read as recorded (torn and impossible records, cut segments, damaged lines, a worker
without its end) is a row of `findings`, never an exception. `HistoryError` means that a file as
such cannot be read or written, or that its process is still recording.

Safe to repeat and to interrupt anywhere: each table appears by a rename, `sealed.json` appears
after all of them, and segments are removed after that. Side files stay: people read them.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import side_files
from harness.history.record_format import F_NAMES, NOTHING, OPEN, TYPE_NAMES, HistoryError
from harness.history.segments import Array, Content, Finding, read_segment, segments_of
from harness.history.side_files import NEMESIS, VIEWS, WATERMARKS
from harness.history.tables import (
    BLIND_COLUMNS,
    EVENT_COLUMNS,
    FAULT_COLUMNS,
    FINDING_COLUMNS,
    OPERATION_COLUMNS,
    VIEW_COLUMNS,
    WATERMARK_COLUMNS,
    schema,
)
from harness.model.run_folder import RunFolder, StoreError

__all__ = ["HistoryError", "Seal", "seal"]

ROW_GROUP: Final = 100_000
SEALED: Final = "sealed.json"
# Few distinct values; the numbers are mostly distinct, and a dictionary of them is wasted work.
_DICTIONARIES: Final = ["run_id", "process", "f", "type", "partition", "error", "broker"]
_TYPES: Final = pa.array([TYPE_NAMES.get(code, "") for code in range(max(TYPE_NAMES) + 1)])
_FS: Final = pa.array([F_NAMES.get(code, "") for code in range(max(F_NAMES) + 1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a sealed history holds."""

    run_id: str
    processes: tuple[str, ...]
    operations: int
    findings: int


def seal(run_dir: Path) -> Seal:
    """Seal a run's history, or say what the sealed one holds. Raises HistoryError."""
    folder = run_dir / "history"
    if not folder.is_dir():
        raise HistoryError(f"{run_dir}: it has no folder `history`: give the folder of a run")
    done = _sealed(folder / SEALED)
    if done is None:
        run_id, workers = _id_and_workers(run_dir)
        with _errors_of(folder):
            done = _seal(folder, run_id, workers)
            _replace(folder / SEALED, (json.dumps(asdict(done), indent=1) + "\n").encode())
    with _errors_of(folder):
        for pattern in ("*.seg", "*.partial", "*.progress"):
            for path in folder.glob(pattern):
                path.unlink()
    return done


def _seal(folder: Path, run_id: str, workers: Sequence[str]) -> Seal:
    segments = segments_of(folder)
    others = (NEMESIS, VIEWS, WATERMARKS)
    named = {path.stem for path in folder.glob("*.jsonl")} - set(others)
    processes = sorted(segments.keys() | named)
    findings: list[Finding] = []
    events: list[side_files.Row] = []
    operations = 0
    (folder / "operations").mkdir(exist_ok=True)
    for process in processes:
        _refuse_living(folder / f"{process}.jsonl")
        side = side_files.read(folder / f"{process}.jsonl")
        own = side_files.events(side, run_id)
        events += own
        table = folder / "operations" / f"{process}.parquet"
        contents = _contents(process, segments.get(process, []), findings)
        operations += _write_operations(table, run_id, process, contents, own)
        findings += [*side.findings(), *_no_end(process, own)]
    findings += [_never_recorded(worker) for worker in workers if worker not in processes]
    findings += _write_small_tables(folder, run_id, events)
    rows = [{"run_id": run_id, **asdict(finding)} for finding in findings]
    _write_table(folder / "findings.parquet", FINDING_COLUMNS, rows)
    return Seal(
        run_id=run_id, processes=tuple(processes), operations=operations, findings=len(rows)
    )


def _write_small_tables(folder: Path, run_id: str, events: list[side_files.Row]) -> list[Finding]:
    """All but the findings; returns what was wrong with the harness's own lines."""
    nemesis, views, watermarks = (
        side_files.read(folder / f"{name}.jsonl") for name in (NEMESIS, VIEWS, WATERMARKS)
    )
    faults = side_files.faults(nemesis, run_id)
    changes, blind = side_files.views(views, run_id)
    looks = side_files.watermarks(watermarks, run_id)
    _write_table(folder / "events.parquet", EVENT_COLUMNS, events)
    _write_table(folder / "faults.parquet", FAULT_COLUMNS, faults)
    _write_table(folder / "views.parquet", VIEW_COLUMNS, changes)
    _write_table(folder / "blind.parquet", BLIND_COLUMNS, blind)
    _write_table(folder / "watermarks.parquet", WATERMARK_COLUMNS, looks)
    return [*nemesis.findings(), *views.findings(), *watermarks.findings()]


# Operations


def _contents(process: str, paths: Sequence[Path], findings: list[Finding]) -> Iterator[Content]:
    """Each segment in turn; adds what is found on the way."""
    expected = 0
    for number, path in enumerate(paths):
        last = number == len(paths) - 1
        content = read_segment(path, process, first_id=expected, last=last)
        findings += content.findings
        expected = content.end_id
        yield content


def _write_operations(
    path: Path,
    run_id: str,
    process: str,
    contents: Iterator[Content],
    events: list[side_files.Row],
) -> int:
    """One process's table, a segment at a time; how many rows it has."""
    names = side_files.error_names(events)
    wanted, rows, count = schema(OPERATION_COLUMNS), 0, 0
    partial = path.with_name(f".{path.name}")
    waiting: list[pa.Table] = []
    with pq.ParquetWriter(
        partial, wanted, compression="zstd", use_dictionary=_DICTIONARIES
    ) as writer:
        for content in contents:
            waiting.append(_operations(run_id, process, content, names))
            count += len(content.ids)
            rows += len(content.ids)
            if rows >= ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting), row_group_size=rows)
                waiting, rows = [], 0
        writer.write_table(pa.concat_tables([*waiting, wanted.empty_table()]))
    partial.replace(path)
    return count


def _operations(run_id: str, process: str, content: Content, names: dict[int, str]) -> pa.Table:
    records, length = content.records, len(content.ids)
    missing = {name: records[name] == NOTHING for name in ("value", "offset", "broker")}
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


# Findings of whole processes


def _no_end(process: str, events: list[side_files.Row]) -> list[Finding]:
    if any(row["event"] == "end" for row in events):
        return []
    text = "it has no `end`: the worker died, or its side file was truncated"
    return [Finding(process=process, kind="no-end", count=1, text=text)]


def _never_recorded(worker: str) -> Finding:
    text = "run.json names this worker, but it has recorded nothing"
    return Finding(process=worker, kind="no-end", count=1, text=text)


# Files


def _refuse_living(path: Path) -> None:
    """A recorder holds its side file's lock as long as it lives (see history.Recorder)."""
    if not path.exists():
        return
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HistoryError(
                f"{path}: a running worker still writes to it: wait until the run ends, or stop it"
            ) from None


def _id_and_workers(run_dir: Path) -> tuple[str, list[str]]:
    """The run's id and its workers; where there is no run.json, the id by the folder's place."""
    run = RunFolder(path=run_dir.resolve())
    if not run.recorded:
        return run.run_id, []
    try:
        record = run.read()
    except StoreError as error:
        raise HistoryError(str(error)) from None
    return record.run_id, [worker.process for worker in record.workers]


def _sealed(path: Path) -> Seal | None:
    try:
        raw = json.loads(path.read_bytes())
        return Seal(**{**raw, "processes": tuple(raw["processes"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise HistoryError(f"{path}: damaged: restore the history") from None


def _write_table(
    path: Path, columns: tuple[tuple[str, str], ...], rows: list[side_files.Row]
) -> None:
    partial = path.with_name(f".{path.name}")
    pq.write_table(pa.Table.from_pylist(rows, schema(columns)), partial, compression="zstd")
    partial.replace(path)


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}")
    partial.write_bytes(data)
    partial.replace(path)


@contextmanager
def _errors_of(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise HistoryError(
            f"{where}: cannot be written ({error.strerror or error}): "
            "make room and make the folder writable, then check the run again"
        ) from None
