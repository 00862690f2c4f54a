"""Finds faults of different entries that contradict each other by the scenario's own timetable.

    [[faults]]                          [[faults]]
    verb = "kill"                       verb = "pause"
    target = "kafka1"                   target = "kafka1"
    at_s = 3                            at_s = 5
    for_s = 4                           for_s = 1        # of a process that is gone

The nemesis lets the second fault wait for the first; where the file certainly says otherwise, it is
refused. Certain are named targets: nodes, workers, or all of a kind. Times come from the timetable,
or from "in-force" of the entry before; faults counted in acks or rounds meet at the same count
only. A role such as `leader` passes to another node while a fault holds its first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from harness.model.scenario import FaultPart
from harness.nemesis.target import Setting
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS
from harness.scenario.entries import ordinal

Span = tuple[str, float, float]  # unit, begin, the earliest end; both the same but for seconds


def contradictions(faults: Sequence[FaultPart], setting: Setting) -> list[str]:
    """A sentence for each two entries that cannot both be carried out as they stand."""
    sentences = []
    for (one, first), (two, second) in combinations(enumerate(faults), 2):
        shared = _shared_need(first, second, setting)
        if shared and _meet(first, second, follows=two == one + 1):
            sentences.append(
                f"{ordinal(two)} [[faults]]: {_description(second)} overlaps the {ordinal(one)}, "
                f"{_description(first)}, "
                f"and both need exclusive use of the {shared}: start it when the other is healed "
                '(when = "healed"), or choose another target'
            )
    return sentences


def _shared_need(first: FaultPart, second: FaultPart, setting: Setting) -> str | None:
    if VERBS[first.verb].alone and VERBS[second.verb].alone:
        return "assignment of the topic"
    what = VERBS[first.verb].holds
    if what is None or what != VERBS[second.verb].holds:
        return None
    both = sorted(certain_names(first.target, setting) & certain_names(second.target, setting))
    return f"{what} of {', '.join(both)}" if both else None


def certain_names(target: str, setting: Setting) -> set[str]:
    """The nodes or workers that the target certainly means, whoever plays which role."""
    meant = target_of(target, setting)
    return set(meant.certain(setting)) if meant else set()


def _meet(first: FaultPart, second: FaultPart, *, follows: bool) -> bool:
    if second.when == "in-force":
        unit, at = second.first
        return follows and unit == "seconds" and at < first.for_s
    return any(_overlap(one, two) for one in _spans(first) for two in _spans(second))


def _spans(fault: FaultPart) -> list[Span]:
    """When each fault of the entry is in force at least; nothing for an entry that waits."""
    if fault.when:
        return []
    unit, begin = fault.first
    lasts = fault.for_s if unit == "seconds" else 0.0
    begins = [begin + number * fault.period for number in range(fault.times)]
    return [(unit, start, start + lasts) for start in begins]


def _overlap(one: Span, two: Span) -> bool:
    (unit, begin, end), (other, other_begin, other_end) = one, two
    meet = begin == other_begin or (begin < other_end and other_begin < end)
    return unit == other and meet


def _description(fault: FaultPart) -> str:
    unit, amount = fault.first
    when = f"at {amount:g} s" if unit == "seconds" else f"after {amount:,.0f} {unit}"
    since = " after the previous entry is in force" if fault.when else ""
    again = f" and {fault.times - 1} times more" if fault.times > 1 else ""
    lasts = f" for {fault.for_s:g} s" if fault.for_s else ""
    return f"{fault.verb} {fault.target} {when}{since}{again}{lasts}"
