"""How far two logs are the same, by the epochs that they have."""

from __future__ import annotations

import pytest

from harness.cluster.view.metadata_log.batches import whole_batches
from harness.cluster.view.metadata_log.lineage import (
    Place,
    behind,
    common_end,
    cut,
    extended,
    follows,
    strangers,
)
from tests.support.labs import metadata_logs as logs
from tests.support.labs.metadata_logs import lineage


@pytest.mark.parametrize(
    ("one", "other", "end"),
    [
        ("1:0-40 3:40-100", "1:0-40 3:40-60 4:60-71", 60),
        ("1:0-40 3:40-60", "1:0-40 3:40-60", 60),
        ("1:0-40", "1:0-60", 40),
        ("1:0-40 2:40-50", "1:0-45 3:45-60", 40),
        ("1:0-40 2:40-50", "1:0-30 3:30-60", 30),
        ("1:0-40", "", 0),
        ("2:0-40", "3:0-40", 0),
        ("3:?99-100", "1:0-40 3:40-60", 60),  # of a snapshot: it has all before its end
        ("3:?99-100 4:100-110", "1:0-40 3:40-120", 100),
        ("1:0-40 3:40-100", "1':0-70", 0),
        ("1:0-40 3:40-100", "1':0-70 3:70-90", 90),  # the newest that is the same counts
    ],
)
def test_two_logs_are_the_same_up_to_the_end_of_the_newest_epoch_that_both_have(one, other, end):
    assert common_end(lineage(one), lineage(other)) == end
    assert common_end(lineage(other), lineage(one)) == end


def test_strangers_have_had_two_elections_of_one_epoch():
    assert strangers(lineage("1:0-40"), lineage("1':0-70"))
    assert strangers(lineage("1:0-40 3:40-50"), lineage("1':0-70 2:70-80"))
    assert not strangers(lineage("1:0-40"), lineage("1:0-70"))
    assert not strangers(lineage("1:0-40"), lineage("2:0-70"))
    assert not strangers(lineage("1:0-40 3:40-50"), lineage("1':0-40 3:40-70"))
    assert not strangers(lineage("1:0-40"), lineage("1:?20-70"))


@pytest.mark.parametrize(
    ("one", "known", "does"),
    [
        ("1:0-40 3:40-60", "1:0-40 3:40-50", True),
        ("1:0-40 3:40-49", "1:0-40 3:40-50", False),
        ("1:0-40 4:40-60", "1:0-40 3:40-50", False),
        ("4:?99-100", "1:0-40 3:40-50", True),  # what is before it is not to be seen
        ("4:?48-49 5:49-70", "1:0-40 3:40-50", False),
        ("2:?99-100", "1:0-40 3:40-50", False),  # epochs never fall
        ("5:60-70", "1:0-40 3:40-50", False),  # nothing was lost in front: it is shown whole
        ("", "1:0-40", False),
        ("", "", True),
    ],
)
def test_a_log_follows_on_what_is_known(one, known, does):
    assert follows(lineage(one), lineage(known)) is does


def test_a_lineage_grows_by_batches():
    first = whole_batches(
        logs.batch(0, 1, logs.leader_change(101)) + logs.batch(1, 1, logs.no_op(), logs.no_op())
    )
    more = whole_batches(logs.batch(3, 4, logs.leader_change(102)))

    grown = extended(extended((), first), more)

    assert [(term.epoch, term.first, term.end) for term in grown] == [(1, 0, 3), (4, 3, 4)]
    assert None not in [term.mark for term in grown]


def test_a_log_that_begins_in_the_midst_of_a_term_does_not_know_its_election():
    (term,) = extended((), whole_batches(logs.batch(50, 3, logs.no_op())))
    assert term.mark is None

    old, new = extended(
        behind(Place(epoch=2, end=50)), whole_batches(logs.batch(50, 3, logs.no_op()))
    )
    assert (old.epoch, old.end, new.first) == (2, 50, 50)
    assert new.mark is not None


def test_a_part_of_a_lineage():
    assert cut(lineage("1:0-40 3:40-60"), 50) == lineage("1:0-40 3:40-50")
    assert cut(lineage("1:0-40 3:40-60"), 40) == lineage("1:0-40")
    assert cut(lineage("1:0-40"), 0) == ()
    assert behind(Place(epoch=0, end=0)) == ()
