"""What DumpLogSegments prints, in both formats, and where the first leader is put."""

from __future__ import annotations

import re

from harness.cluster.admin.topics import others_from
from harness.cluster.local.backend import local_nodes
from harness.nemesis.faults.admin.dump_log import read
from tests.support.log_segments import in_a_dump


def ours(text: str) -> str:
    """A dump whose payloads are ours of the values in braces."""
    return re.sub(r"\{(\d+)\}", lambda value: in_a_dump(int(value[1])), text)


# As Kafka 3.9.2 prints it, shortened; payloads are padded with spaces.
OLD = ours("""Dumping /run/kafka-harness/kafka1/harness-0/00000000000000000000.log
Log starting offset: 0
offset: 0 position: 0 CreateTime: 1795274236337 size: 134 magic: 1 compresscodec: none crc: 3 isvalid: true
| offset: 0 CreateTime: 1795274236337 keySize: -1 valueSize: 100 isValid: true crc: 3} payload: {1236}
offset: 1 position: 134 CreateTime: 1795274236339 size: 134 magic: 1 compresscodec: none crc: 2 isvalid: true
| offset: 1 CreateTime: 1795274236339 keySize: -1 valueSize: 100 isValid: true crc: 2} payload: {1237}
""")  # noqa: E501
NEW = ours("""Log starting offset: 0
baseOffset: 7 lastOffset: 8 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 partitionLeaderEpoch: 0 magic: 2
| offset: 7 CreateTime: 1795274236337 keySize: -1 valueSize: 20 sequence: -1 headerKeys: [] payload: {1099511627776}
| offset: 8 CreateTime: 1795274236337 keySize: -1 valueSize: 20 sequence: -1 headerKeys: [] payload: somebody else
""")  # noqa: E501


def test_a_dump_is_read_in_the_old_format_and_in_the_new() -> None:
    assert read(OLD).records == {0: 1236, 1: 1237}
    assert read(NEW.replace(in_a_dump(1 << 40), in_a_dump(1 << 40) + "      ")).records == {
        7: 1 << 40
    }


def test_a_dump_says_where_the_log_begins_and_ends() -> None:
    assert read(OLD).in_words() == "offsets 0 to 1"
    assert read("").in_words() == "no record"


EMPTY = """Dumping /data/harness-0/00000000000000000040.log
Log starting offset: 40
"""
# A commit's marker is a batch of its own: the log ends behind it, and no record of ours is there.
MARKED = ours("""Log starting offset: 3
baseOffset: 3 lastOffset: 3 count: 1 baseSequence: 0 lastSequence: 0 producerId: 1 partitionLeaderEpoch: 0 magic: 2
| offset: 3 CreateTime: 1795274236337 keySize: -1 valueSize: 20 sequence: 0 headerKeys: [] payload: {12}
baseOffset: 4 lastOffset: 4 count: 1 baseSequence: -1 lastSequence: -1 producerId: 1 isControl: true magic: 2
| offset: 4 CreateTime: 1795274236337 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 0
""")  # noqa: E501


def test_a_dump_says_where_the_log_begins_and_ends_to_its_last_batch() -> None:
    assert (read(OLD).log_start, read(OLD).log_end) == (0, 2)
    assert (read(NEW).log_start, read(NEW).log_end) == (0, 9)
    assert (read(MARKED).log_start, read(MARKED).log_end) == (3, 5)
    assert read(MARKED).records == {3: 12}
    assert (read(OLD + EMPTY).log_start, read(OLD + EMPTY).log_end) == (0, 40)


def test_an_empty_log_begins_and_ends_somewhere_and_no_log_nowhere() -> None:
    assert (read(EMPTY).log_start, read(EMPTY).log_end) == (40, 40)
    assert (read("").log_start, read("").log_end) == (None, None)


def test_the_others_go_round_from_the_one_after() -> None:
    """So that the controller's replica is the last in the order of election."""
    nodes = [node for node in local_nodes(1, 3) if node.role == "broker"]

    assert [node.name for node in others_from(nodes, nodes[1])] == ["kafka3", "kafka1"]
    assert [node.name for node in others_from(nodes, nodes[2])] == ["kafka1", "kafka2"]
    assert others_from(nodes[:1], nodes[0]) == []
