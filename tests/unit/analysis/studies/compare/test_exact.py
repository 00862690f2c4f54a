"""The tests of a comparison: known values, and the correction for many."""

from __future__ import annotations

from itertools import combinations
from math import comb
from random import Random

import pytest

from analysis.studies.compare.exact import (
    Probability,
    Share,
    bound,
    bounds,
    cliffs_delta,
    of_lengths,
    of_shares,
    smallest_rise,
)


def share(hits: int, runs: int) -> Share:
    return Share(hits=hits, runs=runs)


def listed(old: list[float], new: list[float]) -> Probability:
    """The rank test by listing every way to call so many of the lengths the new ones."""
    every = [*old, *new]
    # Twice the mean rank: of those below, and of its equals.
    ranks = [sum((x < y) + (x <= y) for x in every) + 1 for y in every]
    chosen = len(new)
    ways = list(combinations(range(len(every)), chosen))
    far = [abs(sum(ranks[i] for i in way) - chosen * (len(every) + 1)) for way in ways]
    own = far[-1]  # the new ones come last
    return Probability(
        p=sum(each >= own for each in far) / len(far),
        least=sum(each == max(far) for each in far) / len(far),
    )


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
    ("old", "new", "p"),
    [
        ([0.0] * 14, [3.0], 1 / 15),
        ([0.0] * 42, [3.0, 0.0, 0.0], 3 / 45),
        ([*[0.0] * 27, 2.0], [2.5, 0.0], 29 / 435),
        ([1.0] * 3, [2.0] * 3, 2 / 20),
    ],
)
def test_equal_lengths_make_no_few_new_runs_sure(
    old: list[float], new: list[float], p: float
) -> None:
    assert of_lengths(old, new).p == pytest.approx(p)


@pytest.mark.parametrize("seed", range(40))
def test_lengths_are_as_likely_as_listing_every_way_says(seed: int) -> None:
    drawn = Random(seed)
    different = drawn.choice([2, 3, 5, 100])
    old, new = ([drawn.randrange(different) / 2 for _ in range(drawn.randint(1, 7))] for _ in "on")
    if len({*old, *new}) > 1:
        assert of_lengths(old, new) == listed(old, new)


def test_twenty_new_runs_against_280_are_counted_and_not_approximated() -> None:
    found = of_lengths(list(range(280)), list(range(280, 300)))

    assert found.p == found.least == 2 / comb(300, 20)


def test_more_runs_than_can_be_counted_are_never_surer_than_is_possible() -> None:
    found = of_lengths([0.0] * 5000, [*[0.0] * 150, *range(1, 151)])

    assert found.p == found.least == comb(5150, 150) / comb(5300, 300)


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


def test_families_share_the_alarms_and_one_that_cannot_alarm_needs_none():
    could, could_not = Probability(p=0.5, least=0.001), Probability(p=1.0, least=1.0)

    assert bounds([could], [could] * 10) == pytest.approx([0.025, 0.0025])
    assert bounds([could], [could_not]) == pytest.approx([0.05, 0.025])
    # What could be significant at 5 % and not at its part must not be called so.
    barely = Probability(p=0.03, least=0.03)
    assert bounds([could], [barely])[1] < barely.p
    assert bounds([could_not], []) == [0.05, 0.05]
