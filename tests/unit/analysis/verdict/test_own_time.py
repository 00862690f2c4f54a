"""The time that workers had to themselves."""

from __future__ import annotations

import pytest

from analysis.measures.work_done import FOREVER_NS
from analysis.verdict.own_time import free_ns, line_of, silenced, taken
from tests.support.histories import Part, fault, ns_of
from tests.support.stored_runs import event, run_of


@pytest.mark.parametrize(
    ("process", "line"),
    [("producer-0", "producer-0"), ("group-consumer-1-3", "group-consumer-1"), ("odd", "odd")],
)
def test_a_line_is_called_by_its_first_worker(process: str, line: str) -> None:
    assert line_of(process) == line


def test_a_fault_takes_its_time_from_the_line_that_it_hit() -> None:
    run = run_of(
        fault("kill", "consumer", ms=500, for_ms=1000, nodes=["consumer-0"]),
        fault("pause", "consumer", ms=3000, for_ms=None, number=1, nodes=["consumer-0-2"]),
        fault("pause", "consumer", ms=4000, number=2, nodes=["consumer-1"]),
    )

    assert taken(run, "consumer-0") == [(ns_of(500), ns_of(1500)), (ns_of(3000), FOREVER_NS)]
    assert free_ns(ns_of(0), ns_of(9000), taken(run, "consumer-0")) == 2 * 10**9
    assert taken(run, "consumer-0", lambda each: each["verb"] == "kill") == [
        (ns_of(500), ns_of(1500))
    ]


def test_a_planned_death_takes_the_time_until_a_successor_is_assigned_something() -> None:
    died = event("dies", "group-consumer-0", 1000)
    others = event("assigned", "group-consumer-1", 1500)
    its_own = event("assigned", "group-consumer-0-2", 3000)

    assert taken(run_of(events=[died, its_own, others]), "group-consumer-0") == [
        (ns_of(1000), ns_of(3000))
    ]
    assert taken(run_of(events=[died, others]), "group-consumer-0") == [(ns_of(1000), FOREVER_NS)]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([[]], 10),
        ([[(2, 5)]], 7),
        ([[(2, 5), (4, 6)]], 6),
        ([[(-5, 1), (9, 50)]], 8),
        ([[(0, 10)]], 0),
        ([[(2, 5)], []], 10),  # the other was free
        ([[(2, 5)], [(4, 8)]], 9),
    ],
)
def test_a_stretch_is_free_while_one_of_the_lines_is(
    lines: list[list[tuple[int, int]]], left: int
) -> None:
    assert free_ns(0, 10, *lines) == left


def test_a_stretch_that_ends_before_it_begins_has_no_time() -> None:
    assert free_ns(10, 5, []) == 0


def test_faults_of_the_cluster_silence_a_reader_while_one_follows_the_other() -> None:
    """The twins: it was silent for longer than a second before one, and one of the workers'."""
    cut = fault("cut", "leader", ms=1000, for_ms=2000)
    then, later = (fault("cut", "leader", ms=ms, for_ms=500, number=1) for ms in (3900, 4500))
    worker = fault("pause", "consumer", ms=3900, for_ms=500, number=1, nodes=["consumer-0"])

    def until(*faults: Part, since_ms: float = 600) -> int:
        return silenced(run_of(*faults), ns_of(since_ms))[1]

    assert until(cut, then) == ns_of(4400)
    assert until(cut, later) == ns_of(3000)
    assert until(cut, worker) == ns_of(3000)
    assert until(cut, since_ms=-100) == ns_of(-100)
