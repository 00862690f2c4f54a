"""How late followers learn the watermark, and when they leave the ISR and are back."""

from __future__ import annotations

from typing import Any, cast

import pytest

from analysis.measures.replication import absences, behind, lag, replication
from analysis.stored.replica_samples import Look
from analysis.stored.stored_run import Run
from analysis.verdict.demands import DemandError, parse
from analysis.verdict.judge import judge_isr_times
from harness.model.runs.report_course import Absence, LagQuantiles
from tests.support.histories import (
    LOAD_MS,
    LOAD_START_NS,
    fault,
    final_read,
    look,
    sent,
    view,
    with_story,
)
from tests.support.stored_runs import run_of

Report = dict[str, Any]
ALL = ("kafka1", "kafka2", "kafka3")


def at(ms: int, leader: int, follower: int | None, isr: str = "ab", led_by: str = "a") -> Look:
    """A look at two replicas, a and b: their watermarks."""
    return Look(
        time_ns=ms * 10**6, leader=led_by, isr=frozenset(isr), marks={"a": leader, "b": follower}
    )


def test_a_follower_that_learns_a_look_later_lags_by_that_look():
    """Both new watermarks, 2 and 3, reach it 50 ms after the leader has them."""
    looks = [at(0, 1, 1), at(50, 2, 1), at(100, 3, 2), at(150, 3, 3)]

    assert [row.written() for row in lag(2, looks)] == [
        {
            "partition": 2,
            "broker": "b",
            "offsets": {"p50": 0, "p95": 1, "max": 1},
            "ms": {"p50": 50.0, "p95": 50.0, "max": 50.0},
        }
    ]


def test_one_that_learns_at_once_does_not_lag():
    (row,) = lag(0, [at(0, 1, 1), at(50, 2, 2), at(100, 3, 3)])

    assert row.ms == LagQuantiles(p50=0.0, p95=0.0, max=0.0)


@pytest.mark.parametrize(
    "later",
    [at(100, 2, 1, isr="a"), at(100, 2, 1, led_by="b"), Look(time_ns=10**8)],
    ids=["out of the ISR", "another leader", "nobody knows"],
)
def test_a_wait_that_ends_otherwise_is_not_counted(later):
    row = next(
        r for r in lag(0, [at(0, 1, 1), at(50, 2, 1), later, at(150, 2, 2)]) if r.broker == "b"
    )

    assert row.ms is None


def test_a_follower_whose_checkpoint_is_newer_is_not_behind():
    (row,) = lag(0, [at(0, 1, 2), at(50, 2, 3)])

    assert row.offsets == LagQuantiles(p50=0, p95=0, max=0)


# The leader goes on writing; kafka2 stops at 10 when it is paused at 1 s, leaves at 3.5 s, has all
# again at 6.2 s and is back at 6.25 s.
PAUSED = (
    fault("pause", "follower", ms=1000, for_ms=6000, healing_took=1200, nodes=["kafka2"]),
    view("kafka1", ms=0, isr=ALL),
    view("kafka1", ms=3500, isr=("kafka1", "kafka3")),
    view("kafka1", ms=6250, isr=ALL),
    look(8, 8, 8, ms=500),
    look(10, 10, 10, ms=1000),
    look(15, 10, 15, ms=1500, marks=[10, 10, 10]),
    look(30, 10, 30, ms=3450, marks=[10, 10, 10]),
    look(35, 10, 35, ms=4000, marks=[35, 10, 35], isr=(1, 3)),
    look(60, 40, 60, ms=6100, marks=[60, 10, 60], isr=(1, 3)),
    look(61, 61, 61, ms=6200, marks=[61, 61, 61], isr=(1, 3)),
    look(70, 70, 70, ms=LOAD_MS + 1),
)
LIMIT = {"replica.lag.time.max.ms": 2000}


@with_story(
    sent(1, at=0, ms=0),
    final_read(1),
    *PAUSED,
    watched=True,
    server=LIMIT,
    expect={"isr-leave-s": "2 to 3", "isr-return-s": "<= 0.1"},
)
def test_a_follower_s_absence_is_measured_from_when_it_had_caught_up(report: Report) -> None:
    (row,) = report["replication"]["isr"]
    assert row == {
        "fault": 0,
        "partition": 0,
        "broker": "kafka2",
        "caught_up_s": 1.0,
        "left_s": 3.5,
        "leave_after_s": 2.5,
        "leave_of_limit": 1.25,
        "reached_s": 6.2,
        "returned_s": 6.25,
        "return_after_s": 0.05,
        "heal_to_return_s": 0.45,
    }
    assert report["verdict"] == "valid"
    assert report["gap_demands"]["isr-leave-s"]["demand_met"] is True


