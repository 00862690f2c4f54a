"""Cells that are one experiment are counted together, and runs of another one stand apart."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.studies.cells.experiments import (
    by_experiment,
    differing_parts,
    experiment,
    of_commits,
)
from analysis.studies.cells.pooled import pools
from analysis.studies.cells.sittings import Sittings
from harness.model.campaigns.campaign import Campaign
from harness.model.campaigns.ledger import Lines
from harness.model.scenario import ScenarioError

ACKS, MIN_ISR = "workload.producer.acks", "topic.config.min.insync.replicas"
AXES = {ACKS: ["1", "all"], MIN_ISR: [1, 2]}
POOL = {
    "name": "acks=1",
    "where": [{"scenario": "hard", ACKS: "1", MIN_ISR: [1, 2]}],
    "of": ["lost"],
    "reason": "no broker looks",
}


def campaign(*some: Any) -> Campaign:
    matrix = [
        {"scenarios": ["hard"], "repeats": 9, "axes": AXES},
        {"scenarios": ["hard"], "repeats": 9, "axes": {ACKS: ["1"], "topic.partitions": [1]}},
    ]
    return Campaign.model_validate({"title": "t", "data": "d", "matrix": matrix, "pools": some})


def lines(cell: str, lost: list[int], **more: Any) -> list[Any]:
    return [
        {
            "cell": f"hard/{cell}",
            "seed": seed,
            "started_utc": f"{cell} {seed}",
            "verdict": "valid",
            "anomalies": {"lost": each, "duplicate": 1},
            **more,
        }
        for seed, each in enumerate(lost)
    ]


def test_a_pool_has_the_cells_with_just_these_settings_and_their_runs() -> None:
    some = [
        *lines("acks=1,min.insync.replicas=1", [2, 0]),
        *lines("acks=1,min.insync.replicas=2", [0, 0]),
        *lines("acks=all,min.insync.replicas=1", [9]),
        *lines("acks=1,partitions=1", [9]),
    ]
    told = Lines(all=some)

    [found] = pools(campaign(POOL), told)
    row = found.row(Sittings.read(told))

    assert (row["cells"], row["lossy"], row["lost"]) == ("2", "1 of 4 (5–70 %) in one sitting", "2")
    assert (row["duplicating"], row["duplicates"]) == ("—", "—")
    assert row["p"] == "lost 1.00"


def test_the_p_of_equal_cells_is_small_where_they_differ() -> None:
    some = [
        *lines("acks=1,min.insync.replicas=1", [1] * 10),
        *lines("acks=1,min.insync.replicas=2", [0] * 10),
    ]
    told = Lines(all=some)
    [found] = pools(campaign(POOL), told)

    assert found.row(Sittings.read(told))["p"] == "lost 0.00"


def test_a_pool_of_one_cell_is_none() -> None:
    with pytest.raises(ScenarioError, match="'acks=1' has 1 cells"):
        campaign({**POOL, "where": [{"scenario": "hard", ACKS: "1", MIN_ISR: 1}]}).pooled()
    with pytest.raises(ScenarioError, match="'acks=1' has 0 cells"):
        campaign({**POOL, "where": [{"scenario": "hard", ACKS: "1"}]}).pooled()


@pytest.mark.parametrize(
    "other",
    [
        {"kafka": "4.0.0"},
        {"versions": {"librdkafka": "2.17.0"}},
        {"backend": "docker"},
        {"host": {"cpus": 4, "memory_bytes": 8 * 2**30}},
        {"host": {"cpus": 2, "memory_bytes": 16 * 2**30}},
    ],
)
def test_runs_of_another_kafka_client_backend_or_machine_are_no_part_of_it(
    other: Any,
) -> None:
    usual = {"kafka": "3.9.2", "versions": {"librdkafka": "2.16.0"}, "backend": "local"}
    usual |= {"host": {"cpus": 2, "memory_bytes": 8 * 2**30}}
    cell = "acks=1,min.insync.replicas=1"
    some = [*lines(cell, [0, 0], **usual), *lines(cell, [1], **{**usual, **other})]

    assert [len(each) for each in by_experiment(some).values()] == [2, 1]
    found = pools(campaign(POOL), Lines(all=some))
    assert [len(each.lines) for each in found] == [2, 1]
    assert len(differing_parts(some)) == 1
    assert differing_parts([*some[:2], {}]) == []


def test_memory_is_told_in_whole_gib_and_what_nobody_told_is_said() -> None:
    host: Any = {"cpus": 2, "memory_bytes": 25_276_502_016, "kernel": "k"}

    told = experiment({"kafka": "3.9.2", "versions": {"librdkafka": "2.16.0"}, "host": host})
    assert told == "Kafka 3.9.2, librdkafka 2.16.0, local, 2 CPUs, 24 GiB"
    assert "librdkafka not told" in experiment({})


def test_runs_of_a_dirty_commit_are_counted_and_the_others_told_beside_them() -> None:
    dirty, clean = ({"versions": {"kafka_harness_commit": each}} for each in ("ab dirty", "ab"))
    both = [*lines("a", [1, 1], **dirty), *lines("b", [0, 4], **clean)]

    assert of_commits(both) == {
        "dirty": "2",
        "clean_lost": "1 of 2 (9–91 %)",
        "clean_duplicate": "2 of 2 (34–100 %)",
    }
    assert of_commits(both[:2])["clean_lost"] == of_commits(both[2:])["clean_lost"] == "—"
