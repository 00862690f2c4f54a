"""Where Kafka's rule puts replicas, by its own worked examples and by what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.run_facts.placement import (
    fewest_misplaced,
    fewest_off_stripes,
    misplaced_count,
)

ALONE = {f"kafka{i}": f"kafka{i}" for i in range(5)}
# Ten partitions on five brokers, each in a rack of its own.
TEN = ["012", "123", "234", "340", "401", "023", "134", "240", "301", "412"]
SHARED = dict(zip("012345", ["rack1", "rack3", "rack3", "rack2", "rack2", "rack1"], strict=True))
# Twelve on six brokers in three racks; the ring is 0, 3, 1, 5, 4, 2.
TWELVE = ["031", "315", "154", "542", "420", "203", "042", "320", "103", "531", "415", "254"]


def named(rows: list[str], prefix: str = "") -> list[list[str]]:
    return [[f"{prefix}{number}" for number in row] for row in rows]


def test_kafkas_own_examples_are_in_place() -> None:
    assert 0 == fewest_misplaced(named(TEN, "kafka"), ALONE)
    assert 0 == fewest_misplaced(named(TWELVE), SHARED)


@pytest.mark.parametrize("start", range(5))
def test_any_start_will_do(start: int) -> None:
    turned = ["".join(str((int(number) + start) % 5) for number in row) for row in TEN]

    assert 0 == fewest_misplaced(named(turned, "kafka"), ALONE)


def test_two_that_changed_places_are_two() -> None:
    assert 2 == fewest_misplaced(named([*TEN[:-1], "421"], "kafka"), ALONE)


def test_a_leader_out_of_turn_is_misplaced() -> None:
    assert fewest_misplaced(named(["012", "012", "234", "340", "401"], "kafka"), ALONE) >= 1


def test_two_replicas_in_one_rack_are_misplaced() -> None:
    crowded = ["051", *TWELVE[1:]]  # 0 and 5 stand in rack1

    assert fewest_misplaced(named(crowded), SHARED) >= 1


# KRaft's, seven on five brokers: the brokers are shuffled after the fifth partition.
STRIPES = ["012", "123", "234", "340", "401", "304", "042"]
# Six on six brokers in three racks, of which 0 and 5, 3 and 4, 1 and 2 share one.
IN_RACKS = ["041", "325", "104", "532", "410", "253"]
CROWDED = ["0415", "3254", "1042", "5320", "4103", "2531"]  # four replicas in three racks
RACKED = dict(zip("012345", ["a", "c", "c", "b", "b", "a"], strict=True))


@pytest.mark.parametrize("start", range(5))
def test_stripes_of_a_controller_are_in_place_wherever_they_begin(start: int) -> None:
    turned = [*STRIPES[start:5], *STRIPES[:start]]

    assert 0 == fewest_off_stripes(named(turned, "kafka"), ALONE)
    assert 0 == fewest_off_stripes(named([*turned, "420"], "kafka"), ALONE)


def test_stripes_go_through_racks_and_through_the_brokers_of_each() -> None:
    assert 0 == fewest_off_stripes(named(IN_RACKS), RACKED)
    assert 0 == fewest_off_stripes(named(CROWDED), RACKED)
    assert 0 == fewest_off_stripes(named(IN_RACKS[1:3]), RACKED)
    assert 2 == fewest_off_stripes(named([*IN_RACKS[:5], "235"]), RACKED)


@pytest.mark.parametrize(("at", "row"), [(0, "021"), (3, "304"), (4, "410")])
def test_two_replicas_out_of_a_stripe_are_two(at: int, row: str) -> None:
    rows = [*STRIPES[:at], row, *STRIPES[at + 1 :]]

    assert 2 == fewest_off_stripes(named(rows, "kafka"), ALONE)


def test_stripes_of_shuffled_brokers_are_none_at_first() -> None:
    shuffled = ["021", "213", "134", "340", "402"]

    assert fewest_off_stripes(named(shuffled, "kafka"), ALONE) > 0
    assert 0 == fewest_off_stripes(named([*STRIPES[:5], *shuffled], "kafka"), ALONE)


def test_each_mode_has_its_own_rule() -> None:
    nodes = {f"kafka{i}": {"role": "broker", "id": i} for i in range(5)}
    scenario = {"topic": {"placement": "kafka"}, "cluster": {"kafka": "4.4.0"}}
    rows = named(STRIPES, "kafka")

    assert 0 == misplaced_count(record(nodes=nodes, replicas=rows, scenario=scenario))
    assert (misplaced_count(record(nodes=nodes, replicas=rows)) or 0) > 0
    assert 0 == misplaced_count(record(nodes=nodes, replicas=[[]], scenario=scenario))


def record(**changes: Any) -> dict[str, Any]:
    nodes = {
        "zk1": {"role": "zookeeper", "id": 1},
        **{f"kafka{i}": {"role": "broker", "id": i, "rack": ""} for i in (3, 1, 2)},
    }
    rows = [["kafka2", "kafka3", "kafka1"], ["kafka3", "kafka1", "kafka2"]]
    scenario = {"topic": {"placement": "kafka"}}
    return {"nodes": nodes, "replicas": rows, "scenario": scenario, "backend": "local", **changes}


def test_of_a_run_the_brokers_by_their_ids() -> None:
    assert 0 == misplaced_count(record())


def test_one_broker_has_all() -> None:
    alone = {"kafka1": {"role": "broker", "id": 1}}

    assert 0 == misplaced_count(record(nodes=alone, replicas=[["kafka1"], ["kafka1"]]))


ATTACHED = {"kubernetes": {"attach": {"namespace": "kafka"}}}
CROWD = {f"kafka{i}": {"role": "broker", "id": i} for i in range(1, 99)}


@pytest.mark.parametrize(
    "changes",
    [
        {"replicas": []},
        {"replicas": [["kafka9"]]},
        {"nodes": {}},
        {"replicas": None},
        {"backend": "external"},
        {"scenario": {"topic": {"placement": "ring"}}},
        {"scenario": {"topic": {"placement": "kafka"}, "backend": ATTACHED}},
        {"nodes": CROWD},
        {"replicas": [["kafka1"]] * 1001},
    ],
)
def test_what_the_record_does_not_tell_is_not_known(changes: dict[str, Any]) -> None:
    assert misplaced_count(record(**changes)) is None
