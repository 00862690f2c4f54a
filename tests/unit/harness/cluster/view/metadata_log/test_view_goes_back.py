"""What was committed stays seen, and that a later quorum lacks it is a finding."""

from __future__ import annotations

import shutil

import pytest

from harness.cluster.view.metadata_log.view import MetadataLogView
from harness.cluster.view.state import Blind
from tests.support.labs import metadata_logs as logs
from tests.support.labs.quorums import ALL, CONTROLLERS, FIRST, Quorum

# --- what was committed stays seen


def test_a_quorum_that_is_lost_is_not_blind(quorum):
    before = quorum.view.look()
    shutil.rmtree(quorum.a.data)
    shutil.rmtree(quorum.b.data)

    assert quorum.view.look() == before
    assert quorum.view.live_brokers() == ALL
    assert quorum.view.agreed() == before.partitions

    quorum.c.append(logs.change("t", 0, isr=[1]))
    with pytest.raises(Blind, match="more may be committed"):
        quorum.view.agreed()


def test_nobody_s_disk_is_blind_and_the_last_view_is_kept(quorum):
    before = quorum.view.look()
    for copy in quorum.logs.copies:
        shutil.rmtree(copy.data)

    with pytest.raises(Blind, match="no controller's disk"):
        quorum.view.look()
    last = quorum.view.look_or_last()
    assert (last.known, last.partitions) == (False, before.partitions)


def test_wiped_disks_take_nothing_back(quorum):
    quorum.a.append(logs.change("t", 0, isr=[1, 2]))
    quorum.b.follow(quorum.a)
    assert quorum.isr() == ("kafka1", "kafka2")

    quorum.a.format()
    quorum.b.format()
    assert quorum.isr() == ("kafka1", "kafka2")
    assert quorum.backs == []


def test_a_wiped_controller_beside_a_lagging_one_is_a_finding(quorum):
    """controller3 was cut off when the ISR shrank and kafka1's session ended. The power goes;
    controller1 gets a new disk, controller2 stays down: controller3 leads from what it has."""
    quorum.view.look()
    kept = quorum.a.end
    quorum.a.append(logs.change("t", 0, isr=[1, 2]))
    quorum.a.append(logs.change("t", 0, leader=2, isr=[2]), logs.topic("u"))
    quorum.a.append(logs.partition("u", 0))
    quorum.b.follow(quorum.a)
    was = quorum.view.look().partitions[0]
    assert was.leader == "kafka2"

    quorum.a.format()
    quorum.c.elected(2)
    assert quorum.view.look().partitions == (was,)
    assert quorum.backs == []

    quorum.a.follow(quorum.c)
    assert quorum.view.look().partitions == (FIRST,)
    (back,) = quorum.backs
    assert (back.back.was.end, back.back.was.epoch, back.back.kept) == (quorum.b.end, 1, kept)
    assert (back.back.now.end, back.back.now.epoch) == (quorum.c.end, 2)
    assert back.back.seen_ns < back.time_ns
    of_t, of_u = back.states
    assert (of_t.topic, of_t.number, of_u.topic, of_u.number) == ("t", 0, "u", 0)
    assert (of_t.was.leader, of_t.was.isr) == (2, (2,))
    assert of_t.left is not None
    assert (of_t.left.leader, of_t.left.isr) == (of_u.was.leader, of_u.was.isr) == (1, (1, 2, 3))
    assert of_u.left is None
    assert quorum.view.went_back() == (0,)  # of "t", the topic that is looked at

    quorum.c.append(logs.change("t", 0, leader=3, isr=[3]))
    quorum.a.follow(quorum.c)
    quorum.b.follow(quorum.c)
    assert quorum.view.look().partitions[0].leader == "kafka3"
    assert len(quorum.backs) == 1
    assert quorum.view.went_back() == (0,)


def gone_on(quorum: Quorum) -> None:
    """controller3 has none of five changes, and leads with controller1's new disk; then it makes
    two of its own. Nobody looks meanwhile."""
    quorum.view.look()
    quorum.a.append(*[logs.change("t", 0, isr=[1, 2])] * 5)
    quorum.b.follow(quorum.a)
    quorum.view.look()
    quorum.a.format()
    quorum.c.elected(2)
    quorum.c.append(logs.change("t", 0, isr=[3, 1]), logs.change("t", 0, isr=[3]))


def test_what_is_left_is_told_though_the_later_quorum_has_gone_on(quorum):
    gone_on(quorum)
    quorum.a.follow(quorum.c)

    assert quorum.isr() == ("kafka3",)
    (back,) = quorum.backs
    assert [each.left and each.left.isr for each in back.states] == [(1, 2, 3)]


