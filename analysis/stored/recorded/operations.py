"""Operations that no recorder writes: a table with one is damaged.

`oddity` validates every row of a worker's table, by columns and one row group at a time: millions
of rows take about a second. docs/history.md says what each column means.

`Numbered` finds missing rows. A recorder numbers its operations from 0 on without a gap, and
a producer its values; a slot that sealing has dropped is a finding:

    ids 0, 1, 3                           =>  one is missing
    ids 0, 1, 3, and one slot was torn    =>  whole
    sends of 7, 8, 10                     =>  one is missing, whatever their ids are

Cannot see: missing rows at a table's end; its worker's `end` counts those
(analysis.stored.recorded.missing_events).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from analysis.stored.recorded.rows import ANOTHER_TIME, EVER_NS, Span, within
from analysis.stored.table_rows import Finding
from harness.history.record_format import F_NAMES, OPTIONAL, TYPE_NAMES
from harness.history.stored_tables import all_are

_WORDS = {"f": frozenset(F_NAMES.values()), "type": frozenset(TYPE_NAMES.values())}
_LEAST = {"id": 0, "partition": 0, "intended_ns": 1, "start_ns": 1}  # and never missing
_OUTPUTS = ("output", "final-output")  # in partitions of their own topic
_ALWAYS_OK = ("read", "final-read", "poll", "committed", "replica", *_OUTPUTS)
# What is ok only with an offset; an ack may have none (DUPLICATE_SEQUENCE_NUMBER).
_AT_AN_OFFSET = ("lookup", "process", "commit", *(set(_ALWAYS_OK) - {"final-output"}))
_WITH_VALUE = ("send", "lookup")
_LEAST_IF_ANY = dict.fromkeys(("instance", *OPTIONAL), 0)


def oddity(
    groups: Iterable[pa.Table],
    *,
    run_id: str,
    process: str,
    partitions: int,
    span_ns: Span = EVER_NS,
) -> str | None:
    """What of these rows no recorder writes, as the end of a sentence; None: nothing. `partitions`:
    how many the topic has; `span_ns`: when the run was."""
    last_id, last_start_ns = -1, dict[str, int]()
    for group in groups:
        if not group.num_rows:
            continue
        why = _words(group, run_id, process) or _numbers(group, partitions) or _answers(group)
        if why is None and not _rises(group["id"], last_id):
            why = "its operations are not in the order of their ids"
        if why is None:
            why = _starts(group, last_start_ns) or _times(group, span_ns)
        if why is not None:
            return f"it holds what no worker records: {why}"
        last_id = group["id"][-1].as_py()
    return None


def _words(group: pa.Table, run_id: str, process: str) -> str | None:
    for column, word in (("run_id", run_id), ("process", process)):
        if not all_are(group[column], word):
            return f"rows whose {column} is not {word}"
    for column, known in _WORDS.items():
        found = set(pc.unique(group[column]).to_pylist())
        if not found <= known:
            return f"rows whose {column} is {min(map(str, found - known))}"
    return None


def _numbers(group: pa.Table, partitions: int) -> str | None:
    for column, least in {**_LEAST, **_LEAST_IF_ANY}.items():
        if column in _LEAST and group[column].null_count:
            return f"rows without {column}"
        lowest = pc.min(group[column]).as_py()
        if lowest is not None and lowest < least:
            return f"rows whose {column} is {lowest}"
    of_topic = pc.invert(pc.is_in(group["f"], value_set=pa.array(_OUTPUTS)))
    highest = pc.max(group["partition"].filter(of_topic)).as_py()
    if highest is not None and highest >= partitions:
        return f"rows of partition {highest}, and the topic has {partitions}"
    if pc.any(pc.less(group["end_ns"], group["start_ns"])).as_py():
        return "operations that ended before they began"
    unended = group.filter(pc.is_null(group["end_ns"]))
    if unended.num_rows and not all_are(unended["type"], "info"):
        return "operations that never ended and have an answer"
    return None


def _answers(group: pa.Table) -> str | None:
    """What was answered otherwise than its kind of operation is."""
    columns = group.select(["type", "value", "offset", "intended_ns", "start_ns"])
    for f in pc.unique(group["f"]).to_pylist():
        mine = columns.filter(pc.equal(group["f"], f))
        if f in _ALWAYS_OK and not all_are(mine["type"], "ok"):
            return f"a {f} that is not ok"
        if f in _WITH_VALUE and mine["value"].null_count:
            return f"a {f} without value"
        ok = pc.equal(mine["type"], "ok")
        if f in _AT_AN_OFFSET and pc.any(pc.and_(ok, pc.is_null(mine["offset"]))).as_py():
            return f"a {f} that is ok, without offset"
        if f == "send" and (why := _send(mine, ok)) is not None:
            return why
    return None


def _send(sends: pa.Table, ok: pa.ChunkedArray) -> str | None:
    if pc.any(pc.and_(pc.invert(ok), pc.is_valid(sends["offset"]))).as_py():
        return "a send that is not ok, with an offset"
    if pc.any(pc.greater(sends["intended_ns"], sends["start_ns"])).as_py():
        return "a send that began before it was due"
    return None


def _starts(group: pa.Table, last_start_ns: dict[str, int]) -> str | None:
    """Whether start times go back among a worker's operations of one kind: of several, one may be
    written down later than it began."""
    for f in pc.unique(group["f"]).to_pylist():
        mine = group["start_ns"].filter(pc.equal(group["f"], f))
        if not _rises(mine, last_start_ns.get(f, 0) - 1, strictly=False):
            return f"start times that go back ({f})"
        last_start_ns[f] = mine[-1].as_py()
    return None


def _times(group: pa.Table, span_ns: Span) -> str | None:
    for name in ("start_ns", "end_ns"):
        found = pc.min_max(group[name]).as_py()
        if found["min"] is not None and not within(found.values(), span_ns):
            return f"operations {ANOTHER_TIME}"
    return None


def _rises(column: pa.ChunkedArray, above: int, *, strictly: bool = True) -> bool:
    """Whether numbers rise from one to the next, and all are above a number."""
    numbers = column.to_numpy()
    further = numbers[1:] > numbers[:-1] if strictly else numbers[1:] >= numbers[:-1]
    return bool(numbers[0] > above) and bool(further.all())


class Numbered:
    """What the numbers of a table's operations tell of those that it lacks; mutable, since it looks
    at the row groups as they pass."""

    def __init__(self) -> None:
        self._rows, self._end_id = 0, 0
        self._next_value: int | None = None
        self._values_missing = False

    def watched(self, groups: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """The same row groups."""
        for group in groups:
            yield group  # whoever takes them has refused rows without id before the next one
            if group.num_rows:
                self._rows += group.num_rows
                self._end_id = group["id"][-1].as_py() + 1
                self._sends(group.filter(pc.equal(group["f"], "send"))["value"])

    def _sends(self, values: pa.ChunkedArray) -> None:
        if not len(values):
            return
        numbers = values.to_numpy()
        first = numbers[0] if self._next_value is None else self._next_value
        if numbers[0] != first or (numbers[1:] - numbers[:-1] != 1).any():
            self._values_missing = True
        self._next_value = int(numbers[-1]) + 1

    def lacks(self, dropped: int | None) -> str | None:
        """What is missing, as the end of a sentence. `dropped`: how many slots sealing has left out
        (None: nobody knows)."""
        missing = self._end_id - self._rows
        if dropped is None or missing <= dropped:
            return None
        return (
            f"it lacks {missing - dropped:,} of the operations that its worker numbered from 0 to "
            f"{self._end_id - 1:,}"
        )

    def lacks_values(self) -> str | None:
        """Whether a producer's values have gaps, as the end of a sentence."""
        return "its sends are not of one value after the other" if self._values_missing else None


def dropped_slots(findings: Iterable[Finding], process: str) -> int | None:
    """How many slots of a worker sealing has left out; None where nobody knows."""
    mine = [finding for finding in findings if finding["process"] == process]
    if any(finding["kind"] not in ("torn", "bad-record", "no-end", "bad-line") for finding in mine):
        return None
    return sum(int(f["count"]) for f in mine if f["kind"] in ("torn", "bad-record"))
