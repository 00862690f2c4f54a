"""The view by the metadata log, over three controllers' disks: nothing is shown that is not
committed, and nothing is unseen that was."""

from __future__ import annotations

import shutil

import pytest

from harness.cluster.nodes import ClusterError
from harness.cluster.view.metadata_log.view import MetadataLogView
from harness.cluster.view.state import Blind, PartitionState
from tests.support.labs import metadata_logs as logs
from tests.support.labs.metadata_logs import CopyOnDisk
from tests.support.labs.quorums import ALL, CONTROLLERS, FIRST, Quorum

# --- what is shown


def test_it_tells_what_is_committed(quorum):
    view = quorum.view.look()

    assert view.partitions == (FIRST,)
    assert view.assignment == (ALL,)
    assert view.controller == quorum.view.controller() == "controller1"
    assert quorum.view.live_brokers() == ALL
    assert quorum.view.features() == {"metadata.version": 25}
    assert quorum.voters() == CONTROLLERS
    assert quorum.view.assignment_of("t") == (ALL,)
    assert quorum.view.assignment_of("other") == ()
    assert quorum.view.agreed() == view.partitions


def test_a_partition_that_is_not_there_is_not_known(tmp_path, quorum):
    view = MetadataLogView(quorum.logs.nodes, "t", 2, quorum.logs.folders, CONTROLLERS)

    assert view.look().partitions[1] == PartitionState(leader=None, isr=(), leader_epoch=None)
    assert view.look().assignment == (ALL,)


def test_a_change_is_seen_once_a_majority_has_it(quorum):
    quorum.view.look()
    quorum.a.append(logs.change("t", 0, isr=[1, 3]))
    assert quorum.isr() == ALL

    quorum.c.follow(quorum.a)
    assert quorum.isr() == ("kafka1", "kafka3")
    assert quorum.view.look().partitions[0].partition_epoch == 1


def test_no_leader_an_empty_isr_and_an_elr(quorum):
    """min.insync.replicas=2: kafka1 was cut off from its followers, then it lost power."""
    quorum.a.append(logs.change("t", 0, isr=[1], elr=[2]))
    quorum.a.append(logs.change("t", 0, leader=logs.NOBODY, isr=[], elr=[2, 1]))
    quorum.spread()

    assert quorum.view.look().partitions[0] == PartitionState(
        leader=None, isr=(), leader_epoch=1, elr=("kafka1", "kafka2"), partition_epoch=2
    )


def test_fenced_brokers_are_no_members_and_a_new_process_has_a_new_number(quorum):
    kafka2 = next(node for node in quorum.logs.nodes if node.name == "kafka2")
    before = quorum.view.registration(kafka2)
    assert before == quorum.epochs[2]

    quorum.a.append(logs.fence(2, before))
    quorum.spread()
    assert quorum.view.registration(kafka2) is None
    assert quorum.view.live_brokers() == ("kafka1", "kafka3")

    again = quorum.a.end
    quorum.a.append(logs.broker(2, again), logs.unfence(2, again))
    quorum.spread()
    assert quorum.view.registration(kafka2) == again


def test_a_coordinator_leads_its_partition(quorum):
    assert quorum.view.coordinator("group", "g") is None
    quorum.a.append(logs.topic("__consumer_offsets"), logs.partition("__consumer_offsets", 0))
    quorum.spread()
    assert quorum.view.coordinator("group", "g") == "kafka1"

    shutil.rmtree(quorum.a.data)
    shutil.rmtree(quorum.b.data)
    shutil.rmtree(quorum.c.data)
    assert quorum.view.coordinator("group", "g") == "kafka1"
    assert quorum.view.coordinator("group", "other") is None


def test_brokers_can_be_the_voters(tmp_path):
    """Combined mode."""
    quorum = Quorum(tmp_path, "kafka1", "kafka2", "kafka3")

    assert quorum.view.look().controller == "kafka1"
    assert quorum.voters() == ALL


# --- only what is committed


def test_the_active_controller_cut_off_appends_what_is_truncated_later(quorum):
    """kafka2 and kafka3 are gone for it, and it says so to nobody; the others elect another one,
    for whom kafka1 is gone. When it is back its tail is cut."""
    assert quorum.isr() == ALL
    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.a.append(logs.change("t", 0, leader=logs.NOBODY))
    views = [quorum.view.look()]

    quorum.b.elected(2)
    views.append(quorum.view.look())
    quorum.c.follow(quorum.b)
    views.append(quorum.view.look())
    quorum.b.append(logs.change("t", 0, leader=2, isr=[2, 3]))
    quorum.c.follow(quorum.b)
    views.append(quorum.view.look())
    quorum.a.follow(quorum.b)
    views.append(quorum.view.look())

    assert [view.partitions[0].leader for view in views] == ["kafka1"] * 3 + ["kafka2"] * 2
    assert [view.partitions[0].partition_epoch for view in views] == [0, 0, 0, 1, 1]
    assert [view.controller for view in views] == ["controller1"] * 2 + ["controller2"] * 3
    assert quorum.backs == []


def test_an_older_epoch_s_record_on_two_of_three_is_not_shown(quorum):
    """controller1 led epoch 1 and had shrunk the ISR alone; it leads again, in epoch 3, and has
    given that record to controller2, not yet the first of epoch 3. controller3 led epoch 2."""
    quorum.view.look()
    quorum.c.elected(2)
    quorum.a.append(logs.change("t", 0, isr=[1]))
    before = quorum.a.end
    quorum.a.elected(3)
    quorum.b.follow(quorum.a, before)
    assert quorum.isr() == ALL

    quorum.b.follow(quorum.a)
    assert quorum.isr() == ("kafka1",)


