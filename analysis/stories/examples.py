"""Which story an example row of a report belongs to, and who wrote its values.

A row of two values at one offset has the leader and the epoch of the first read of the offset,
which may be either value's. Each value gets its own instead: by the kept logs, for a lost value by
its ack, for the value that is there now by the epoch that the logs have there.

    1634 acked by kafka1 in epoch 0, lost    4002 at its offset, in kafka2's log of epoch 2
    =>  leader kafka1, epoch 0    other_leader kafka2, other_epoch 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.stored.columns import Numbers
from analysis.stored.table_rows import View
from analysis.stories.kept import Kept
from analysis.stories.leaders import led_in
from analysis.stories.story import Facts
from analysis.stories.story_groups import Findings

Row = Mapping[str, Any]
Group = tuple[Findings, Facts | None, Numbers]  # a table, what its rows share, and their numbers
PLACES = "inconsistent-offset"
VANISHED = "vanished"  # has no story of its own: a lost record's story says it
LOSSES = ("lost", "torn")

_Writer = tuple[str | None, int | None]
NOBODY: _Writer = (None, None)


def group_of(groups: Sequence[Group], anomaly: str, example: Row) -> int | None:
    """The story of an example row; of a vanished record, the story of its loss."""
    for number, (table, facts, rows) in enumerate(groups):
        if facts is None:
            continue
        if anomaly == VANISHED:
            if table.anomaly in LOSSES and example["value"] in table.numbers["value"][rows]:
                return number
        elif anomaly == PLACES and facts.outcome != example.get("outcome"):
            continue
        elif table.anomaly == anomaly and _rows_of(table, rows, example).any():
            return number
    return None


def _rows_of(table: Findings, rows: Numbers, example: Row) -> Any:
    """Which of the rows are the example's."""
    same = np.ones(len(rows), dtype=bool)
    for name in ("partition", "offset"):
        wanted = -1 if example.get(name) is None else example[name]
        same &= table.numbers[name][rows] == wanted
    value = -1 if example.get("value") is None else example["value"]
    others = [table.numbers[name][rows] == value for name in ("value", "other_value")]
    return same & (others[0] | others[1])


def vanished_of(group: Group, vanished: Numbers) -> int:
    """How many of a story's lost records were read before."""
    table, _, rows = group
    if table.anomaly not in LOSSES:
        return 0
    return int(np.isin(table.numbers["value"][rows], vanished).sum())


def writers(group: Group | None, example: Row, kept: Kept, views: Sequence[View]) -> dict[str, Any]:
    """Leader and epoch of each of two values at one offset; nothing for other rows."""
    if example.get("outcome") != "two_values":
        return {}
    first, second = NOBODY, NOBODY
    if group is not None:
        first = _writer(group, example, "value", kept, views)
        second = _writer(group, example, "other_value", kept, views)
    names = ("leader", "epoch", "other_leader", "other_epoch")
    return dict(zip(names, (*first, *second), strict=True))


def _writer(group: Group, example: Row, name: str, kept: Kept, views: Sequence[View]) -> _Writer:
    """Leader and epoch of one of the values."""
    table, facts, rows = group
    value, partition = example.get(name), example["partition"]
    if facts is None or value is None:
        return NOBODY
    records = [
        record
        for record in kept.of_value.get(value, ())
        if (record.partition, record.offset) == (partition, example["offset"])
    ]
    epochs = {record.epoch for record in records}
    if len(epochs) == 1 and None not in epochs:
        epoch = epochs.pop()
        return led_in(partition, epoch, kept, views), epoch
    if not facts.acked:  # it is not known which of the two is gone
        return NOBODY
    row = rows[_rows_of(table, rows, example)][0]
    if table.number("value", int(row)) == value:
        return facts.leader, facts.epoch
    return facts.copies[0].leader, facts.copies[0].epoch
