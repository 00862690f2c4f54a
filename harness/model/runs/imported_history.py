"""What any imported history can be, whether it comes as lines, as EDN or as tables.

    an offset    a whole number from 0 to 2^48 - 1: partition and offset are one number of 64 bits
    a time       a whole number of nanoseconds from 0 to 2^62, which is in the year 2116

The one-file job (docs/tables.md) has this module: it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.model.worker_kinds import FIRST_OUTPUT

MOST_PARTITIONS: Final = 1000
LAST_OFFSET: Final = 2**48 - 1
LAST_NS: Final = 2**62
MOST_PRODUCERS: Final = FIRST_OUTPUT - 1
UNSENT: Final = MOST_PRODUCERS  # the producer number of values that were never sent
# From this sequence number on UNSENT's values are of records that may be an earlier run's: whether
# they were ever sent is not known.
FIRST_STRANGER: Final = 2**39
_SHOWN: Final = 60  # characters


def shown(value: object) -> str:
    """The beginning of a value, for a sentence."""
    try:
        text = repr(value)
    except RecursionError:  # repr goes some steps deeper than the parser
        text = type(value).__name__
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}…"


def summary(sends: int, acked: int, reads: int, final_read: str) -> str:
    """How many operations a history has."""
    return f"{sends:,} sends, {acked:,} acked; {reads:,} records read, {final_read}"


def end_fields(
    first: int | None, last: int | None, missing: int | None, *, complete: bool
) -> dict[str, Any]:
    """The fields of an event `ends`: a final read has these first and last offsets of a partition.
    `missing`: the first known offset that it lacks. `complete`: it is, if it lacks none."""
    position = missing if missing is not None else 0 if last is None else last + 1
    return log_fields(first or 0, position, complete=complete and missing is None)


def log_fields(start: int, position: int, *, complete: bool) -> dict[str, Any]:
    """The same of a log's start and a reader's position; only a complete read knows the log end."""
    log_end = {"committed_end": position, "uncommitted_end": position} if complete else {}
    return {"log_start": start, "position": position, "complete": complete, **log_end}


def unplaced(partitions: int, ends: Iterable[Mapping[str, Any]]) -> int:
    """The partition of sends that tell none: one of those of which the least is known, so that none
    is said to be absent that nobody looked for. `ends`: the fields of each event `ends`."""
    known = {each["partition"]: (each["complete"], -(each.get("log_start") or 0)) for each in ends}
    return min(range(partitions), key=lambda number: known.get(number, ()))
