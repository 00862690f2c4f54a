"""Raft's rule over copies of the log: what is committed, what stays so, and what went back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.view.metadata_log.commit import (
    Committed,
    Copy,
    Electorate,
    committed,
    leading,
    perhaps,
    read_twice,
)
from harness.cluster.view.metadata_log.lineage import Place
from harness.cluster.view.metadata_log.records import Voter
from tests.support.labs.metadata_logs import id_of, lineage

ABC = tuple(Voter(id=n) for n in (1, 2, 3))
FIVE = tuple(Voter(id=n) for n in (1, 2, 3, 4, 5))


def copies(*told: str | None) -> list[Copy]:
    """Copies of nodes 1, 2, …; None where there is none."""
    return [
        Copy(node=Voter(id=n), lineage=lineage(each))
        for n, each in enumerate(told, 1)
        if each is not None
    ]


def place(found) -> tuple[int, int] | None:
    """Up to which offset it is committed, and of which epoch."""
    return found and (found.place.end, found.place.epoch)


# --- the rule


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (("1:0-40", "1:0-40", "1:0-30"), (40, 1)),
        (("1:0-40", "1:0-30", "1:0-20"), (30, 1)),
        (("1:0-40", "1:0-30", None), (30, 1)),
        (("1:0-40", None, None), None),
        (("1:0-40", "", ""), None),
        (("", "", ""), None),
        (("1:0-1", "1:0-1", ""), (1, 1)),  # an epoch's first record is enough
    ],
)
def test_what_a_majority_has_is_committed(told, wanted):
    assert place(committed(copies(*told), ABC)) == wanted


def test_the_active_controller_is_cut_off_and_appends_what_nobody_else_has():
    """It goes on in epoch 3 while the others elect one of epoch 4."""
    alone = "1:0-40 3:40-60"
    assert place(committed(copies(alone, "1:0-40 3:40-52", "1:0-40 3:40-52"), ABC)) == (52, 3)

    others = "1:0-40 3:40-52 4:52-53"
    assert place(committed(copies(alone, others, others), ABC)) == (53, 4)


def test_a_record_of_an_older_epoch_is_not_committed_by_a_majority():
    """Raft's figure 8: 1 led epoch 2, was away, leads epoch 4, and has copied its record of epoch
    2 to 3. Then 5, which led epoch 3, can still be elected by 2, 3 and 4."""
    old = "1:0-10 2:10-11"
    with_it = [old + " 4:11-12", old, old, "1:0-10", "1:0-10 3:10-11"]
    assert place(committed(copies(*with_it), FIVE)) is None

    with_it[1] = with_it[2] = with_it[0]
    assert place(committed(copies(*with_it), FIVE)) == (12, 4)


def test_an_older_epoch_s_record_on_two_of_three():
    """Whoever has a newer epoch, be it the one that is not of the majority, may overwrite it."""
    assert (
        place(committed(copies("1:0-10 2:10-20", "1:0-10 2:10-20", "1:0-10 3:10-11"), ABC)) is None
    )


def test_a_new_leader_s_first_record_is_not_committed_alone():
    told = copies("1:0-40 3:40-60 4:60-61", "1:0-40 3:40-60", "1:0-40 3:40-60")

    assert place(committed(told, ABC)) is None


def test_a_snapshot_is_committed_on_whatever_disk_it_lies():
    told = copies("1:0-40 3:40-60", "1:0-20", "")
    told[0] = replace(told[0], snapshots=(Place(epoch=3, end=50),))
    assert place(committed(told, ABC)) == (50, 3)

    elsewhere = copies("1:0-40 3:40-60", "1:0-20", "")
    elsewhere[1] = replace(elsewhere[1], snapshots=(Place(epoch=1, end=20),))
    assert place(committed(elsewhere, ABC)) == (20, 1)


def test_a_copy_that_begins_behind_a_snapshot_has_all_before_it():
    told = copies("1:0-40 3:40-120", "3:?99-100 3:100-110", "1:0-40 3:40-60")

    assert place(committed(told, ABC)) == (110, 3)


# --- voters


def voting(copy: Copy, *numbers: int, first: int = 0) -> Copy:
    """With a record that names the voters from an offset on."""
    voters = tuple(Voter(id=n) for n in numbers)
    return replace(copy, electorates=(*copy.electorates, Electorate(first=first, voters=voters)))


def test_the_voters_are_those_of_the_leading_copy_committed_or_not():
    """4 was added by a record that 1 alone has: from there on three of four must have it."""
    told = copies("1:0-40", "1:0-40", "1:0-30", "1:0-20")
    told[0] = voting(told[0], 1, 2, 3, 4)
    assert place(committed(told)) == (30, 1)

    told[0] = voting(copies("1:0-40")[0], 1, 2, 3)
    assert place(committed(told)) == (40, 1)


def test_what_the_voters_before_had_committed_is_so():
    """The record that adds 4 is at 35. Two of three have 34, as three of four have not."""
    told = copies("1:0-40", "1:0-40", "1:0-30", "1:0-20")
    told[0] = voting(told[0], 1, 2, 3, 4, first=35)
    assert place(committed(told, ABC)) == (35, 1)

    told[2] = copies("", "", "1:0-37")[2]
    assert place(committed(told, ABC)) == (37, 1)


def test_so_is_what_the_voters_between_two_records_had_committed():
    """1 alone voted up to 20, then 2 as well, from 35 on 3, too."""
    told = copies("1:0-40", "1:0-40", "1:0-30")
    told[0] = voting(told[0], 1)
    told[0] = voting(voting(told[0], 1, 2, first=20), 1, 2, 3, first=35)
    assert place(committed(told)) == (40, 1)

    told[1] = copies("", "1:0-25")[1]
    assert place(committed(told)) == (30, 1)

    told[2] = copies("", "", "1:0-10")[2]
    assert place(committed(told)) == (25, 1)


def test_a_voter_that_was_removed_does_not_count():
    told = copies("1:0-40", "1:0-20", "1:0-40")
    told[0] = voting(told[0], 1, 2, first=10)

    assert place(committed(told, ABC)) == (20, 1)


def test_a_leader_that_was_removed_leads_until_it_has_committed_that():
    """It is no voter, and does not count itself."""
    told = copies("1:0-40", "1:0-30", "1:0-25")
    told[0] = voting(told[0], 2, 3, first=20)

    assert place(committed(told, ABC)) == (25, 1)


def test_a_voter_with_another_disk_is_none():
    """KIP-853: a replaced disk has another id, and must be added first."""
    keys = tuple(Voter(id=n, directory=id_of(f"disk {n}")) for n in (1, 2, 3))
    told = [
        replace(each, node=key, electorates=(Electorate(first=0, voters=keys),))
        for each, key in zip(copies("1:0-40", "1:0-40", "1:0-40"), keys, strict=True)
    ]
    assert place(committed(told)) == (40, 1)

    told[1] = replace(told[1], node=Voter(id=2, directory=id_of("disk 2, new")))
    assert place(committed(told)) == (40, 1)
    told[2] = replace(told[2], node=Voter(id=3, directory=id_of("disk 3, new")))
    assert place(committed(told)) is None


def test_nobody_votes_where_nobody_is_named():
    assert committed(copies("1:0-40", "1:0-40"), ()) is None


# --- copies are not read at one moment


def test_what_was_truncated_while_the_copies_were_read_was_nobody_s():
    """1 was read first and had 40-60 of epoch 1, then lost it; 2 was read last, when it had got
    the same from elsewhere: no moment had both."""
    first = copies("1:0-40", "1:0-20", "")
    second = copies("1:0-20 3:20-21", "1:0-40", "")
    told = [read_twice(*pair) for pair in zip(first, second, strict=True)]

    assert committed(told, ABC) is None
    assert told[0].sure_end == 20


def test_an_epoch_that_only_the_second_reading_shows_is_believed():
    """At the first reading 1 had no record of epoch 4 yet; 3 was read after it had got epoch 2's
    record from it. That one can be overwritten by 2's epoch 3, were that read."""
    first = copies("1:0-10 2:10-11", "1:0-10", "1:0-10 2:10-11")
    second = copies("1:0-10 2:10-11 4:11-12", "1:0-10", "1:0-10 2:10-11")
    told = [read_twice(*pair) for pair in zip(first, second, strict=True)]

    assert committed(first, ABC) is not None
    assert committed(told, ABC) is None


