"""Who leads KRaft's quorum, by what its controllers say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumResponse
from kafka.protocol.metadata import MetadataResponse

from harness.cluster.view.askers import SILENT_S
from harness.cluster.view.brokers import FRESH_S, AskedView
from harness.cluster.view.connection import Link
from harness.cluster.view.quorum import EVERY_S, NO_CLAIM, Claims, Quorum
from harness.waiting import wait_until
from tests.support.labs.answering_node import DESCRIBE_QUORUM, METADATA, AnsweringNode

NOT_LEADER = 6


def led(
    leader: int,
    epoch: int,
    *,
    error: int = 0,
    committed: int = 0,
    ends: dict[int, int] | None = None,
) -> Any:
    """A description of the quorum; with an error the numbers are nobody's. `ends` are those of the
    voters' copies."""
    response = DescribeQuorumResponse
    partition = response.TopicData.PartitionData(
        partition_index=0,
        error_code=error,
        leader_id=leader,
        leader_epoch=epoch,
        high_watermark=committed,
        current_voters=[
            response.TopicData.PartitionData.ReplicaState(replica_id=voter, log_end_offset=end)
            for voter, end in (ends or {}).items()
        ],
        observers=[],
    )
    topic = response.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return response(error_code=0, topics=[topic], version=0)


FOLLOWS = led(0, 0, error=NOT_LEADER)
ENDS = {101: 40, 102: 42, 103: 39}


# What is believed


def heard(*said: dict[int, int]) -> int | None:
    claims = Claims()
    for epochs in said:
        claims.hear(epochs)
    return claims.leader


@pytest.mark.parametrize(
    ("said", "leader"),
    [
        ([{101: NO_CLAIM, 102: 7, 103: NO_CLAIM}], 102),
        ([{101: 7, 102: 8}], 102),  # 101 is cut off, and has not heard of it
        ([{101: 7, 102: 8}, {101: 7}], 102),
        ([{101: 7}, {102: NO_CLAIM}], 101),  # silent: paused, and nobody else leads yet
        ([{101: 7}, {101: NO_CLAIM, 102: NO_CLAIM}], None),
        ([{101: 7}, {101: NO_CLAIM}, {101: 9}], 101),
        ([{101: NO_CLAIM}], None),
        ([], None),
    ],
)
def test_the_newest_claim_holds_until_it_is_taken_back(
    said: list[dict[int, int]], leader: int | None
) -> None:
    assert heard(*said) == leader


# By real connections


@pytest.fixture
def nodes() -> Iterator[list[AnsweringNode]]:
    """A broker, which names itself as the controller, and three controllers."""
    response = MetadataResponse
    broker = response.MetadataResponseBroker(node_id=1, host="h", port=1, rack=None, version=9)
    topic = response.MetadataResponseTopic
    partition = topic.MetadataResponsePartition(
        partition_index=0, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1]
    )
    told = response(
        throttle_time_ms=0,
        brokers=[broker],
        cluster_id="c",
        controller_id=1,
        topics=[topic(name="t", partitions=[partition])],
        version=9,
    )
    made = [AnsweringNode("kafka1", 1, {METADATA: told, DESCRIBE_QUORUM: led(103, 4)})]
    for i in (1, 2, 3):
        said = led(102, 5, committed=40, ends=ENDS) if i == 2 else FOLLOWS
        made.append(AnsweringNode(f"controller{i}", 100 + i, {DESCRIBE_QUORUM: said}))
    yield made
    for each in made:
        each.close()


@pytest.fixture
def view(nodes: list[AnsweringNode]) -> Iterator[AskedView]:
    every = [each.node for each in nodes]
    with closing(AskedView(every, "t", 1, {}, of_quorum=every[1:])) as made:
        made.connect(5)
        yield made


