"""Operations that no recorder writes: a table that holds one is not what was recorded.

`oddity` looks at every row of a worker's table, by columns and a row group at a time: millions of
rows are gone through in about a second. docs/history.md says what each column means.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from analysis.stored.recorded.rows import ANOTHER_TIME, EVER_NS, Span, within
from harness.history.record_format import F_NAMES, OPTIONAL, TYPE_NAMES
from harness.history.stored_tables import all_are

_WORDS = {"f": frozenset(F_NAMES.values()), "type": frozenset(TYPE_NAMES.values())}
_LEAST = {"id": 0, "partition": 0, "intended_ns": 1, "start_ns": 1}  # and never missing
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
        why = _words(group, run_id, process) or _numbers(group, partitions)
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
    highest = pc.max(group["partition"]).as_py()
    if highest >= partitions:
        return f"rows of partition {highest}, and the topic has {partitions}"
    if pc.any(pc.less(group["end_ns"], group["start_ns"])).as_py():
        return "operations that ended before they began"
    unended = group.filter(pc.is_null(group["end_ns"]))
    if unended.num_rows and not all_are(unended["type"], "info"):
        return "operations that never ended and have an answer"
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
