"""The tests of a comparison: known values, and the correction for many."""

from __future__ import annotations

import pytest

from analysis.compare.exact import (
    Probability,
    Share,
    bound,
    cliffs_delta,
    of_lengths,
    of_shares,
    smallest_rise,
)


def share(hits: int, runs: int) -> Share:
    return Share(hits=hits, runs=runs)


def test_fisher_s_tea_tasting() -> None:
    """R. A. Fisher, The Design of Experiments (1935): 3 of 4 cups right has 34/70, both sides."""
    found = of_shares(share(3, 4), share(1, 4))

    assert found.p == pytest.approx(34 / 70)
    assert found.least == pytest.approx(2 / 70)


def test_where_nothing_was_ever_seen_no_test_can_be_wrong() -> None:
    assert of_shares(share(0, 20), share(0, 20)) == Probability(p=1.0, least=1.0)
    assert of_lengths([1.0, 1.0], [1.0]) == Probability(p=1.0, least=1.0)
    assert of_lengths([], [1.0]) == Probability(p=1.0, least=1.0)


def test_lengths_that_do_not_mix_are_as_different_as_they_can_be() -> None:
    found = of_lengths([1, 2, 3, 4], [5, 6, 7, 8])

    assert found.p == found.least == pytest.approx(2 / 70)


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [([1, 2], [3, 4], 1.0), ([3, 4], [1, 2], -1.0), ([1, 2], [1, 2], 0.0), ([], [1], 0.0)],
)
def test_the_effect_is_how_much_more_often_the_new_is_longer(
    old: list[float], new: list[float], delta: float
) -> None:
    assert cliffs_delta(old, new) == delta


def test_only_tests_that_could_be_significant_share_the_five_percent() -> None:
    could, could_not = Probability(p=0.5, least=1e-6), Probability(p=1.0, least=1.0)

    assert bound([could]) == 0.05
    assert bound([could, *[could_not] * 99]) == 0.05
    assert bound([could] * 10) == pytest.approx(0.005)
    assert bound([]) == 0.05
    # Ten more that could at 5 %, but not at what is left of it for two.
    assert bound([could, *[Probability(p=0.5, least=0.03)] * 10]) == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("old", "runs", "at", "hits"),
    [
        ((0, 20), 20, 0.05, 5),
        ((0, 20), 20, 0.001, 10),
        ((20, 20), 20, 0.05, None),
        ((0, 3), 3, 0.05, None),
    ],
)
def test_the_smallest_rise_that_would_show(
    old: tuple[int, int], runs: int, at: float, hits: int | None
) -> None:
    found = smallest_rise(share(*old), runs, at)

    assert (found.hits if found else None) == hits
