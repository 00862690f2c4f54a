"""What workers are told: as many SPECs as the scenario asks for, each with what is its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cluster.nodes import Node
from harness.model.effects import Effects
from harness.model.plan import Step
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import ClusterPart, Scenario, TopicPart, WorkloadPart
from harness.model.worker_kinds import FIRST_OUTPUT, KINDS, WorkerKind
from harness.run.load.worker_specs import (
    Spec,
    Specs,
    coordinated,
    flush_s,
    group_of,
    refusals_stand,
)

FOLDER = RunFolder(path=Path("/results/told/20261120T140307Z-1"))
NODES = (
    Node(name="zk1", role="zookeeper", id=1, address="10.0.0.1", port=2181),
    Node(name="kafka1", role="broker", id=1, address="10.0.0.2", port=9092),
    Node(name="kafka2", role="broker", id=2, address="10.0.0.3", port=9092),
)


def scenario(kind: str = "stream", **work: Any) -> Scenario:
    workload = WorkloadPart.model_validate({"kind": kind, **work})
    return Scenario(title="told", topic=TopicPart(partitions=4), workload=workload)


def specs(told: Scenario, nodes: tuple[Node, ...] = NODES) -> dict[str, Spec]:
    made = Specs(scenario=told, seed=7, folder=FOLDER, nodes=nodes, leader="kafka1")
    return {spec["process"]: spec for _, spec in made.of_load(limit_s=60.0)}


def test_a_stream_has_the_workers_that_it_asks_for() -> None:
    asked = scenario(producers=2, consumers=1, group_consumers=2)

    assert [
        "producer-0",
        "producer-1",
        "consumer-0",
        "group-consumer-0",
        "group-consumer-1",
    ] == list(specs(asked))


def test_write_read_is_one_worker_whatever_a_stream_would_have() -> None:
    assert ["write-read-0"] == list(specs(scenario("write-read", producers=2, consumers=2)))


def test_every_worker_is_given_the_brokers_and_no_zookeeper() -> None:
    (spec,) = specs(scenario(consumers=0)).values()

    assert "10.0.0.2:9092,10.0.0.3:9092" == spec["config"]["bootstrap.servers"]
    assert ("harness", 4, 60.0) == (spec["topic"], spec["partitions"], spec["limit_s"])
    assert ("told/20261120T140307Z-1", str(FOLDER.history)) == (spec["run_id"], spec["history"])
    assert 7 == spec["seed"]


def test_each_producer_has_a_number_and_transactions_of_its_own() -> None:
    told = specs(scenario(producers=2, producer={"transactional.id": "t"}))

    assert [0, 1] == [told[name]["index"] for name in ("producer-0", "producer-1")]
    assert "t-1" == told["producer-1"]["config"]["transactional.id"]
    assert "index" not in told["consumer-0"]


def test_values_of_two_kinds_that_send_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    prober = WorkerKind(name="prober", count=lambda _: 2, sends=True)
    monkeypatch.setitem(KINDS, "prober", prober)

    told = specs(scenario(producers=2))

    assert [2, 3] == [told[name]["index"] for name in ("prober-0", "prober-1")]


def test_a_transformer_sends_as_a_producer_does_and_reads_as_a_member_does() -> None:
    """Its values begin beyond those of all producers, whoever succeeds these."""
    told = specs(
        scenario(
            producers=2,
            transformers=2,
            commit="transaction",
            producer={"transactional.id": "t"},
            consumer={"isolation.level": "read_committed"},
        )
    )
    spec = told["transformer-1"]

    assert ("t-3", "10.0.0.2:9092,10.0.0.3:9092") == (
        spec["config"]["transactional.id"],
        spec["config"]["bootstrap.servers"],
    )
    assert {
        "isolation.level": "read_committed",
        "bootstrap.servers": "10.0.0.2:9092,10.0.0.3:9092",
    } == spec["consumer_config"]
    assert (FIRST_OUTPUT, FIRST_OUTPUT + 3) == (spec["first_output"], spec["index"])
    assert (group_of(FOLDER), "transaction") == (spec["group"], spec["commit"])
    assert "first_output" not in told["producer-0"]


def test_the_first_transformer_is_the_first_to_die() -> None:
    told = specs(scenario(transformers=2, dies=["before-commit"]))

    assert ["before-commit", ""] == [told[f"transformer-{n}"]["dies"] for n in (0, 1)]


def test_the_first_member_of_the_group_is_the_first_to_die() -> None:
    told = specs(scenario(group_consumers=2, dies=["before-commit", "before-process"]))

    assert ["before-commit", ""] == [told[f"group-consumer-{n}"]["dies"] for n in (0, 1)]
    assert {group_of(FOLDER)} == {told[f"group-consumer-{n}"]["group"] for n in (0, 1)}
    assert "group" not in told["consumer-0"]


def test_a_member_may_have_settings_and_a_pace_of_its_own() -> None:
    first = {"consumer": {"fetch.min.bytes": 9}, "slow_every": 5, "slow_ms": 20.0}
    shared = {"check.crcs": True, "fetch.min.bytes": 1}
    for kind, config in (("group-consumer", "config"), ("transformer", "consumer_config")):
        workers: dict[str, Any] = {f"{kind.replace('-', '_')}s": 2}
        told = specs(scenario(**workers, members=[first], consumer=shared))
        one, other = (told[f"{kind}-{number}"] for number in (0, 1))

        assert (9, True, 5, 20.0) == (
            *(one[config][key] for key in ("fetch.min.bytes", "check.crcs")),
            *(one[key] for key in ("slow_every", "slow_ms")),
        )
        assert (1, 0, 0) == (
            other[config]["fetch.min.bytes"],
            other["slow_every"],
            other["pause_every"],
        )


@pytest.mark.parametrize(
    ("leader", "known"), [("kafka1", "10.0.0.3:9092"), ("kafka2", "10.0.0.2:9092")]
)
def test_write_read_reads_by_one_broker_that_does_not_lead(leader: str, known: str) -> None:
    made = Specs(scenario=scenario("write-read"), seed=7, folder=FOLDER, nodes=NODES, leader=leader)
    ((_, spec),) = made.of_load(60.0)

    assert {"bootstrap.servers": known} == spec["consumer_config"]


def test_where_there_is_one_broker_write_read_reads_by_it() -> None:
    (spec,) = specs(scenario("write-read"), NODES[:2]).values()

    assert "10.0.0.2:9092" == spec["consumer_config"]["bootstrap.servers"]


def test_a_follower_that_is_to_serve_reads_is_named_by_its_rack() -> None:
    (spec,) = specs(scenario("write-read", read_via="follower")).values()

    assert "kafka2" == spec["consumer_config"]["client.rack"]


def test_a_worker_awaits_its_sends_as_long_as_one_may_take() -> None:
    assert 12.0 == flush_s(scenario(producer={"message.timeout.ms": 7000}))


def test_the_final_read_is_a_consumer_of_its_own() -> None:
    told = scenario(consumer={"isolation.level": "read_committed"})
    spec = Specs(scenario=told, seed=7, folder=FOLDER, nodes=NODES, leader=None).of_final_read(
        9.0, 6
    )

    assert ("final-read-0", 9.0) == (spec["process"], spec["limit_s"])
    assert "read_committed" == spec["config"]["isolation.level"]


@pytest.mark.parametrize(
    ("work", "names"),
    [
        ({"group_consumers": 1}, {"group": f"{FOLDER.run_id}/group"}),
        ({}, {"group": f"{FOLDER.run_id}/consumer-0"}),
        ({"consumer": {"group.id": "mine"}}, {"group": "mine"}),
        ({"consumers": 0}, {}),
        ({"consumers": 0, "producer": {"transactional.id": "t"}}, {"transaction": "t-0"}),
    ],
)
def test_coordinators_are_found_by_the_names_that_the_workers_use(
    work: dict[str, Any], names: dict[str, str]
) -> None:
    assert names == coordinated(scenario(**work), FOLDER)


def test_write_read_is_coordinated_under_its_own_name() -> None:
    assert {"group": f"{FOLDER.run_id}/write-read-0"} == coordinated(scenario("write-read"), FOLDER)


@pytest.mark.parametrize(
    ("cluster", "topic", "bytes_"),
    [
        ({}, {}, 1_048_588),
        ({"server": {"message.max.bytes": 5000}}, {}, 5000),
        ({"broker": {"message.max.bytes": 7000}}, {}, 7000),  # KRaft's brokers alone
        ({"server": {"message.max.bytes": 5000}}, {"max.message.bytes": 3000}, 3000),
    ],
)
def test_the_largest_batch_is_what_brokers_and_topic_take(
    cluster: dict[str, Any], topic: dict[str, Any], bytes_: int
) -> None:
    """A smaller limit than the real one would call sends failed that may have landed."""
    told = scenario().model_copy(
        update={
            "cluster": ClusterPart.model_validate(cluster),
            "topic": TopicPart(partitions=4, config=topic),
        }
    )

    assert {bytes_} == {spec["largest_batch"] for spec in specs(told).values()}


CHANGES = Effects(may_change_settings=True)


@pytest.mark.parametrize(
    ("effects", "own", "stand"),
    [
        ([Effects()], True, True),
        ([Effects()], False, False),  # others may change what the brokers take
        ([Effects(), CHANGES], True, False),
        ([None], True, False),
    ],
)
def test_refusals_stand_where_nothing_changes_settings(
    effects: list[Effects | None], own: bool, stand: bool
) -> None:
    plan = [
        Step(
            step=number,
            series=0,
            verb="told",
            target="leader",
            unit="seconds",
            at=1,
            for_s=1,
            until=None,
            options={},
            seed=0,
            effects=each,
        )
        for number, each in enumerate(effects)
    ]

    assert refusals_stand(plan, own=own) is stand