@pytest.mark.parametrize(("partition_epoch", "lefts"), [(2, 1), (9, 0)])
def test_where_no_log_goes_back_so_far_what_is_newer_now_did_not_go_back(
    quorum, partition_epoch, lefts
):
    """The later quorum has made a snapshot, and begins its logs behind it."""
    gone_on(quorum)
    end, epochs = quorum.c.end, (0, partition_epoch)
    quorum.c.snapshot(end, 2, logs.topic("t"), logs.partition("t", 0, isr=[3], epochs=epochs))
    quorum.c.roll()
    quorum.c.begin_at(end)

    assert quorum.isr() == ("kafka3",)
    (back,) = quorum.backs
    assert (back.back.kept, back.back.now.end, len(back.states)) == (0, end, lefts)


def test_in_a_dynamic_quorum_a_wiped_controller_is_no_voter(tmp_path):
    """KIP-853: its disk has another id. So controller3 cannot go on with it alone."""
    quorum = Quorum(tmp_path, dynamic=True)
    quorum.view.look()
    quorum.a.append(logs.change("t", 0, isr=[1, 2]))
    quorum.b.follow(quorum.a)
    assert quorum.isr() == ("kafka1", "kafka2")

    quorum.a.format("another disk")
    quorum.c.elected(2)
    quorum.a.follow(quorum.c)
    assert quorum.isr() == ("kafka1", "kafka2")
    assert quorum.backs == []

    quorum.b.elected(3)
    quorum.c.follow(quorum.b)
    assert quorum.isr() == ("kafka1", "kafka2")
    assert quorum.view.controller() == "controller2"


def test_a_controller_with_another_disk_is_not_waited_for(tmp_path):
    """It can catch up, and its vote is gone with the disk that had it."""
    quorum = Quorum(tmp_path, dynamic=True)
    assert (quorum.view.recovered(3) or "").endswith("every voter is level")
    assert quorum.view.look().observers == ()

    quorum.a.format("another disk")
    quorum.b.elected(2)
    quorum.c.follow(quorum.b)
    assert quorum.view.look().observers == ("controller1",)
    said = quorum.view.recovered(3) or ""
    assert said.endswith("every voter is level but controller1, whose disk is another one")


def test_all_disks_are_replaced_and_a_new_log_begins(quorum):
    assert quorum.isr() == ALL
    for copy in quorum.logs.copies:
        copy.format()
    quorum.a.elected(1)
    quorum.spread()

    assert quorum.view.look().partitions[0].leader is None
    (back,) = quorum.backs
    assert (back.back.kept, back.back.now.end, back.states[0].left) == (0, 1, None)


# --- voters that change


def test_voters_are_added_and_removed(tmp_path):
    quorum = Quorum(tmp_path, dynamic=True)
    a, b, c = quorum.a, quorum.b, quorum.c
    assert quorum.voters() == CONTROLLERS

    a.append(logs.voters((a.id, "controller1"), (b.id, "controller2")))
    b.follow(a)
    assert quorum.voters() == ("controller1", "controller2")

    a.append(logs.change("t", 0, isr=[1]))
    c.follow(a)  # no voter now
    assert quorum.isr() == ALL
    b.follow(a)
    assert quorum.isr() == ("kafka1",)

    a.append(logs.voters(*((each.id, f"controller{n}") for n, each in enumerate((a, b, c), 1))))
    a.append(logs.change("t", 0, isr=[1, 2]))
    assert quorum.isr() == ("kafka1",)
    c.follow(a)
    assert quorum.isr() == ("kafka1", "kafka2")
    assert quorum.voters() == CONTROLLERS


def test_nobody_is_named_as_a_voter_yet(tmp_path):
    quorum = Quorum(tmp_path)
    view = MetadataLogView(quorum.logs.nodes, "t", 1, quorum.logs.folders, None)

    with pytest.raises(Blind, match="nothing of the metadata log is committed"):
        view.look()


def test_that_it_went_back_is_kept_though_nobody_can_say_to_what(quorum):
    gone_on(quorum)
    end = quorum.c.end
    quorum.c.snapshot(end, 2, logs.topic("t")[:-2])
    quorum.c.roll()
    quorum.c.begin_at(end)

    with pytest.raises(Blind, match="cannot be read"):
        quorum.view.look()
    (back,) = quorum.backs
    assert (back.back.now.end, back.states) == (end, ())