def test_the_same_and_the_other_one_is_elected(quorum):
    quorum.view.look()
    quorum.c.elected(2)
    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.b.follow(quorum.a)
    assert quorum.isr() == ALL

    quorum.c.elected(4)
    quorum.b.follow(quorum.c)
    quorum.a.follow(quorum.c)
    assert quorum.isr() == ALL
    assert quorum.backs == []


def test_a_torn_batch_is_no_record(quorum):
    quorum.view.look()
    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.c.follow(quorum.a)
    whole = quorum.c.segment().read_bytes()
    quorum.c.segment().write_bytes(whole[:-1])
    assert quorum.isr() == ALL

    quorum.c.segment().write_bytes(whole)
    assert quorum.isr() == ("kafka1",)


# --- snapshots


def shortened(quorum: Quorum, *copies: CopyOnDisk) -> None:
    """These have a snapshot of all that is, and a log that begins behind it."""
    end = quorum.a.end
    for copy in copies:
        copy.roll()
        copy.snapshot(
            end,
            1,
            logs.feature("metadata.version", 25),
            logs.broker(1, quorum.epochs[1], fenced=False),
            logs.topic("t"),
            logs.partition("t", 0, isr=[1, 2], epochs=(3, 8)),
        )
        copy.begin_at(end)


def test_a_log_that_begins_behind_a_snapshot(quorum):
    shortened(quorum, quorum.a, quorum.b, quorum.c)
    state = quorum.view.look().partitions[0]
    assert (state.isr, state.leader_epoch, state.partition_epoch) == (("kafka1", "kafka2"), 3, 8)
    assert quorum.view.live_brokers() == ("kafka1",)
    assert quorum.view.controller() is None  # who was elected is not in it

    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.b.follow(quorum.a)
    assert quorum.isr() == ("kafka1",)


def test_a_log_that_is_shortened_between_two_looks(quorum):
    before = quorum.view.look()
    shortened(quorum, quorum.a)
    assert quorum.view.look() == before

    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.b.follow(quorum.a)
    assert (quorum.isr(), quorum.view.controller()) == (("kafka1",), "controller1")
    assert quorum.backs == []


def test_one_follower_was_given_a_snapshot(quorum):
    """It has the same as the others, though its log shows the last part of it alone."""
    quorum.view.look()
    shortened(quorum, quorum.c)
    quorum.a.append(logs.change("t", 0, isr=[1, 3]))
    quorum.c.follow(quorum.a)

    assert quorum.isr() == ("kafka1", "kafka3")


def test_a_log_that_begins_where_no_snapshot_is_tells_nothing(quorum):
    for copy in quorum.logs.copies:
        copy.roll()
        copy.begin_at(copy.end)
        copy.append(logs.change("t", 0, isr=[1]))
    quorum.b.follow(quorum.a)

    with pytest.raises(Blind):
        quorum.view.look()


# --- recovery, and the beginning


def test_a_cluster_has_recovered_when_all_is_there(quorum):
    assert quorum.view.recovered(3) == (
        "every broker is registered, every ISR has 3 members, every voter is level"
    )

    quorum.a.append(logs.no_op())
    quorum.b.follow(quorum.a)
    assert quorum.view.recovered(3) is None  # controller3 lags
    quorum.c.follow(quorum.a)
    assert quorum.view.recovered(3) is not None

    quorum.a.append(logs.change("t", 0, isr=[1, 2]))
    quorum.spread()
    assert quorum.view.recovered(3) is None


def test_a_wiped_voter_has_not_recovered(quorum):
    quorum.view.look()
    quorum.c.format()
    assert quorum.view.recovered(3) is None

    shutil.rmtree(quorum.c.data)
    assert quorum.view.recovered(3) is None


def test_it_waits_for_the_first_commit(quorum):
    quorum.view.connect(timeout_s=1)
    quorum.view.close()

    for copy in quorum.logs.copies:
        shutil.rmtree(copy.data)
    view = MetadataLogView(quorum.logs.nodes, "t", 1, quorum.logs.folders, CONTROLLERS)
    with pytest.raises(ClusterError, match="no controller's disk has the metadata log"):
        view.connect(timeout_s=0.1)


def test_a_record_that_nobody_here_can_read_is_blindness(quorum):
    quorum.view.look()
    quorum.a.append(logs.topic("u")[:-4])
    quorum.spread()

    with pytest.raises(Blind, match="metadata record 2 of version 0"):
        quorum.view.look()


def test_a_copy_that_appears_while_all_are_read_does_not_count_yet(quorum, monkeypatch):
    """Its epoch was not told of when the others were read."""
    quorum.view.look()
    quorum.a.append(logs.change("t", 0, isr=[1]))
    quorum.b.follow(quorum.a)
    late = quorum.view._reader._disks[quorum.b.id]
    answers = iter([None, late.read()])
    monkeypatch.setattr(late, "read", lambda: next(answers, None))

    assert quorum.isr() == ALL


def test_a_voter_whose_folder_nobody_knows_counts_as_one_without_a_copy(quorum):
    folders = {"controller1": quorum.a.folder}
    view = MetadataLogView(quorum.logs.nodes, "t", 1, folders, CONTROLLERS)

    with pytest.raises(Blind, match="nothing of the metadata log is committed"):
        view.look()
