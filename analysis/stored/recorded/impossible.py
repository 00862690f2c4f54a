"""Rows of small tables that no recorder can have written.

    an event `transaction` without its number, or with -5      a fault healed before it was injected
    `ends` that is complete at position 9 of 10                an `assigned` of partitions "x, -1"
    an event that no worker writes                             the same event twice, to the ns

Every number of these tables counts something from 0 on, but for a few: a generation, and where a
client was put back to, may be -1, which is none; librdkafka's codes may be anything.

docs/history.md says what each column means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

# The events that workers write, and what each of them always has.
_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "start": ("text",),
    "error-name": ("code", "name"),
    "client-error": (),
    "serving": ("partition",),
    "held": (),
    "released": (),
    "waited": ("since_ns",),
    "paused": ("text",),
    "resumed": ("text",),
    "unparsable": ("partition",),
    "corrupt-payload": ("partition", "position"),
    "client": ("instance",),
    "producer-id": ("instance", "text"),
    "transaction": ("transaction", "name"),
    "position": ("partition", "position"),
    "reset": ("partition",),
    "undecided": ("partition", "committed_end", "uncommitted_end"),
    "nothing": ("since_ns",),
    "member": ("generation",),
    "ends": ("partition", "complete"),
    "passed": ("partition", "position"),
    "output-ends": ("partition", "complete"),
    "dumped": ("partition", "name"),
    "assigned": ("text",),
    "revoked": (),
    "dies": (),
    "end": (),
}
_TRANSACTION = frozenset(
    ("begun", "commit-asked", "abort-asked", "committed", "aborted", "unknown")
)
_LISTED = re.compile(r"(\d{1,9}(, \d{1,9})*)?")
_FINDINGS = frozenset(
    ("torn", "no-end", "bad-record", "truncated-segment", "bad-line", "missing", "kept")
)
_LEAST = {"generation": -1}  # of a number that is there; elsewhere 0
_ANY = frozenset({"code"})
# What comes no earlier than what stands before it, where both are there.
_IN_ORDER = (
    ("since_ns", "time_ns"),
    ("time_ns", "end_ns"),
    ("start_ns", "end_ns"),
    ("invoke_ns", "ok_ns"),
    ("invoke_ns", "heal_invoke_ns"),
    ("heal_invoke_ns", "heal_ok_ns"),
)


def impossible(rows: Sequence[Row], name: str) -> str | None:
    """Which row of a small table says what nobody records, and how many do, as the end of a
    sentence."""
    odd = [(number, why) for number, row in enumerate(rows) if (why := _odd(row, name))]
    if not odd and name == "events":
        odd = _repeated(rows)
    if not odd:
        return None
    number, why = odd[0]
    more = f", and so are {len(odd) - 1:,} more" if len(odd) > 1 else ""
    return f"row {number} is nothing that is recorded: {why}{more}"


def _odd(row: Row, name: str) -> str | None:
    for column, value in row.items():
        if type(value) is int and column not in _ANY and value < _least(row, column):
            return f"{column} is {value}"
    for first, second in _IN_ORDER:
        began, ended = row.get(first), row.get(second)
        if began is not None and ended is not None and ended < began:
            return f"{second} is before {first}"
    of_table = _OF_TABLE.get(name)
    return of_table(row) if of_table else None


def _least(row: Row, column: str) -> int:
    if column == "position" and row.get("event") == "reset":
        return -1
    return _LEAST.get(column, 0)


def _event(row: Row) -> str | None:
    event, text = str(row["event"]), row["text"]
    always = _ALWAYS.get(event)
    if always is None:
        return f"no worker writes an event {event[:80]}"
    for column in always:
        if row[column] is None:
            return f"{event} without {column}"
    if event == "transaction" and row["name"] not in _TRANSACTION:
        return f"a transaction is not {str(row['name'])[:80]}"
    if event in ("assigned", "revoked") and not _LISTED.fullmatch(text or ""):
        return f"{event} of {str(text)[:80]!r}, which are no partitions"
    of_command = event == "output-ends" and row["position"] is None
    if event in ("ends", "output-ends") and row["complete"] and not of_command:
        position, end = row["position"], row["uncommitted_end"]
        if row["log_start"] is None or position is None or end is None or position < end:
            return "ends that are complete, and were not reached"
    return None


def _finding(row: Row) -> str | None:
    return None if row["kind"] in _FINDINGS else f"no finding is {str(row['kind'])[:80]}"


_OF_TABLE: Mapping[str, Callable[[Row], str | None]] = {"events": _event, "findings": _finding}


def _repeated(rows: Sequence[Row]) -> list[tuple[int, str]]:
    """Events that stand there twice, and those behind their worker's end."""
    seen, ended, odd = set[tuple[Any, ...]](), set[str](), []
    for number, row in enumerate(rows):
        if (same := tuple(row.values())) in seen:
            odd.append((number, f"the same {row['event']} stands there already"))
        elif row["process"] in ended:
            odd.append((number, f"{row['event']} behind its worker's end"))
        seen.add(same)
        if row["event"] == "end":
            ended.add(row["process"])
    return odd
