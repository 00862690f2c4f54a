"""Shapes of network partitions: who drops whose packets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.nemesis.faults.network.grudges import Grudge, apart, bridge, halves, ring, scattered

FIVE = ["a", "b", "c", "d", "e"]
names = st.lists(st.text("abcdefgh", min_size=1, max_size=2), min_size=2, max_size=9, unique=True)


def symmetric(grudge: Grudge) -> bool:
    return all(node in grudge.get(other, ()) for node in grudge for other in grudge[node])


@given(names, st.integers(1, 8))
def test_two_sides_that_do_not_hear_each_other(nodes, size):
    ones, others = set(nodes[:size]), set(nodes[size:])
    grudge = apart(ones, others)

    assert symmetric(grudge)
    assert {node: frozenset(others) for node in ones if others} == {
        node: dropped for node, dropped in grudge.items() if node in ones
    }


@given(names, st.integers(1, 8))
def test_the_two_ways_of_a_cut_make_up_the_whole(nodes, size):
    ones, others = nodes[:size], nodes[size:]
    deaf, mute = apart(ones, others, "in"), apart(ones, others, "out")

    assert deaf.keys() <= set(ones)
    assert mute.keys() <= set(others)
    assert {**deaf, **mute} == apart(ones, others)


@given(names)
def test_nobody_drops_its_own_packets(nodes):
    for grudge in (
        scattered(nodes),
        halves(nodes),
        bridge(nodes),
        ring(nodes),
        apart(nodes, nodes[:1]),
    ):
        assert not any(node in dropped for node, dropped in grudge.items())


def test_who_is_on_both_sides_counts_for_the_first():
    assert apart(["a"], ["a", "b"]) == {"a": {"b"}, "b": {"a"}}


def test_a_side_without_anybody_is_no_grudge():
    assert apart(["a"], []) == {}


@given(names)
def test_in_scattered_everybody_is_alone(nodes):
    assert scattered(nodes) == {node: frozenset(nodes) - {node} for node in nodes}


@given(names)
def test_halves_are_two_sides_of_which_the_second_is_the_majority(nodes):
    grudge = halves(nodes)
    smaller = [node for node in nodes if len(grudge[node]) >= len(nodes) / 2]

    assert symmetric(grudge)
    assert smaller[: len(nodes) // 2] == nodes[: len(nodes) // 2]


@pytest.mark.parametrize(("nodes", "middle"), [(["a", "b", "c"], "b"), (FIVE, "c")])
def test_a_bridge_hears_both_sides_and_is_heard(nodes, middle):
    grudge = bridge(nodes)

    assert symmetric(grudge)
    assert middle not in grudge
    assert not any(middle in dropped for dropped in grudge.values())
    assert all(len(grudge[node]) == len(nodes) // 2 for node in nodes if node != middle)


@given(names)
def test_in_a_ring_each_hears_a_majority_and_no_two_the_same(nodes):
    grudge = ring(nodes)
    heard = [frozenset(nodes) - grudge.get(node, frozenset()) for node in nodes]

    assert all(len(group) == len(nodes) // 2 + 1 for group in heard)
    assert all(node in group for node, group in zip(nodes, heard, strict=True))
    if len(nodes) > 2:  # of two nodes every majority is both
        assert len(set(heard)) == len(nodes)


def test_a_ring_of_five_is_cut_both_ways_and_one_of_three_one_way():
    assert symmetric(ring(FIVE))
    assert ring(["a", "b", "c"]) == {"a": {"b"}, "b": {"c"}, "c": {"a"}}
