"""The view by brokers: the highest epoch is believed, whoever is stale, silent or new."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kafka.protocol.admin import DescribeTopicPartitionsResponse
from kafka.protocol.metadata import MetadataResponse

from harness.cluster.nodes import ClusterError
from harness.cluster.view.askers import SILENT_S
from harness.cluster.view.brokers import (
    DESCRIBE_TOPIC_PARTITIONS,
    AskedView,
    PartitionAnswer,
    alive_of,
    answer_of,
    controller_of,
    newest,
)
from harness.cluster.view.discovery import discovered
from harness.cluster.view.state import Blind
from harness.waiting import wait_until
from tests.support.labs.answering_node import METADATA, AnsweringNode
from tests.support.mock_kafka import TOPIC, MockKafka

ALL = (1, 2, 3)


def the_partition(leader: int, epoch: int, isr: tuple[int, ...]) -> dict[str, Any]:
    """What answers to both questions say of it."""
    return {
        "error_code": 0,
        "partition_index": 0,
        "leader_id": leader,
        "leader_epoch": epoch,
        "replica_nodes": [2, 1, 3],
        "isr_nodes": list(isr),
        "offline_replicas": [],
    }


def metadata(
    *,
    leader: int,
    epoch: int,
    isr: tuple[int, ...] = ALL,
    controller: int = 1,
    alive: tuple[int, ...] = ALL,
    error: int = 0,
) -> Any:
    """What a broker answers, of one topic with one partition."""
    response = MetadataResponse
    partition = response.MetadataResponseTopic.MetadataResponsePartition(
        **the_partition(leader, epoch, isr), version=9
    )
    topic = response.MetadataResponseTopic(
        error_code=error,
        name="t",
        is_internal=False,
        version=9,
        partitions=[] if error else [partition],
    )
    members = [
        response.MetadataResponseBroker(node_id=i, host="h", port=1, rack=None, version=9)
        for i in alive
    ]
    return response(
        throttle_time_ms=0,
        brokers=members,
        cluster_id="c",
        controller_id=controller,
        topics=[topic],
        version=9,
    )


def known(told: list[Any], controller: int | None) -> PartitionAnswer:
    """What is believed of the partition, which somebody knows."""
    believed = newest(told, "t", 0, controller)
    assert believed is not None
    return believed


def answers(**said: Any) -> list[Any]:
    """answers(b1=metadata(...), ...): what brokers that know themselves say."""
    each = [answer_of(int(name[1:]), response) for name, response in said.items()]
    return [answer for answer in each if answer is not None]


def test_a_stale_broker_does_not_fool_us_though_it_is_the_one_that_led():
    told = answers(
        b1=metadata(leader=1, epoch=4, controller=1),
        b2=metadata(leader=2, epoch=5, isr=(2, 3), controller=3),
        b3=metadata(leader=2, epoch=5, isr=(2, 3), controller=3),
    )

    assert controller_of(told, last=1) == 3
    believed = known(told, controller=3)
    assert (believed.leader, believed.epoch, believed.isr) == (2, 5, frozenset({2, 3}))
    assert believed.replicas == (2, 1, 3)


def test_two_stale_brokers_are_outvoted_by_one_higher_epoch():
    told = answers(
        b1=metadata(leader=1, epoch=4),
        b2=metadata(leader=1, epoch=4),
        b3=metadata(leader=3, epoch=5, isr=(3,)),
    )

    assert known(told, controller=1).leader == 3


@pytest.mark.parametrize(("controller", "isr"), [(2, {1, 2}), (None, {1, 2, 3})])
def test_of_one_epoch_the_controller_is_believed_else_most(controller, isr):
    """An ISR that shrinks has no epoch of its own."""
    told = answers(
        b1=metadata(leader=1, epoch=4),
        b2=metadata(leader=1, epoch=4, isr=(1, 2)),
        b3=metadata(leader=1, epoch=4),
    )

    assert known(told, controller).isr == isr


def test_as_many_votes_for_each_go_to_the_controller_that_is_news():
    told = answers(
        b1=metadata(leader=1, epoch=1, controller=1), b2=metadata(leader=1, epoch=1, controller=2)
    )

    assert (controller_of(told, last=1), controller_of(told, last=2)) == (2, 1)
    assert controller_of(answers(b1=metadata(leader=1, epoch=1, controller=-1)), None) is None


def test_no_leader_is_news_too_and_a_topic_that_nobody_knows_is_nothing():
    told = answers(b1=metadata(leader=-1, epoch=6), b2=metadata(leader=2, epoch=5))

    assert known(told, None).leader is None
    assert newest(told, "other", 0, None) is None
    assert newest(answers(b1=metadata(leader=1, epoch=1, error=3)), "t", 0, None) is None


def test_a_broker_that_has_just_started_and_knows_nobody_is_not_heard():
    assert answers(b1=metadata(leader=1, epoch=9, alive=())) == []


def test_who_lives_the_controller_knows_else_most():
    told = answers(
        b1=metadata(leader=1, epoch=1),
        b2=metadata(leader=1, epoch=1, alive=(2, 3)),
        b3=metadata(leader=1, epoch=1),
    )

    assert (alive_of(told, 2), alive_of(told, None)) == (
        frozenset({2, 3}),
        frozenset({1, 2, 3}),
    )


# By real connections


@pytest.fixture
def trio() -> Iterator[list[AnsweringNode]]:
    said = metadata(leader=1, epoch=4, controller=1)
    made = [AnsweringNode(f"kafka{number}", number, {METADATA: said}) for number in ALL]
    yield made
    for broker in made:
        broker.close()


@pytest.fixture
def view(trio: list[AnsweringNode]) -> Iterator[AskedView]:
    with closing(AskedView([broker.node for broker in trio], "t", 1, {})) as made:
        made.connect(5)
        yield made


def test_every_broker_is_asked_and_the_newest_leads(view, trio):
    assert view.look().partitions[0].leader == "kafka1"
    assert view.look().assignment == (("kafka2", "kafka1", "kafka3"),)
    assert view.recovered(3) == "every broker is a member, every ISR has 3 members"

    trio[2].said[METADATA] = metadata(leader=3, epoch=5, isr=(3,), controller=3)

    state = view.look().partitions[0]
    assert (state.leader, state.isr, state.leader_epoch) == ("kafka3", ("kafka3",), 5)
    assert view.recovered(3) is None


def described(*, leader: int, epoch: int, isr: tuple[int, ...], elr: list[int] | None) -> Any:
    """What a broker of KRaft answers of the same partition."""
    topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    partition = topic.DescribeTopicPartitionsResponsePartition(
        **the_partition(leader, epoch, isr), eligible_leader_replicas=elr, last_known_elr=None
    )
    return DescribeTopicPartitionsResponse(
        throttle_time_ms=0,
        topics=[topic(error_code=0, name="t", partitions=[partition])],
        next_cursor=None,
        version=0,
    )


def test_who_may_lead_though_not_in_sync_is_told_by_brokers_that_know(view, trio):
    """The whole partition is then as that answer has it: the two questions are two moments."""
    assert view.look().partitions[0].elr is None

    for broker in trio:
        broker.hang_up()
        broker.said[DESCRIBE_TOPIC_PARTITIONS] = described(leader=-1, epoch=5, isr=(), elr=[3, 2])
    told = wait_until(
        lambda: (state := view.look().partitions[0]).elr and state,
        timeout_s=5,
        what="an ELR",
        ignoring=(Blind,),
    )

    assert (told.leader, told.isr, told.leader_epoch) == (None, (), 5)
    assert (told.elr, told.partition_epoch) == (("kafka2", "kafka3"), None)

    for broker in trio:
        broker.said[DESCRIBE_TOPIC_PARTITIONS] = described(leader=2, epoch=6, isr=(2,), elr=None)
    assert view.look().partitions[0].elr == ()


def test_a_broker_that_hangs_is_waited_for_once(view, trio, clock):
    trio[0].silent = True

    took = [clock(view.look) for _ in range(4)]

    first, *later = took
    assert first >= SILENT_S > sorted(later)[1]  # a busy host may stop one of them
    assert view.registration(trio[0].node) is None
    assert view.registration(trio[1].node) == 1


@pytest.fixture
def clock():
    import time  # noqa: PLC0415

    def measured(do: Any) -> float:
        begin_s = time.monotonic()
        do()
        return time.monotonic() - begin_s

    return measured


def test_when_none_answers_the_last_view_is_told_and_marked(view, trio):
    before = view.look()
    for broker in trio:
        broker.close()

    with pytest.raises(Blind):
        view.look()
    last = view.look_or_last()
    assert (last.partitions, last.controller, last.known) == (before.partitions, "kafka1", False)
    assert view.recovered(3) is None


def test_a_broker_that_is_back_answers_on_another_connection(view, trio):
    first = view.registration(trio[1].node)
    for each in trio[1].callers():
        each.shutdown(socket.SHUT_RDWR)

    assert first == 1
    wait_until(lambda: view.registration(trio[1].node) == 2, timeout_s=5, what="another connection")


def test_librdkafkas_own_brokers_are_understood():
    kafka = MockKafka(partitions=2)
    try:
        nodes = discovered(kafka.bootstrap.split(",")[:1], {})
        assert [node.endpoint for node in nodes] == kafka.bootstrap.split(",")
        with closing(AskedView(nodes, TOPIC, 2, {})) as view:
            view.connect(10)
            seen = view.look()
            assert seen.whole
            assert view.live_brokers() == ("kafka1", "kafka2", "kafka3")
            assert view.assignment_of("nothing") == ()
            assert view.coordinator("group", "g") is None
            kafka.down()
            wait_until(lambda: not view.look_or_last().known, timeout_s=10, what="blindness")
            assert view.look_or_last().partitions == seen.partitions
    finally:
        kafka.close()


def test_where_nobody_is_the_sentence_says_what_each_said():
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    wrong = [f"127.0.0.1:{port}", f"localhost:{port}"]

    with pytest.raises(ClusterError, match=f"cannot be reached: 127.0.0.1:{port}: .*; localhost"):
        discovered(wrong, {})
