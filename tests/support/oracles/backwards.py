"""A second opinion on looks at replicas and on last stable offsets: docs/anomalies.md, row by row,
in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Look = Sequence[Row]  # one row per broker, of one partition and time
SEEN_LATE = 2000  # ms


def backwards(case: Row) -> Iterator[tuple[str, Any]]:
    """Each that went back in a case of random_histories.looks, or was ahead: its name, and
    partition, offset, the other offset and the time."""
    looks = defaultdict[tuple[int, int], list[Row]](list)
    for row in case["looks"]:
        looks[row["partition"], row["time"]].append(row)
    for partition in range(2):
        mine = [looks[key] for key in sorted(looks) if key[0] == partition]
        yield from _ends(partition, mine)
        yield from _watermarks(partition, mine, case)
        yield from _stable(partition, case)
        yield from _ahead(partition, mine, case)


def _ends(partition: int, looks: Sequence[Look]) -> Iterator[tuple[str, Any]]:
    highest: int | None = None
    was_below = False
    for look in looks:
        ends = [row["log_end"] for row in look if row["in_isr"] and row["log_end"] is not None]
        marks = [row["high_watermark"] for row in look if row["high_watermark"] is not None]
        if not ends:
            continue
        least = min(ends)
        below = highest is not None and least < highest
        ahead = bool(marks) and max(marks) > least
        if below and not was_below and not ahead:
            yield "end-back", (partition, least, highest, look[0]["time"])
        was_below = below
        highest = max([*marks, *([] if highest is None else [highest])], default=None)


def _watermarks(partition: int, looks: Sequence[Look], case: Row) -> Iterator[tuple[str, Any]]:
    for state in (each for each in case["states"] if each["partition"] == partition):
        since = state["from"] + 2 * case["checkpoint"] + SEEN_LATE
        before: int | None = None
        for row in (row for look in looks for row in look):
            late = state["to"] is not None and row["time"] + 2 > state["to"] - SEEN_LATE
            mark = row["high_watermark"]
            if row["broker"] != state["leader"] or not row["leads"] or late:
                continue
            if mark is None or row["time"] < since:
                continue
            if before is not None and mark < before:
                yield "watermark-back", (partition, mark, before, row["time"])
            before = mark if before is None else max(before, mark)


def _stable(partition: int, case: Row) -> Iterator[tuple[str, Any]]:
    end = case["ends"][partition]
    if None in (end["committed_end"], end["uncommitted_end"]):
        return
    reads = [offset for where, offset, _ in case["reads"] if where == partition]
    read = [offset for offset in reads if offset < end["uncommitted_end"]]
    furthest = max(read, default=-1)
    if end["committed_end"] <= furthest:
        first = min(
            time for where, at, time in case["reads"] if (where, at) == (partition, furthest)
        )
        yield "stable-back", (partition, furthest, end["committed_end"], first)


def _ahead(partition: int, looks: Sequence[Look], case: Row) -> Iterator[tuple[str, Any]]:
    """Watermarks above a log end of the ISR, and records read before all of the ISR had them."""
    known: list[tuple[int, int]] = []  # of looks: the time, and the least log end of the ISR
    for look in looks:
        ends = [row["log_end"] for row in look if row["in_isr"] and row["log_end"] is not None]
        marks = [row["high_watermark"] for row in look if row["high_watermark"] is not None]
        if ends:
            known.append((look[0]["time"], min(ends)))
            if marks and max(marks) > min(ends):
                yield "watermark-ahead", (partition, max(marks), min(ends), look[0]["time"])
    given = dict[int, int]()
    for where, offset, time in case["reads"]:
        if where == partition:
            given[offset] = min(time, given.get(offset, time))
    for offset, time in given.items():
        # Whoever read before the first look is compared with nothing: its begin is not known.
        after = [end for at, end in known if at >= time and known[0][0] < time]
        if after and offset >= after[0]:
            yield "early-read", (partition, offset, after[0], time)
