"""One node's copy, followed on disk while it grows, is truncated, written anew, wiped."""

from __future__ import annotations

import shutil

import pytest

from harness.cluster.view.metadata_log.commit import Copy
from harness.cluster.view.metadata_log.disk import Disk
from harness.cluster.view.metadata_log.encoding import Misread
from harness.cluster.view.metadata_log.lineage import Place
from harness.cluster.view.metadata_log.records import TopicMade, Voter
from tests.support.labs import metadata_logs as logs
from tests.support.labs.metadata_logs import CopyOnDisk


@pytest.fixture
def node(tmp_path) -> CopyOnDisk:
    return CopyOnDisk(tmp_path / "controller1", 101, "disk-1")


@pytest.fixture
def disk(node) -> Disk:
    return Disk(101, node.folder)


def seen(disk: Disk) -> Copy:
    found = disk.read()
    assert found is not None
    return found


def terms(copy: Copy) -> list[tuple[int, int, int]]:
    return [(term.epoch, term.first, term.end) for term in copy.lineage]


def test_it_follows_the_log(node, disk):
    assert terms(seen(disk)) == []
    node.elected(1)
    node.append(logs.no_op(), logs.no_op())
    assert terms(seen(disk)) == [(1, 0, 3)]

    node.append(logs.topic("t"))
    node.elected(4)
    copy = seen(disk)
    assert terms(copy) == [(1, 0, 4), (4, 4, 5)]
    assert copy.leaders == {1: 101, 4: 101}
    assert [batch.base_offset for batch in copy.batches] == [0, 1, 3, 4]


def test_what_has_not_changed_is_not_made_anew(node, disk):
    node.elected(1)

    assert seen(disk) is seen(disk)


def test_it_knows_whose_disk_it_is(node, disk, tmp_path):
    assert seen(disk).node == Voter(id=101, directory=logs.id_of("disk-1"))

    other = CopyOnDisk(tmp_path / "controller2", 102)  # before Kafka 3.7 disks had no id
    assert seen(Disk(102, other.folder)).node == Voter(id=102)


def test_a_batch_that_is_being_written_is_read_when_it_is_whole(node, disk):
    node.elected(1)
    node.append(logs.no_op())
    whole = node.segment().read_bytes()

    node.segment().write_bytes(whole[:-5])
    assert terms(seen(disk)) == [(1, 0, 1)]
    node.segment().write_bytes(whole)
    assert terms(seen(disk)) == [(1, 0, 2)]


def test_a_truncated_log_ends_earlier(node, disk):
    node.elected(1)
    for _ in range(3):
        node.append(logs.no_op())
    assert terms(seen(disk)) == [(1, 0, 4)]

    node.truncate(2)
    assert terms(seen(disk)) == [(1, 0, 2)]


def test_a_log_that_was_truncated_and_written_anew_between_two_looks(node, disk):
    """As long as before; a follower's after an election, and nobody looked when it was short."""
    node.elected(1)
    node.append(logs.no_op())
    node.append(logs.voters((101, None)))
    before = seen(disk)
    assert before.electorates

    node.truncate(1)
    node.elected(2)
    node.append(logs.no_op())
    after = seen(disk)
    assert terms(after) == [(1, 0, 1), (2, 1, 3)]
    assert after.electorates == ()
    assert len(after.batches) == len(before.batches) == 3


def test_segments_follow_each_other(node, disk):
    node.elected(1)
    node.append(logs.no_op())
    seen(disk)
    node.roll()
    assert terms(seen(disk)) == [(1, 0, 2)]

    node.append(logs.no_op())
    (node.folder / f"{9:020d}.log.deleted").write_bytes(b"?")
    assert terms(seen(disk)) == [(1, 0, 3)]


def test_what_lies_behind_a_gap_does_not_count_until_it_is_filled(node, disk):
    node.elected(1)
    node.append(logs.no_op())
    first = node.segment()
    node.roll()
    node.append(logs.no_op())
    whole = first.read_bytes()

    first.write_bytes(whole[:-1])
    assert terms(seen(disk)) == [(1, 0, 1)]
    first.write_bytes(whole)
    assert terms(seen(disk)) == [(1, 0, 3)]


def test_a_folder_that_is_gone_has_no_copy(node, disk):
    node.elected(1)
    seen(disk)
    shutil.rmtree(node.folder)
    assert disk.read() is None

    node.format("another disk")
    node.elected(1)
    copy = seen(disk)
    assert terms(copy) == [(1, 0, 1)]
    assert copy.node.directory == logs.id_of("another disk")


def test_a_log_whose_start_was_deleted_begins_behind_its_snapshot(node, disk):
    node.elected(1)
    node.append(logs.voters((101, "disk-1"), (102, None)))
    node.append(logs.no_op())
    node.roll()
    node.append(logs.no_op())
    node.snapshot(3, 1, logs.voters((101, "disk-1"), (102, None)), logs.topic("t"))
    assert seen(disk).start == 0

    node.begin_at(3)
    copy = seen(disk)
    assert (copy.start, terms(copy)) == (3, [(1, 2, 4)])
    assert copy.lineage[0].mark is None
    assert [len(each.voters) for each in copy.electorates] == [2]
    assert copy.snapshots == (Place(epoch=1, end=3),)
    assert [record for _, record in disk.snapshot(copy.snapshots[0])][1:] == [
        TopicMade(name="t", id=logs.id_of("t"))
    ]


def test_a_log_that_is_behind_its_snapshot_does_not_count(node, disk):
    """A follower was given a snapshot and has not begun its log anew."""
    node.elected(1)
    node.append(logs.no_op())
    assert terms(seen(disk)) == [(1, 0, 2)]
    node.snapshot(40, 3, logs.topic("t"))

    assert seen(disk).snapshots == (Place(epoch=3, end=40),)
    copy = seen(disk)
    assert (terms(copy), copy.start, list(copy.batches)) == ([(3, 39, 40)], 40, [])

    node.begin_at(40)
    assert terms(seen(disk)) == [(3, 39, 40)]


def test_a_snapshot_that_is_being_written_or_deleted_is_none(node, disk):
    made = node.snapshot(40, 3, logs.topic("t"))
    made.rename(made.with_name(made.name.replace(".checkpoint", "-7.checkpoint.part")))
    (node.folder / f"{20:020d}-{2:010d}.checkpoint.deleted").touch()

    assert seen(disk).snapshots == ()


def test_the_first_voters_are_those_that_the_disk_was_formatted_with(node, disk):
    """0-0.checkpoint; until a leader has written them to the log, which may be others by then."""
    node.snapshot(0, 0, logs.voters((101, "disk-1")), logs.topic("not of the log"))
    (first,) = seen(disk).electorates
    assert (first.first, [voter.id for voter in first.voters]) == (0, [101])
    assert seen(disk).lineage == ()

    node.elected(1, logs.voters((101, "disk-1"), (102, None)))
    assert [(each.first, len(each.voters)) for each in seen(disk).electorates] == [(0, 1), (1, 2)]


def test_a_control_record_that_cannot_be_read_is_said_again_and_again(node, disk):
    node.elected(1)
    node.append((6, b"\x00\x00\x05\x01"))

    for _ in range(2):
        with pytest.raises(Misread, match="offset 1"):
            disk.read()