def test_controllers_that_are_known_are_asked_themselves(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    """Not by way of a broker, who may have been told long ago."""
    assert view.controller() == "controller2"
    assert DESCRIBE_QUORUM not in nodes[0].asked


def test_a_new_leader_is_seen_by_the_next_look_after_a_tenth_of_a_second(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    view.look()
    nodes[2].said[DESCRIBE_QUORUM], nodes[3].said[DESCRIBE_QUORUM] = FOLLOWS, led(103, 6)

    wait_until(
        lambda: view.controller() == "controller3",
        timeout_s=FRESH_S + SILENT_S,  # some of it for a busy host
        what="the new leader",
        every_s=0.02,
    )


def test_however_often_somebody_looks_a_controller_is_asked_ten_times_a_second(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    before = len(nodes[2].asked)
    for _ in range(40):
        view.look()

    asked = len(nodes[2].asked) - before
    assert asked < len(nodes[0].asked) / 2


def test_a_silent_leader_leads_on_until_another_does(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    assert view.controller() == "controller2"
    nodes[2].silent = True
    assert view.controller() == "controller2"

    nodes[1].said[DESCRIBE_QUORUM] = led(101, 6)
    wait_until(lambda: view.controller() == "controller1", timeout_s=5, what="the next leader")


def test_where_nobody_s_controllers_are_known_a_broker_passes_the_question_on(
    nodes: list[AnsweringNode],
) -> None:
    every = [each.node for each in nodes]
    with closing(AskedView(every, "t", 1, {})) as view:
        view.connect(5)
        assert view.controller() == "controller3"

    assert DESCRIBE_QUORUM not in nodes[2].asked


def test_what_a_broker_passes_on_from_one_that_leads_no_more_is_nobody_s_number(
    nodes: list[AnsweringNode],
) -> None:
    nodes[0].said[DESCRIBE_QUORUM] = FOLLOWS
    with closing(Quorum([Link(*nodes[0].node.dial, {})])) as quorum:
        quorum.start()
        assert quorum.leader is None


def test_a_controller_that_has_moved_is_asked_where_it_is(nodes: list[AnsweringNode]) -> None:
    every = [each.node for each in nodes]
    moved = AnsweringNode("controller2", 102, {DESCRIBE_QUORUM: led(102, 9)})
    nodes[2].close()
    now = [each if each.name != "controller2" else moved.node for each in every]
    with (
        closing(moved),
        closing(AskedView(every, "t", 1, {}, of_quorum=every[1:], now=lambda: now)) as view,
    ):
        view.connect(5)
        wait_until(lambda: view.controller() == "controller2", timeout_s=5, what="its claim")


def test_a_voter_follows_that_has_all_that_is_committed(nodes: list[AnsweringNode]) -> None:
    """As whoever leads has told just now: of older news it cannot be said."""
    nodes[0].said[DESCRIBE_QUORUM] = led(102, 5, committed=40, ends={101: 40, 102: 42, 103: 12})
    quorum = Quorum([Link(*nodes[0].node.dial, {})])
    assert not quorum.follows(102)

    with closing(quorum):
        quorum.start()
        assert [quorum.follows(id_) for id_ in (101, 102, 103, 104)] == [True, True, False, False]

    quorum._described_s = (quorum._described_s or 0) - 2 * EVERY_S
    assert not quorum.follows(102)


def test_a_cluster_has_recovered_once_every_voter_has_what_is_committed(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    assert view.recovered(1) is None

    nodes[2].said[DESCRIBE_QUORUM] = led(102, 5, committed=40, ends={**ENDS, 103: 40})
    told = wait_until(lambda: view.recovered(1), timeout_s=5, what="recovery", every_s=0.02)
    assert told == "every broker is a member, every ISR has 1 members, every voter is level"


def test_a_broker_tells_at_which_levels_features_are_finalized(
    view: AskedView, nodes: list[AnsweringNode]
) -> None:
    assert view.features() == {}
    nodes[0].features = {"kraft.version": 1, "metadata.version": 30}

    assert view.features() == {"kraft.version": 1, "metadata.version": 30}
