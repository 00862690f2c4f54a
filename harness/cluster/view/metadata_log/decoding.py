"""The metadata log's records, decoded: who leads what, and who belongs to the cluster.

    record of data      frame version 1, key, version (uvarints), then the message
    control record      its type is in the key of the record: a message

Read are, of Kafka 3.3 to 4.4 (metadata/src/main/resources/common/metadata, key and versions):

    RegisterBroker 0 (0-4)      fenced, in controlled shutdown (1+), migrating (2+)
    UnregisterBroker 1 (0)      Topic 2 (0)      RemoveTopic 9 (0)      FeatureLevel 12 (0)
    Partition 3 (0-2)           directories (1+); tags 1, 2: ELR, last known ELR (2+)
    PartitionChange 5 (0-2)     only what changed, each in a tag; 6, 7: ELR, last known ELR (2+)
    FenceBroker 7, UnfenceBroker 8 (0), BrokerRegistrationChange 17 (0-3)
    BeginTransaction 22, EndTransaction 24, AbortTransaction 25 (0), from 3.6 on (KIP-868)
    ClearElr 28 (0), from 4.0 on (KIP-966)
    control (clients/src/main/resources/common/message): LeaderChange 2, KRaftVoters 6 (KIP-853)

Every other record says nothing here and is passed over. A newer version of one of these is read
like the newest known one, and is only believed if nothing of it is left over: tagged fields may
have been added, no others. What cannot be read raises Misread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from harness.cluster.view.metadata_log.encoding import Fields, Misread
from harness.cluster.view.metadata_log.records import (
    NOBODY,
    BrokerChanged,
    BrokerGone,
    BrokerRegistered,
    ElrCleared,
    Feature,
    Ids,
    LeaderChange,
    Partition,
    PartitionChanged,
    PartitionMade,
    Record,
    TopicGone,
    TopicMade,
    Transaction,
    Voter,
    Voters,
)

FRAME: Final = 1
SAME_LEADER: Final = -2


def of_data(value: bytes) -> Record | None:
    """A record of data; None for one that says nothing here. Raises Misread."""
    fields = Fields(value)
    if (frame := fields.uvarint()) != FRAME:
        raise Misread(f"a metadata record in frame {frame}, {FRAME} expected")
    key, version = fields.uvarint(), fields.uvarint()
    read = _DATA.get(key)
    if read is None:
        return None
    try:
        record = read(fields, version)
    except Misread as error:
        raise Misread(f"metadata record {key} of version {version}: {error}") from None
    if fields.left:
        raise Misread(f"metadata record {key} of version {version}: {fields.left} bytes are over")
    return record


def of_control(type_: int, value: bytes) -> Record | None:
    """A control record by its type; None for one that says nothing here. Raises Misread."""
    read = _CONTROL.get(type_)
    return read(Fields(value)) if read else None


# Parts


def _ids(fields: Fields) -> Ids:
    return fields.ids() or ()


def _text(fields: Fields) -> str:
    return fields.string() or ""


def _end(fields: Fields) -> None:
    """The end of a message of which no tag matters."""
    fields.tagged()


def _registered(fields: Fields, version: int) -> Record:
    id_ = fields.int32()
    if version >= 2:
        fields.boolean()  # of a broker that migrates from ZooKeeper
    fields.uuid()  # of its process
    epoch = fields.int64()
    fields.array(lambda: _endpoint(fields, with_protocol=True))
    fields.array(lambda: _supported(fields))
    fields.string()  # rack
    fenced = fields.boolean()
    shutting_down = fields.boolean() if version >= 1 else False
    _end(fields)
    return BrokerRegistered(id=id_, epoch=epoch, fenced=fenced, shutting_down=shutting_down)


def _endpoint(fields: Fields, *, with_protocol: bool) -> None:
    fields.string()  # name
    fields.string()  # host
    fields.int16()  # port
    if with_protocol:
        fields.int16()
    _end(fields)


def _supported(fields: Fields) -> None:
    """A feature, and the least and the highest of its levels that a broker supports."""
    fields.string()
    fields.int16()
    fields.int16()
    _end(fields)


def _gone(fields: Fields, _: int) -> Record:
    id_, epoch = fields.int32(), fields.int64()
    _end(fields)
    return BrokerGone(id=id_, epoch=epoch)


def _fenced(fields: Fields, _: int) -> Record:
    id_, epoch = fields.int32(), fields.int64()
    _end(fields)
    return BrokerChanged(id=id_, epoch=epoch, fenced=True)


def _unfenced(fields: Fields, _: int) -> Record:
    id_, epoch = fields.int32(), fields.int64()
    _end(fields)
    return BrokerChanged(id=id_, epoch=epoch, fenced=False)


def _registration_changed(fields: Fields, _: int) -> Record:
    id_, epoch = fields.int32(), fields.int64()
    tags = fields.tagged()
    fenced = {1: True, -1: False}.get(tags[0].int8()) if 0 in tags else None
    down = True if 1 in tags and tags[1].int8() == 1 else None  # there is no way back from it
    return BrokerChanged(id=id_, epoch=epoch, fenced=fenced, shutting_down=down)


def _topic(fields: Fields, _: int) -> Record:
    name, id_ = _text(fields), fields.uuid()
    _end(fields)
    return TopicMade(name=name, id=id_)


def _topic_gone(fields: Fields, _: int) -> Record:
    id_ = fields.uuid()
    _end(fields)
    return TopicGone(id=id_)


def _partition(fields: Fields, version: int) -> Record:
    number, topic = fields.int32(), fields.uuid()
    replicas, isr = _ids(fields), _ids(fields)
    _ids(fields)  # being removed
    _ids(fields)  # being added
    leader, leader_epoch, partition_epoch = fields.int32(), fields.int32(), fields.int32()
    if version >= 1:
        fields.array(fields.uuid)  # the directories of the replicas
    tags = fields.tagged()
    state = Partition(
        leader=None if leader == NOBODY else leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        replicas=replicas,
        isr=isr,
        elr=_ids(tags[1]) if 1 in tags else (),
        last_known_elr=_ids(tags[2]) if 2 in tags else (),
    )
    return PartitionMade(topic=topic, number=number, state=state)


def _partition_changed(fields: Fields, _: int) -> Record:
    number, topic = fields.int32(), fields.uuid()
    tags = fields.tagged()
    leader = tags[1].int32() if 1 in tags else None
    ids = {tag: tags[tag].ids() for tag in (0, 2, 6, 7) if tag in tags}
    return PartitionChanged(
        topic=topic,
        number=number,
        leader=None if leader == SAME_LEADER else leader,
        isr=ids.get(0),
        replicas=ids.get(2),
        elr=ids.get(6),
        last_known_elr=ids.get(7),
    )


def _feature(fields: Fields, _: int) -> Record:
    name, level = _text(fields), fields.int16()
    _end(fields)
    return Feature(name=name, level=level)


def _transaction(
    is_now: Literal["begun", "ended", "aborted"],
) -> Callable[[Fields, int], Record]:
    def read(fields: Fields, _: int) -> Record:
        _end(fields)
        return Transaction(is_now=is_now)

    return read


def _elr_cleared(fields: Fields, _: int) -> Record:
    topic = _text(fields)
    _end(fields)
    return ElrCleared(topic=topic)


def _leader_change(fields: Fields) -> Record:
    fields.int16()  # its version; what follows the leader differs by it
    return LeaderChange(leader=fields.int32())


def _voters(fields: Fields) -> Record:
    fields.int16()  # its version
    return Voters(voters=fields.array(lambda: _voter(fields)) or ())


def _voter(fields: Fields) -> Voter:
    id_, directory = fields.int32(), fields.uuid()
    fields.array(lambda: _endpoint(fields, with_protocol=False))
    fields.int16()  # the least and the highest version of KRaft that it supports
    fields.int16()
    _end(fields)  # of these two, which are a struct of their own
    _end(fields)
    return Voter(id=id_, directory=directory if directory.int else None)


_DATA: Mapping[int, Callable[[Fields, int], Record]] = {
    0: _registered,
    1: _gone,
    2: _topic,
    3: _partition,
    5: _partition_changed,
    7: _fenced,
    8: _unfenced,
    9: _topic_gone,
    12: _feature,
    17: _registration_changed,
    22: _transaction("begun"),
    24: _transaction("ended"),
    25: _transaction("aborted"),
    28: _elr_cleared,
}
_CONTROL: Mapping[int, Callable[[Fields], Record]] = {2: _leader_change, 6: _voters}