# --- what was committed once


def took(*looks: list[Copy], static=ABC) -> tuple[Committed, list[Any]]:
    memory = Committed(static)
    return memory, [memory.take(each, now_ns) for now_ns, each in enumerate(looks)]


def test_a_quorum_that_is_lost_takes_nothing_back():
    memory, backs = took(copies("1:0-40", "1:0-40", "1:0-30"), copies(None, None, "1:0-30"), [])

    assert backs == [None, None, None]
    assert place(memory.commit) == (40, 1)


def test_wiped_disks_take_nothing_back():
    memory, backs = took(copies("1:0-40", "1:0-40", "1:0-30"), copies("", "", "1:0-30"))

    assert backs == [None, None]
    assert place(memory.commit) == (40, 1)


def test_a_stale_tail_takes_nothing_back():
    """Two of three have an older epoch's tail, of a leader that was cut off, and lost the newer."""
    memory, backs = took(
        copies("1:0-10 2:10-20", "1:0-10 3:10-30", "1:0-10 3:10-30"),
        copies("1:0-10 2:10-20", "1:0-10 2:10-20", "1:0-10 3:10-30"),
    )

    assert backs == [None, None]
    assert place(memory.commit) == (30, 3)


def test_a_wiped_controller_beside_a_lagging_one():
    """1 and 2 had committed up to 100, 3 was cut off at 60. 1's disk is replaced, 2 is down: 3 is
    elected by the two, and once its first record is on both, 60 to 100 are gone."""
    before = copies("1:0-40 3:40-100", "1:0-40 3:40-100", "1:0-40 3:40-60")
    alone = copies("", "1:0-40 3:40-100", "1:0-40 3:40-60 4:60-61")
    both = copies("1:0-40 3:40-60 4:60-61", "1:0-40 3:40-100", "1:0-40 3:40-60 4:60-65")

    memory, (nothing, yet, back) = took(before, alone, both)

    assert (nothing, yet) == (None, None)
    assert back is not None
    assert (back.was, back.kept, back.now) == (
        Place(epoch=3, end=100),
        60,
        Place(epoch=4, end=61),
    )
    assert back.seen_ns == 0
    assert place(memory.commit) == (61, 4)
    assert memory.take(both, 9) is None  # told once


