"""Each record of the metadata log, encoded by Kafka's schemas; what is passed over or refused."""

from __future__ import annotations

import struct

import pytest

from harness.cluster.view.metadata_log.decoding import of_control, of_data
from harness.cluster.view.metadata_log.encoding import Misread
from harness.cluster.view.metadata_log.records import (
    BrokerChanged,
    BrokerGone,
    BrokerRegistered,
    ElrCleared,
    Feature,
    LeaderChange,
    Partition,
    PartitionChanged,
    PartitionMade,
    TopicGone,
    TopicMade,
    Transaction,
    Voter,
    Voters,
)
from tests.support.labs import metadata_logs as logs

T = logs.id_of("t")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_partition_in_every_version(version):
    """Version 1 adds the replicas' directories, version 2 ELR and last known ELR."""
    elr = ((3,), (2,)) if version == 2 else (None, None)
    value = logs.partition(
        "t", 4, leader=1, isr=[1], epochs=(7, 9), elr=elr[0], last_known_elr=elr[1], version=version
    )

    assert of_data(value) == PartitionMade(
        topic=T,
        number=4,
        state=Partition(
            leader=1,
            leader_epoch=7,
            partition_epoch=9,
            replicas=(1, 2, 3),
            isr=(1,),
            elr=elr[0] or (),
            last_known_elr=elr[1] or (),
        ),
    )


def test_a_partition_without_a_leader():
    made = of_data(logs.partition("t", 0, leader=logs.NOBODY, isr=[]))

    assert isinstance(made, PartitionMade)
    assert (made.state.leader, made.state.isr) == (None, ())


def test_a_change_says_what_changed_and_no_more():
    assert of_data(logs.change("t", 4, isr=[2])) == PartitionChanged(topic=T, number=4, isr=(2,))
    assert of_data(logs.change("t", 4, leader=logs.NOBODY, isr=[], elr=[1])) == PartitionChanged(
        topic=T, number=4, leader=logs.NOBODY, isr=(), elr=(1,)
    )
    assert of_data(logs.change("t", 4, replicas=[3, 1], last_known_elr=[2])) == PartitionChanged(
        topic=T, number=4, replicas=(3, 1), last_known_elr=(2,)
    )


def test_a_leader_of_minus_two_is_the_same_one():
    """Its default, which is not written; the schema allows it all the same."""
    assert of_data(logs.change("t", 0, leader=-2)) == PartitionChanged(topic=T, number=0)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_broker_s_registration_in_every_version(version):
    """Version 1 adds controlled shutdown, 2 brokers of ZooKeeper in front of all, 3 directories."""
    value = logs.broker(2, 41, fenced=True, version=version)

    assert of_data(value) == BrokerRegistered(id=2, epoch=41, fenced=True, shutting_down=False)


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (logs.topic("t"), TopicMade(name="t", id=T)),
        (logs.topic_gone("t"), TopicGone(id=T)),
        (logs.fence(2, 41), BrokerChanged(id=2, epoch=41, fenced=True)),
        (logs.unfence(2, 41), BrokerChanged(id=2, epoch=41, fenced=False)),
        (logs.unregister(2, 41), BrokerGone(id=2, epoch=41)),
        (logs.registration_change(2, 41, fenced=1), BrokerChanged(id=2, epoch=41, fenced=True)),
        (logs.registration_change(2, 41, fenced=-1), BrokerChanged(id=2, epoch=41, fenced=False)),
        (logs.registration_change(2, 41, fenced=0), BrokerChanged(id=2, epoch=41)),
        (
            logs.registration_change(2, 41, shutting_down=1),
            BrokerChanged(id=2, epoch=41, shutting_down=True),
        ),
        (logs.feature("metadata.version", 25), Feature(name="metadata.version", level=25)),
        (logs.clear_elr("t"), ElrCleared(topic="t")),
        (logs.clear_elr(), ElrCleared(topic="")),
        (logs.begin(), Transaction(is_now="begun")),
        (logs.end(), Transaction(is_now="ended")),
        (logs.abort(), Transaction(is_now="aborted")),
    ],
)
def test_the_other_records_of_data(value, record):
    assert of_data(value) == record


def test_control_records():
    assert of_control(*logs.leader_change(102, [101, 102])) == LeaderChange(leader=102)
    assert of_control(*logs.voters((101, "a"), (102, None))) == Voters(
        voters=(Voter(id=101, directory=logs.id_of("a")), Voter(id=102))
    )


def test_what_says_nothing_here_is_passed_over():
    """A NoOpRecord, which every controller writes twice a second; a key of tomorrow; a snapshot's
    header and footer."""
    assert of_data(logs.no_op()) is None
    assert of_data(logs.framed(4711, 9, b"whatever")) is None
    assert of_control(3, b"\x00\x00") is None
    assert of_control(99, b"") is None


def test_a_newer_version_may_have_more_tagged_fields():
    value = logs.framed(2, 5, logs.text("t") + T.bytes + logs.tags(t9=b"more"))

    assert of_data(value) == TopicMade(name="t", id=T)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (logs.framed(2, 5, logs.text("t") + T.bytes + b"\x00" + logs.tags()), "2 of version 5"),
        (logs.topic("t")[:-3], "bytes wanted"),
        (logs.framed(2, 0, logs.uvarint(2) + b"\xff" + T.bytes + logs.tags()), "utf-8"),
        (b"\x02\x02\x00", "frame 2"),
        (b"\x01\xff\xff\xff\xff\xff\xff", "never ends"),
    ],
)
def test_what_cannot_be_read_is_refused(value, why):
    """A newer version with another field in between is no record of the older one."""
    with pytest.raises(Misread, match=why):
        of_data(value)


def test_a_count_beyond_all_bytes_ends_at_once():
    with pytest.raises(Misread):
        of_control(6, struct.pack(">h", 0) + logs.uvarint(2**31))
