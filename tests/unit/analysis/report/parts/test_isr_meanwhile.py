"""An ISR that shrank and grew again while a fault was in force is told, though no look has it."""

from __future__ import annotations

from typing import Any

from analysis.report.parts.isr_meanwhile import isr_meanwhile
from harness.model.runs.report_course import FaultTold

ALL = ["kafka1", "kafka2", "kafka3"]


def fault(*partitions: int, after: list[str] = ALL, healed_s: float | None = 9.0) -> FaultTold:
    before = {"isr": {str(p): ALL for p in partitions}}
    return FaultTold(
        fault=0,
        verb="kill",
        target="leader",
        nodes=["kafka1"],
        start_s=3.0,
        healed_s=healed_s,
        before=before,
        after={"isr": {str(p): after for p in partitions}},
    )


def view(time_s: float, isr: list[str], partition: int = 0) -> dict[str, Any]:
    return {"time_s": time_s, "partition": partition, "isr": isr}


def test_the_smallest_isr_is_told_with_who_left_and_since_when() -> None:
    views = [view(0.0, ALL), view(4.5, ALL[1:]), view(8.9, ALL)]

    assert isr_meanwhile([fault(0)], views) == {0: ["ISR: down to 2 at 4.50 s, without kafka1"]}


def test_an_isr_that_never_shrank_is_not_told() -> None:
    assert isr_meanwhile([fault(0)], [view(0.0, ALL), view(8.0, ALL)]) == {}


def test_what_the_last_look_shows_is_not_told_twice() -> None:
    views = [view(0.0, ALL), view(4.5, ALL[1:])]

    assert isr_meanwhile([fault(0, after=ALL[1:])], views) == {}


def test_what_was_before_the_fault_or_after_its_healing_is_not_its_own() -> None:
    views = [view(1.0, ALL[1:]), view(2.0, ALL), view(9.5, ALL[1:])]

    assert isr_meanwhile([fault(0)], views) == {}
    assert isr_meanwhile([fault(0, healed_s=None)], views) != {}


def test_of_many_partitions_the_first_are_told_and_the_others_counted() -> None:
    views = [view(4.0, ALL[1:], partition) for partition in range(5)]

    lines = isr_meanwhile([fault(*range(5))], views)[0]

    assert lines[0] == "ISR of 0: down to 2 at 4.00 s, without kafka1"
    assert lines[3:] == ["and 2 more partitions"]


def test_a_fault_that_was_never_injected_or_has_no_looks_has_none() -> None:
    never = fault(0).model_copy(update={"start_s": None})
    blind = fault(0).model_copy(update={"before": None, "after": None})

    assert isr_meanwhile([never, blind], [view(4.0, [])]) == {}
