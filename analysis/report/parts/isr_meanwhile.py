"""What became of the ISRs while a fault was in force, where its own two looks do not show it.

A fault's `before` is from its injection and its `after` from when it was healed, and by then the
ISR is full again: of a killed broker both show three members.

    before: kafka1, kafka2, kafka3    from 13.4 s on: kafka2, kafka3    after: all three again
    =>  ISR: down to 2 at 13.40 s, without kafka1

Told is the smallest ISR of each partition that was smaller than in both looks, and since when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.wording import count_of, isr_by_partition, moment
from harness.model.runs.report_course import FaultTold

Row = Mapping[str, Any]
LINES_MAX = 3


def isr_meanwhile(faults: Sequence[FaultTold], views: Sequence[Row]) -> dict[int, list[str]]:
    """By the fault's number, a line for each partition whose ISR shrank and grew again."""
    in_order = sorted(views, key=lambda view: float(view["time_s"]))
    found = {fault.fault: _lines(fault, in_order) for fault in faults}
    return {number: lines for number, lines in found.items() if lines}


def _lines(fault: FaultTold, views: Sequence[Row]) -> list[str]:
    if fault.start_s is None:
        return []
    end_s = float("inf") if fault.healed_s is None else fault.healed_s
    smallest: dict[int, Row] = {}
    for view in views:
        if fault.start_s <= view["time_s"] < end_s:
            known = smallest.get(view["partition"])
            if known is None or len(view["isr"]) < len(known["isr"]):
                smallest[view["partition"]] = view
    before, after = (isr_by_partition(state) for state in (fault.before, fault.after))
    shrunk = [
        (view, was)
        for partition, view in sorted(smallest.items())
        if (was := before.get(str(partition))) is not None
        and (now := after.get(str(partition))) is not None
        and len(view["isr"]) < min(len(was), len(now))
    ]
    lines = [_line(view, was, alone=len(before) == 1) for view, was in shrunk[:LINES_MAX]]
    more = len(shrunk) - len(lines)
    return [*lines, *([f"and {count_of(more, 'more partition')}"] if more else [])]


def _line(view: Row, was: Sequence[str], *, alone: bool) -> str:
    where = "" if alone else f" of {view['partition']}"
    gone = ", ".join(sorted(set(was) - set(view["isr"])))
    smallest, at = len(view["isr"]), moment(view["time_s"])
    return f"ISR{where}: down to {smallest} at {at}, without {gone}"
