"""The stories of findings as the page shows them: a sentence, a strip, and tables to unfold.

The strip has a lane for each broker and a column for each row of the story's life that has a time,
by its number: moments a millisecond and a minute apart are equally far from each other. A full bar:
the broker's log had the records; a thin line: it had not; dashes: not known. At its end stands what
each has now.

             1  2  3  4  now
    kafka1   ########----  o
    kafka2   -----------  o

Stories whose sentences differ in numbers alone are told as one, with a table of these numbers: a
row for each part of the sentence, a column for each story. What tells brokers apart is no number.

                                                              1          3
    Offset … of partition 0 was acknowledged by kafka2 at …   1,504      7,500
                                                              15.502 s   86.475 s
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

from harness.model.runs.report import Report

Row = Mapping[str, Any]
LEFT, TOP, STEP, LANE, END = 92, 20, 34, 22, 34  # pixels
COLUMNS_MAX = 24
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?: s\b)?")
WORDS = {"yes": "yes", "no": "no", "unknown": "not known"}


def stories(report: Report) -> dict[str, Any] | None:
    """What the page shows, each with those `like` it and the `numbers` in which they differ; None
    where there is no finding with a story, or the report is older."""
    if report.stories is None or not report.stories.told:
        return None
    found = report.stories.written()
    alike: dict[object, list[Row]] = {}
    for story in found["told"]:
        key = (story["anomaly"], *story["also"], NUMBER.sub("…", story["sentence"]))
        alike.setdefault(key, []).append({**story, "rows": _rows(story), "strip": _strip(story)})
    return {**found, "told": [_merged(some) for some in alike.values()]}


def _merged(some: Sequence[Row]) -> Row:
    """Stories of one course as the first of them."""
    sums = {key: sum(story.get(key, 0) for story in some) for key in ("records", "vanished")}
    return {**some[0], **sums, "like": list(some[1:]), "numbers": _numbers(some)}


def _numbers(some: Sequence[Row]) -> list[tuple[str, list[list[str]]]]:
    """Each part of the sentence in which they differ, `…` for every number that does, and these
    numbers of each story."""
    table = []
    sentences = (story["sentence"].removesuffix(".").split("; ") for story in some)
    for parts in zip(*sentences, strict=True):
        found = [NUMBER.findall(part) for part in parts]
        differ = [len(set(each)) > 1 for each in zip(*found, strict=True)]
        shown = ["…" if other else each for each, other in zip(found[0], differ, strict=True)]
        pieces = zip(NUMBER.split(parts[0]), [*shown, ""], strict=True)
        own = [list(compress(each, differ)) for each in found]
        if any(differ):
            table.append(("".join(map("".join, pieces)), own))
    return table


def _rows(story: Row) -> list[Row]:
    """Its life, numbered."""
    return [{"number": n, **event} for n, event in enumerate(story["life"], start=1)]


def _strip(story: Row) -> dict[str, Any] | None:
    """The picture's numbers; None where nothing is known of any time."""
    timed = [event for event in story["life"] if event["time_s"] is not None][:COLUMNS_MAX]
    replicas = [replica for replica in story["replicas"] if replica["states"]]
    if not timed or not replicas:
        return None
    times = [event["time_s"] for event in timed]
    end = LEFT + STEP * len(times)
    lanes = [
        {
            "broker": replica["broker"],
            "y": TOP + LANE * number + LANE // 2,
            "bars": _bars(replica["states"], times, end),
            "now": replica["now"],
        }
        for number, replica in enumerate(replicas)
    ]
    return {
        "width": end + END,
        "height": TOP + LANE * len(lanes) + 2,
        "columns": [{"x": LEFT + STEP * n, "number": n + 1} for n in range(len(times))],
        "end": end + END // 2,
        "lanes": lanes,
        "words": "; ".join(
            f"{replica['broker']}: had it {WORDS[replica['had']]}, now {WORDS[replica['now']]}"
            for replica in story["replicas"]
        ),
    }


def _bars(states: Sequence[Row], times: Sequence[float], end: int) -> list[dict[str, Any]]:
    starts = [_column(state["from_s"], times) for state in states]
    ends = [*starts[1:], end]
    return [
        {"x": start, "width": to - start, "has": state["has"]}
        for state, start, to in zip(states, starts, ends, strict=True)
        if to > start
    ]


def _column(time_s: float, times: Sequence[float]) -> int:
    """Where a moment is drawn: at the first row of its time or later, else behind them all."""
    behind = len(times) - 0.5
    return LEFT + int(STEP * next((n for n, each in enumerate(times) if each >= time_s), behind))