def test_when_the_oldest_of_what_is_gone_was_seen():
    looks = [copies(told, told, "1:0-30") for told in ("1:0-30", "1:0-40", "1:0-50")]
    gone = copies("1:0-30 2:30-31", "1:0-50", "1:0-30 2:30-31")

    _, backs = took(*looks, gone)

    assert backs[3].seen_ns == 1
    assert (backs[3].kept, backs[3].now.end) == (30, 31)


def test_what_most_voters_have_overwritten_went_back_before_anything_newer_is_committed():
    """Both have a newer epoch where the old record was; not the same one."""
    memory, backs = took(
        copies("1:0-10 2:10-20", "1:0-10 2:10-20", "1:0-10"),
        copies("1:0-10 4:10-11", "1:0-10 2:10-20", "1:0-10 3:10-11"),
    )

    assert (backs[1].was.end, backs[1].kept, backs[1].now) == (20, 10, Place(epoch=1, end=10))
    assert place(memory.commit) == (10, 1)


def test_two_of_three_disks_are_replaced_while_the_third_is_down():
    """They begin with epoch 1 again, which is no part of the log that 3 still has."""
    memory, (_, back) = took(
        copies("1:0-40 3:40-100", "1:0-40 3:40-100", "1:0-40 3:40-100"),
        copies("1':0-7", "1':0-6", "1:0-40 3:40-100"),
    )

    assert back is not None
    assert (back.was.end, back.kept, back.now) == (100, 0, Place(epoch=1, end=6))
    assert place(memory.commit) == (6, 1)


def test_one_replaced_disk_is_no_quorum_of_its_own():
    memory, backs = took(copies("1:0-40", "1:0-40", "1:0-40"), copies("1':0-9", "1:0-41", "1:0-41"))

    assert backs == [None, None]
    assert place(memory.commit) == (41, 1)


def test_a_snapshot_that_begins_behind_what_is_known_follows_on_it():
    """Nobody looked for long, and the log in between was deleted."""
    memory, backs = took(
        copies("1:0-40", "1:0-40", "1:0-40"),
        copies("2:?99-100 2:100-110", "2:?99-100 2:100-110", "2:?99-100"),
    )

    assert backs == [None, None]
    assert place(memory.commit) == (110, 2)


# --- never older


def test_more_may_be_committed_where_a_copy_is_missing_or_a_leader_new():
    assert perhaps(copies("1:0-40", "1:0-40", "1:0-20"), ABC) == 40
    assert perhaps(copies("1:0-40", None, "1:0-20"), ABC) == 40
    assert perhaps(copies("1:0-40", None, "1:0-40"), ABC) == 40
    assert perhaps(copies("1:0-40 2:40-41", "1:0-40", "1:0-20"), ABC) == 40
    assert perhaps([], ABC) > 40


def test_the_leading_copy_has_the_newest_epoch_and_in_it_the_most():
    chosen = leading(copies("1:0-90", "1:0-40 2:40-50", "1:0-40 2:40-60"), ABC)

    assert chosen is not None
    assert chosen.node.id == 3
