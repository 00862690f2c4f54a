"""Who led what from when to when, and that each ack counts for the broker that led then."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from analysis.measures.leadership import SHORT_NS, Stretch, between_cuts, merged
from tests.support.histories import (
    LOAD_MS,
    LOAD_START_NS,
    fault,
    final_read,
    sent,
    view,
    with_story,
)
from tests.support.story_runs import NODES

Report = dict[str, Any]
S = 10**9
BOUNDS = (0, 10 * S)


def led(partition: int, *reigns: tuple[float, str | None]) -> list[dict[str, Any]]:
    """Rows of schema.LEADER: from which second on who led."""
    return [
        {"partition": partition, "leader": leader, "from_ns": int(at_s * S), "to_ns": None}
        for at_s, leader in reigns
    ]


def injected(number: int, at_s: float) -> Any:
    return {"fault": number, "invoke_ns": int(at_s * S), "end_ns": None}


def acked(partition: int, from_s: float, acks: int) -> Any:
    return {"partition": partition, "from_ns": int(from_s * S), "acks": acks}


def cut(leaders: Any, *acks: Any, faults: tuple[Any, ...] = ()) -> list[Stretch]:
    return list(between_cuts(leaders, faults, acks, bounds_ns=BOUNDS, partitions=2))


def stretch(from_s: float, to_s: float, leader: str | None, acks: int = 0, *faults: int) -> Stretch:
    return Stretch(
        start_ns=int(from_s * S),
        end_ns=int(to_s * S),
        faults=faults,
        leads=Counter({leader: 1}),
        acks=Counter({leader: acks}),
    )


# --- between cuts


def test_without_a_change_the_whole_load_is_one_stretch():
    leaders = led(0, (-1, "kafka1")) + led(1, (-1, "kafka2"))

    (only,) = cut(leaders, acked(0, 0, 7), acked(1, 0, 5))

    assert (only.start_ns, only.end_ns) == BOUNDS
    assert only.leads == {"kafka1": 1, "kafka2": 1}
    assert only.acks == {"kafka1": 7, "kafka2": 5}


def test_a_change_in_mid_load_parts_two_and_the_heir_leads_both():
    leaders = led(0, (-1, "kafka1"), (4, "kafka2")) + led(1, (-1, "kafka2"))

    before, after = cut(leaders, acked(0, 0, 7), acked(1, 0, 5), acked(0, 4, 9), acked(1, 4, 8))

    assert (before.start_ns, before.end_ns, after.end_ns) == (0, 4 * S, 10 * S)
    assert before.acks == {"kafka1": 7, "kafka2": 5}
    assert after.leads == {"kafka2": 2}
    assert after.acks == {"kafka2": 17}


def test_a_partition_without_a_leader_counts_for_nobody():
    leaders = led(0, (-1, "kafka1"), (4, None), (6, "kafka1")) + led(1, (-1, "kafka2"))

    _, middle, after = cut(leaders, acked(0, 4, 1), acked(1, 4, 3))

    assert middle.leads == {None: 1, "kafka2": 1}
    assert middle.acks == {None: 1, "kafka2": 3}
    assert after.leads == {"kafka1": 1, "kafka2": 1}


def test_a_partition_of_which_nobody_has_told_yet_counts_for_nobody():
    before, after = cut(led(0, (-1, "kafka1")) + led(1, (2, "kafka1")))

    assert before.leads == {"kafka1": 1, None: 1}
    assert after.leads == {"kafka1": 2}


def test_what_changed_before_the_load_or_after_it_parts_nothing():
    leaders = led(0, (-9, "kafka3"), (-1, "kafka1"), (10, "kafka2")) + led(1, (-1, "kafka2"))

    (only,) = cut(leaders, faults=(injected(0, -0.5), injected(1, 11)))

    assert only.leads == {"kafka1": 1, "kafka2": 1}
    assert only.faults == ()


def test_an_injected_fault_begins_a_stretch_though_the_leader_stays():
    before, after = cut(
        led(0, (-1, "kafka1")) + led(1, (-1, "kafka1")), acked(0, 0, 9), faults=(injected(3, 4),)
    )

    assert (before.faults, after.faults) == ((), (3,))
    assert before.leads == after.leads
    assert (before.acks["kafka1"], after.acks["kafka1"]) == (9, 0)


# --- merging


def test_a_short_stretch_is_merged_into_the_next_and_its_acks_count_for_who_led_then():
    rows = merged([stretch(0, 3, "a", 5), stretch(3, 3.1, "b", 2, 0), stretch(3.1, 9, "c", 4, 1)])

    assert rows == [
        stretch(0, 3, "a", 5),
        Stretch(
            start_ns=3 * S,
            end_ns=9 * S,
            faults=(0, 1),
            leads=Counter({"c": 1}),
            acks=Counter({"b": 2, "c": 4}),
        ),
    ]


def test_one_of_just_the_threshold_is_not_merged():
    long_enough = stretch(3, 3 + SHORT_NS / S, "b")

    assert merged([long_enough, stretch(3 + SHORT_NS / S, 9, "c")])[0] == long_enough


def test_several_short_ones_in_a_row_become_one():
    rows = merged(
        [
            *(stretch(at / 10, (at + 1) / 10, "a", 1) for at in range(5)),
            stretch(0.5, 9, "b", 1),
        ]
    )

    assert [(row.start_ns, row.end_ns, row.leads) for row in rows] == [(0, 9 * S, {"b": 1})]
    assert rows[0].acks == {"a": 5, "b": 1}


def test_a_short_last_one_stays():
    rows = merged([stretch(0, 9.9, "a"), stretch(9.9, 10, "b")])

    assert [row.leads for row in rows] == [{"a": 1}, {"b": 1}]


def test_no_stretch_is_lost_or_twice_there():
    pieces = [stretch(at / 8, (at + 1) / 8, "a", 1) for at in range(8)] + [stretch(1, 2, "a", 1)]

    rows = merged(pieces)

    assert sum((row.acks for row in rows), Counter()) == {"a": 9}
    assert all(one.end_ns == other.start_ns for one, other in pairwise(rows))


# --- counted by Spark

FAILOVER = (
    view("kafka1", ms=-100),
    view("kafka2", ms=-100, partition=1),
    view("kafka2", ms=4000),
    final_read(1, 2, 3),
    final_read(11, 12, partition=1),
)
TWO = {name: NODES[name] for name in ("kafka1", "kafka2")}
SENT = (
    sent(1, at=0, ms=100),
    sent(2, at=1, ms=3000),
    sent(11, at=0, ms=3000, partition=1),
    sent(12, at=1, ms=5000, partition=1),
)


def rows_of(report: Report) -> list[tuple[float, float, dict[str, tuple[int, int]]]]:
    """start_s, end_s and by broker (leads, acks)."""
    return [
        (
            row["start_s"],
            row["end_s"],
            {each["broker"]: (each["leads"], each["acks"]) for each in row["brokers"]},
        )
        for row in report["leadership"]
    ]


@with_story(*SENT, sent(3, at=2, ms=3990, took=9), *FAILOVER, partitions=2, nodes=TWO)
def test_an_ack_just_before_the_change_counts_for_the_old_leader(report: Report) -> None:
    assert rows_of(report) == [
        (0.0, 4.0, {"kafka1": (1, 3), "kafka2": (1, 1)}),
        (4.0, 10.0, {"kafka1": (0, 0), "kafka2": (2, 1)}),
    ]
    assert report["leadership"][0]["brokers"][0]["acks_per_s"] == 0.8


@with_story(*SENT, sent(3, at=2, ms=3990, took=11), *FAILOVER, partitions=2, nodes=TWO)
def test_its_twin_acked_just_after_the_change_counts_for_the_new_one(report: Report) -> None:
    """Sent before the change, too: it is the ack that counts."""
    assert rows_of(report) == [
        (0.0, 4.0, {"kafka1": (1, 2), "kafka2": (1, 1)}),
        (4.0, 10.0, {"kafka1": (0, 0), "kafka2": (2, 2)}),
    ]


@with_story(*SENT, sent(3, at=2, ms=4000, took=0), *FAILOVER, partitions=2, nodes=TWO)
def test_an_ack_at_the_very_change_counts_once_for_the_new_leader(report: Report) -> None:
    assert [row[2] for row in rows_of(report)] == [
        {"kafka1": (1, 2), "kafka2": (1, 1)},
        {"kafka1": (0, 0), "kafka2": (2, 2)},
    ]


@with_story(*SENT, sent(3, at=2, ms=3000, took=5000), *FAILOVER, partitions=2)
def test_an_ack_that_came_seconds_after_its_send_counts_where_it_came(report: Report) -> None:
    assert [row[2]["kafka2"] for row in rows_of(report)] == [(1, 1), (2, 2)]


@with_story(
    *SENT,
    sent(3, at=2, ms=3500),
    *FAILOVER,
    fault("kill", ms=3200),
    partitions=2,
    nodes=TWO,
)
def test_a_dead_leader_leads_until_another_does_and_the_kill_parts_its_load(report: Report) -> None:
    assert rows_of(report) == [
        (0.0, 3.2, {"kafka1": (1, 2), "kafka2": (1, 1)}),
        (3.2, 4.0, {"kafka1": (1, 1), "kafka2": (1, 0)}),
        (4.0, 10.0, {"kafka1": (0, 0), "kafka2": (2, 1)}),
    ]
    assert [row["faults"] for row in report["leadership"]] == [[], [0], []]


@with_story(
    *SENT,
    sent(3, at=2, ms=4005),
    view(None, ms=4000),
    view("kafka3", ms=6000),
    FAILOVER[0],
    *FAILOVER[3:],
    partitions=2,
)
def test_acks_that_nobody_led_are_told_apart(report: Report) -> None:
    """Partition 1 was never seen; 0 had no leader from 4 s to 6 s."""
    told_of = [(row["leaderless"], row["leaderless_acks"]) for row in report["leadership"]]

    assert told_of == [(1, 1), (2, 2), (1, 0)]


@with_story(
    sent(1, at=0, ms=100),
    sent(2, at=1, ms=LOAD_MS + 50),
    view("kafka1", ms=-100),
    final_read(1, 2),
    nodes=TWO,
)
def test_acks_after_the_load_do_not_count(report: Report) -> None:
    assert report["counts"]["acked"] == 2
    assert rows_of(report) == [(0.0, 10.0, {"kafka1": (1, 1), "kafka2": (0, 0)})]


@with_story(sent(1, at=0, ms=0), sent(2, at=1), final_read(1, 2), views=False)
def test_where_nobody_saw_who_led_there_are_no_stretches(report: Report) -> None:
    assert report["leadership"] == []


@with_story(
    *(sent(n, at=n, ms=n * 100, took=1) for n in range(100)),
    *(view(f"kafka{1 + n % 2}", ms=n * 500 - 20) for n in range(20)),
    final_read(*range(100)),
)
def test_every_ack_counts_once_however_often_the_leader_changes(report: Report) -> None:
    rows = rows_of(report)

    assert len(rows) == 20
    assert {sum(acks for _, acks in brokers.values()) for _, _, brokers in rows} == {5}
    assert LOAD_START_NS % 2**30  # the slices of the join begin elsewhere than the load
