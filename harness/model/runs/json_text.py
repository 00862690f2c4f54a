"""Reads JSON with suspicion, because somebody else may have written it.

    loads('{"a": 1, "a": 2}')       ValueError: the key 'a' is there twice
    loads('{"a": {"b": 1e999}}')    ValueError: a.b is not a finite number

It refuses what Python's own reader accepts and we never write: NaN and infinities, whole numbers
beyond 64 bits, a repeated key in one table, half a character, and nesting beyond `DEPTH`, which
would end in a RecursionError somewhere. It reads regular files up to `MOST_BYTES` only: no pipe
without a writer, no endless device.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DEPTH = 32
MOST_BYTES = 64 * 2**20
LEAST, MOST = -(2**63), 2**63 - 1
LONGEST_NUMBER = 400  # characters: beyond them no number is one of ours


def loads(text: str | bytes) -> Any:
    """The value of a text. Raises ValueError; the message names the key where there is one."""
    try:
        value = json.loads(
            text, parse_int=_whole, parse_constant=_constant, object_pairs_hook=_table
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    for path, part in _every(value):
        if problem := _problem(path, part):
            raise ValueError(f"{'.'.join(path) or 'it'} {problem}")
    return value


def read_bytes(file: Path) -> bytes:
    """The content of a regular file. Raises OSError for anything else, and ValueError for one that
    is too long."""
    # Not to wait for the other end of a pipe.
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file", str(file))
        if status.st_size > MOST_BYTES:
            raise ValueError(f"longer than {MOST_BYTES // 2**20} MiB: restore the file")
        return opened.read(MOST_BYTES)


def _whole(text: str) -> int | float:
    return int(text) if len(text) <= LONGEST_NUMBER else math.inf


def _constant(_: str) -> float:
    return math.nan


def _table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} is there twice")
    return table


def _every(value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value with its path, without recursion; keys count as values too."""
    left: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while left:
        path, part = left.pop()
        yield path, part
        if len(path) > DEPTH:
            continue
        if isinstance(part, dict):
            left += [((*path, key.encode(errors="replace").decode()), key) for key in part]
            left += [((*path, key), inner) for key, inner in part.items()]
        if isinstance(part, list):
            left += [((*path, str(n)), inner) for n, inner in enumerate(part)]


def _problem(path: Sequence[str], value: Any) -> str | None:
    if len(path) > DEPTH:
        return f"is nested more than {DEPTH} deep"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a finite number"
    if isinstance(value, int) and not LEAST <= value <= MOST:
        return "is beyond 64 bits"
    if isinstance(value, str) and not value.isascii() and _halved(value):
        return "has half a character (a lone surrogate)"
    return None


def _halved(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
