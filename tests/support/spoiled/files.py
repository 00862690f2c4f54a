"""Copies of a recorded run with one file spoiled, in every way that a file can be."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.checkout import ROOT

GOLDEN = ROOT / "tests" / "golden"
Spoil = Callable[[Path], object]


def copy_of(name: str, folder: Path, run_id: str, *, digests: bool = True) -> Path:
    """A golden run as another run, sealed as today or (digests=False) as its harness did."""
    shutil.copytree(GOLDEN / name, folder)
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "run_id": run_id}))
    history, tables = folder / "history", {}
    for file in sorted(history.rglob("*.parquet")):
        rows = renamed(file, run_id)
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        tables[str(file.relative_to(history))] = {"rows": rows, "sha256": sha256}
    mark = {**json.loads((history / "sealed.json").read_text()), "run_id": run_id}
    new = {"version": 2, "tables": tables} if digests else {}
    (history / "sealed.json").write_text(json.dumps({**mark, **new}))
    return folder


def renamed(file: Path, run_id: str) -> int:
    """Give all rows of a table to a run; how many they are."""
    table = pq.read_table(file)
    ids = pa.array([run_id] * table.num_rows, pa.string())
    at = table.schema.get_field_index("run_id")
    pq.write_table(table.set_column(at, "run_id", ids), file, compression="zstd")
    return int(table.num_rows)


def files_of(run: Path) -> list[str]:
    """Every file of a run, from its folder on."""
    return sorted(str(p.relative_to(run)) for p in run.rglob("*") if not p.is_dir())


def contents(run: Path) -> dict[str, bytes]:
    """What stands in each file of a history that can be read."""
    history = run / "history"
    return {str(p.relative_to(history)): p.read_bytes() for p in history.rglob("*") if p.is_file()}


def spoilings(foreign: Path) -> Iterator[tuple[str, Spoil]]:
    """Each way to spoil a file; `foreign`: another run with files of the same names."""
    yield "deleted", Path.unlink
    yield "emptied", lambda file: file.write_bytes(b"")
    yield "cut", lambda file: file.write_bytes(file.read_bytes()[:-7])
    yield "halved", lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    yield "behind garbage", lambda file: file.write_bytes(b"\0garbage" + file.read_bytes())
    yield "a folder", lambda file: _instead(file, file.mkdir)
    yield "a link to nowhere", lambda file: _instead(file, lambda: file.symlink_to("nowhere"))
    yield "a link to itself", lambda file: _instead(file, lambda: file.symlink_to(file.name))
    yield "a pipe", lambda file: _instead(file, lambda: os.mkfifo(file))
    yield "another run's", lambda file: shutil.copy(foreign / _below(file), file)


def flips() -> Iterator[tuple[str, Spoil]]:
    """One bit at the begin, in the middle and at the end of a file."""
    for name, part in (("begin", 0.1), ("middle", 0.4), ("later", 0.7), ("end", 0.99)):
        yield f"a bit flipped ({name})", partial(flip, part=part)


def _instead(file: Path, make: Callable[[], object]) -> None:
    file.unlink()
    make()


def flip(file: Path, part: float) -> None:
    """Flip a bit of the byte that lies so far into the file."""
    data = bytearray(file.read_bytes())
    data[int(len(data) * part)] ^= 0x10
    file.write_bytes(data)


def _below(file: Path) -> Path:
    """Its place in the run's folder."""
    parts = file.parts
    at = parts.index("history") if "history" in parts else len(parts) - 1
    return Path(*parts[at:])
