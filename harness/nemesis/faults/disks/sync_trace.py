"""Derives what a power loss leaves of a node's files, from the trace of its file calls.

    write(9</d/t-0/0.log>, ""..., 100) = 100      the file is 100 bytes long, none of them synced
    fsync(9</d/t-0/0.log>) = 0                    100 bytes are on disk
    write(9</d/t-0/0.log>, ""..., 50) = 50        a power loss now leaves 100 of 150

Synced is what the file held when an fsync or fdatasync that succeeded was *begun*. The model of the
disk: it keeps names (a journaling filesystem), and writes contents only when they are synced. So
each file loses its unsynced end, and a file that was never synced is gone. Offset and time indexes
and the index of aborted transactions are gone too, because Kafka writes them through memory maps,
which no system call shows; Kafka builds them again. A truncation counts as synced at once.

Pure: lines and sizes in, lengths out. The lines are strace's
(`harness.cluster.local.launch_modes`), and those of `baseline`, which say what an earlier power
loss left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

INDEXES = frozenset({".index", ".timeindex", ".txnindex"})
SEGMENT = ".log"

# pid, call, its arguments, and "= result". There is none when another thread's call came between,
# and it is "?" when the thread was killed in the call: what it did is not known.
_CALL = re.compile(r"(\d+) +(\w+)\((.*?)(?:\) += (?:(-?\d+)|\?)| <unfinished \.\.\.>)", re.ASCII)
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>.*\) += (-?\d+)", re.ASCII)
_SYNCED = re.compile(r"synced (\d+) (.*)", re.ASCII)
_FILE = re.compile(r"\d+<([^>]*)>")
_NAMES = re.compile(r'"([^"]*)"')
_ENDED = r"^{pid} +\+\+\+ (?:killed|exited)"


class TraceError(RuntimeError):
    """The trace does not explain a file's length, so nothing follows from it."""


@dataclass(slots=True, kw_only=True)
class File:
    """A file as the trace shows it so far; changes line by line."""

    length: int = 0
    synced: int | None = None  # None: never
    writing: int = 0  # writes begun whose end the trace has not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What a power loss does to a node's files: path -> length to cut to, and what goes."""

    cut: Mapping[str, int]
    remove: tuple[str, ...]
    bytes_before: int  # in segments
    bytes_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A system call that has begun; its result may not be known yet."""

    name: str
    arguments: str
    length: int  # of its file when it was begun


def ended(trace: str, pid: int) -> bool:
    """Whether the trace has the line that says how process `pid` ended: nothing follows it."""
    return re.search(_ENDED.format(pid=pid), trace, re.MULTILINE) is not None


def files(lines: Iterable[str]) -> dict[str, File]:
    """Every file that the trace names, as the last line leaves it."""
    by_path: dict[str, File] = {}
    begun: dict[str, _Call] = {}
    for line in lines:
        if call := _CALL.match(line):
            pid, name, arguments, result = call.groups()
            one = _begin(by_path, name, arguments, unfinished=result is None)
            if result is None:
                begun[pid] = one
            else:
                _end(by_path, one, int(result), unfinished=False)
        elif resumed := _RESUMED.match(line):
            if one_begun := begun.pop(resumed[1], None):
                _end(by_path, one_begun, int(resumed[3]), unfinished=True)
        elif base := _SYNCED.match(line):
            by_path[base[2]] = File(length=int(base[1]), synced=int(base[1]))
    return by_path


def baseline(sizes: Mapping[str, int]) -> str:
    """The first lines of a new trace after a power loss: all files are synced as they are now."""
    return "".join(f"synced {size} {path}\n" for path, size in sizes.items())


def cuts(by_path: Mapping[str, File], sizes: Mapping[str, int]) -> Cuts:
    """What a power loss does to files of these sizes. Raises TraceError when a segment has
    another size than in the trace: what was synced is not known then."""
    cut: dict[str, int] = {}
    remove: list[str] = []
    for path, size in sizes.items():
        file = by_path.get(path, File())
        segment = PurePath(path).suffix == SEGMENT
        if segment and (size < file.length or (size > file.length and not file.writing)):
            raise TraceError(f"{path} has {size} bytes, but the trace saw {file.length} written")
        if PurePath(path).suffix in INDEXES or file.synced is None:
            remove.append(path)
        elif file.synced < size:
            cut[path] = file.synced
    segments = {path: size for path, size in sizes.items() if PurePath(path).suffix == SEGMENT}
    left = {path: cut.get(path, size) for path, size in segments.items() if path not in remove}
    return Cuts(
        cut=cut,
        remove=tuple(remove),
        bytes_before=sum(segments.values()),
        bytes_after=sum(left.values()),
    )


def _begin(by_path: dict[str, File], name: str, arguments: str, *, unfinished: bool) -> _Call:
    file = by_path.get(_path(arguments))
    if unfinished and name in ("write", "pwrite64"):
        file = by_path.setdefault(_path(arguments), File())
        file.writing += 1
    return _Call(name=name, arguments=arguments, length=file.length if file else 0)


def _end(by_path: dict[str, File], call: _Call, result: int, *, unfinished: bool) -> None:
    path = _path(call.arguments)
    if unfinished and call.name in ("write", "pwrite64"):
        by_path.setdefault(path, File()).writing -= 1
    if result < 0:
        return
    if call.name == "write":
        by_path.setdefault(path, File()).length += result
    elif call.name == "pwrite64":
        file = by_path.setdefault(path, File())
        file.length = max(file.length, int(call.arguments.rsplit(",", 1)[1]) + result)
    elif call.name in ("fsync", "fdatasync"):
        file = by_path.setdefault(path, File())
        file.synced = max(file.synced or 0, min(call.length, file.length))
    elif call.name == "ftruncate":
        _truncate(by_path, path, int(call.arguments.rsplit(",", 1)[1]))
    elif call.name.startswith("rename"):
        _rename(by_path, *_NAMES.findall(call.arguments)[:2])
    elif call.name.startswith("unlink"):
        by_path.pop(_NAMES.findall(call.arguments)[0], None)


def _truncate(by_path: dict[str, File], path: str, length: int) -> None:
    file = by_path.setdefault(path, File())
    file.length = length
    if file.synced is not None:
        file.synced = min(file.synced, length)


def _rename(by_path: dict[str, File], old: str, new: str) -> None:
    """Rename a file, or a folder with all files in it, over what had the new name."""
    for path in [p for p in by_path if p == old or p.startswith(f"{old}/")]:
        by_path[new + path[len(old) :]] = by_path.pop(path)


def _path(arguments: str) -> str:
    match = _FILE.match(arguments)
    return match[1] if match else ""