# It stands still with 12 on its disk that it never told of; the leader, whose producer waits for
# it, writes no more.
NOT_TOLD = (
    *PAUSED[:4],
    look(8, 8, 8, ms=500),
    look(10, 10, 10, ms=1000),
    *(look(12, 12, 12, ms=ms, marks=[10, 10, 10]) for ms in (1500, 2500, 3450)),
    *PAUSED[8:],
)


@with_story(sent(1, at=0, ms=0), final_read(1), *NOT_TOLD, watched=True, server=LIMIT)
def test_what_a_follower_did_not_tell_its_leader_does_not_count(report: Report) -> None:
    (row,) = report["replication"]["isr"]
    assert (row["caught_up_s"], row["leave_after_s"]) == (1.0, 2.5)


@with_story(
    sent(1, at=0, ms=0),
    final_read(1),
    *PAUSED,
    watched=True,
    server=LIMIT,
    expect={"isr-leave-s": "2.6 to 4"},
)
def test_one_that_leaves_too_early_breaks_the_demand(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ["isr-leave-s: 2.6 to 4 demanded, they were 2.5 to 2.5 s"]


@with_story(
    sent(1, at=0, ms=0),
    final_read(1),
    *PAUSED[1:2],
    *PAUSED[4:6],
    PAUSED[-1],
    watched=True,
    expect={"isr-leave-s": "<= 3"},
)
def test_a_demand_on_followers_that_never_left_is_not_met(report: Report) -> None:
    assert report["replication"]["isr"] == []
    assert report["reasons"] == ["isr-leave-s: at most 3 demanded, none was seen"]


def test_a_leader_that_leaves_is_no_follower_that_is_dropped():
    killed: Any = {"nodes": ["a"], "invoke_ns": 5, "heal_ok_ns": 90, "heal_invoke_ns": 50}
    views: Any = [
        {"time_ns": 0, "partition": 0, "leader": "a", "isr": ["a", "b"]},
        {"time_ns": 9, "partition": 0, "leader": "b", "isr": ["b"]},
    ]

    assert list(absences(killed, 0, [], views)) == []


def test_what_nobody_looked_at_is_not_guessed():
    paused: Any = {"nodes": ["b"], "invoke_ns": 5, "heal_ok_ns": None, "heal_invoke_ns": None}
    views: Any = [
        {"time_ns": 0, "partition": 0, "leader": "a", "isr": ["a", "b"]},
        {"time_ns": 9, "partition": 0, "leader": "a", "isr": ["a"]},
    ]

    (absence,) = absences(paused, 0, [], views)

    assert (absence.left_ns, absence.caught_up_ns, absence.returned_ns) == (9, None, None)


@pytest.mark.parametrize(
    ("times", "known", "met"),
    [([2.0, 4.9], True, True), ([1.8, 3.0], True, False), ([3.0], False, None), ([], False, None)],
)
def test_each_time_must_meet_the_demand(times, known, met):
    demands = parse({"isr-leave-s": "1.9 to 5"})
    rows = [Absence.model_construct(leave_after_s=time) for time in times]

    assert judge_isr_times(rows, demands, () if known else ("doubt",))["isr-leave-s"].met is met


@pytest.mark.parametrize("text", ["3", "> 3", "5 to", "1.2.3 to 4", ">= 5 %"])
def test_a_demand_on_seconds_that_cannot_be_understood_is_refused(text):
    with pytest.raises(DemandError, match="is not a demand in seconds"):
        parse({"isr-return-s": text})


def test_what_a_replica_lacks_at_a_look_is_counted_from_its_leader():
    """Of two partitions the one that lacks more; where the leader is not known nothing is."""
    rows = [
        row
        for part in (
            look(9, 7, 9, ms=100, marks=[6, 6, 6]),
            look(4, None, 1, ms=100, partition=1),
            look(9, 9, 9, ms=200, isr=None),
        )
        for row in part.rows
    ]

    class Told:
        watermarks = rows

        @staticmethod
        def seconds(time_ns: int) -> float:
            return (time_ns - LOAD_START_NS) / 1e9

    assert behind(cast(Run, Told())) == [
        {"time_s": 0.1, "brokers": {"kafka2": 2, "kafka3": 3}, "unread": 3},
        {"time_s": 0.2, "brokers": dict.fromkeys(ALL), "unread": None},
    ]


@pytest.mark.parametrize(("lag_ms", "limit_s"), [(None, 30.0), (2000, 2.0), ("2500", 2.5)])
def test_the_limit_is_the_brokers_in_seconds(lag_ms: object, limit_s: float) -> None:
    server = {} if lag_ms is None else {"replica.lag.time.max.ms": lag_ms}
    counts = {"lost_past_log_end": 0, "kept_past_log_end": 0}
    found = replication(run_of(watched=True, server=server), counts, 0)

    assert found is not None
    assert found.isr_limit_s == limit_s
