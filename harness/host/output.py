"""Keeps a command going when nobody reads its output any more: `kafka-harness run study-1 | head
-3`.

A command goes on in silence and ends with the exit code that it would have had: a run is healed,
sealed, checked and reported, and its verdict does not depend on its output. Where output cannot be
kept (a full disk below `> log`), the command goes on as well, and fails at the end: `unkept`. A
command that prints without end asks `unread`, and stops.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


class _Kept(io.FileIO):
    """A file descriptor that accepts whatever is written to it."""

    gone = False
    error: OSError | None = None  # the first that some of it met

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            # Later child processes inherit the descriptor, and cannot fail either.
            self.gone = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
        except OSError as error:
            self.error = self.error or error
        return memoryview(data).nbytes


_guarded: list[_Kept] = []  # stdout, once it is


def outlive_readers() -> None:
    """From now on no output of this process can fail."""
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _same(sys.stdout)
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _same(sys.stderr)


def _same(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """The same stream, guarded."""
    stream.flush()
    kept = _Kept(stream.fileno(), "w", closefd=False)
    if stream is sys.__stdout__:
        _guarded.append(kept)
    return io.TextIOWrapper(
        io.BufferedWriter(kept),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def unread() -> bool:
    """Whether the reader of stdout is known to have gone."""
    return any(kept.gone for kept in _guarded)


def unkept() -> OSError | None:
    """Why a part of stdout was not kept; None if all of it was, or if nobody reads it. Flushes
    first."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    return next((kept.error for kept in _guarded if kept.error is not None), None)


def print_table(console: Console, table: Table) -> None:
    """Print a table; without a terminal, without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    lines = [line.rstrip() for line in printed.get().splitlines()]
    console.file.write("\n".join(lines) + "\n")
    console.file.flush()
