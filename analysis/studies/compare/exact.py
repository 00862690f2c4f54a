"""The tests of a comparison, and how sure each must be so that all together are.

Shares are compared by Fisher's exact test, lengths by the rank test of Mann and Whitney with
Cliff's delta as the size of the effect (N. Cliff, 1993): how much more often the new run of a pair
is the longer one, from -1 to 1.

The rank test is exact, ties or not: of all ways to call so many of these runs the new ones, the
share in which the sum of the new ranks is at least as far from the expected one, on either side.
Equal lengths have the mean of their ranks (W. H. Kruskal and W. A. Wallis, 1952); the shift
algorithm counts the ways (B. Streitberg and J. Röhmel, 1986).

    14 runs without a gap     one of 3 s     =>  p = 1/15: each of the 15 could have been the one

SciPy has no such test: its exact test knows no ties, which most lengths are (no gap is 0 s), its
normal approximation calls the above 0.0005, and its permutation test lists the ways, 10^30 of them
for 280 runs and 20. Where counting would take longer than a moment (about 70 runs and 70 that all
differ, or 500 and 20) the approximation is taken, but never below the smallest possible
probability, which is exact for any number of runs.

Of many tests at 5 % some are wrong by chance, so each has a smaller bound. Most cells never lose
anything, and a test of 0 of 10 against 0 of 10 is never significant: by Tarone's method (R. E.
Tarone, 1990) only a test that could be significant counts among the many. Families of tests have a
part of the 5 % each, so that many tests of one do not hide another's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb

from scipy.stats import fisher_exact, mannwhitneyu, rankdata

ALL_TOGETHER = 0.05  # how often a comparison of equal runs may call any different
COUNTED_BYTES = 4 * 10**9  # that counting the ways may move: a quarter of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Probability:
    """How likely equal runs would look at least as different, and the smallest probability that the
    test could have given, with these numbers of runs."""

    p: float
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """In how many of how many runs something was seen."""

    hits: int
    runs: int


def of_shares(old: Share, new: Share) -> Probability:
    """Fisher's exact test, two-sided."""
    return Probability(
        p=_fisher(old.hits, old.runs, new.hits, new.runs),
        least=_least_fisher(old.hits + new.hits, old.runs, new.runs),
    )


def of_lengths(old: Sequence[float], new: Sequence[float]) -> Probability:
    """Mann and Whitney's test, two-sided; without runs p is 1."""
    if not old or not new or len({*old, *new}) < 2:
        return Probability(p=1.0, least=1.0)
    few, many = sorted((old, new), key=len)  # one side's sum gives the other's
    doubled = [round(2 * rank) for rank in rankdata([*few, *many])]  # whole, halves too
    lowest = min(doubled)
    ranks = [rank - lowest for rank in doubled]
    least = _least_ranks(ranks, len(few))
    if _bytes_moved(ranks, len(few)) > COUNTED_BYTES:
        p = mannwhitneyu(old, new, alternative="two-sided", method="asymptotic").pvalue
        return Probability(p=max(float(p), least), least=least)
    ways = _ways_by_sum(tuple(sorted(ranks)), len(few))
    far = _far(sum(ranks[: len(few)]), ranks, len(few))
    extreme = sum(n for total, n in enumerate(ways) if _far(total, ranks, len(few)) >= far)
    return Probability(p=extreme / comb(len(ranks), len(few)), least=least)


def cliffs_delta(old: Sequence[float], new: Sequence[float]) -> float:
    """The size of the effect; 0.0 of no runs."""
    pairs = [(a, b) for a in old for b in new]
    return sum((b > a) - (b < a) for a, b in pairs) / len(pairs) if pairs else 0.0


def bound(tests: Iterable[Probability], together: float = ALL_TOGETHER) -> float:
    """How small a probability must be to count, so that `together` holds for all tests."""
    least = sorted(test.least for test in tests)
    for many in range(1, len(least) + 1):
        could = sum(test <= together / many for test in least)
        if could <= many:
            return together / many
    return together


def bounds(*families: Sequence[Probability]) -> list[float]:
    """A bound for each family of tests, so that ALL_TOGETHER holds for all: equal parts for the
    families with a test that could be significant."""
    part = ALL_TOGETHER / len(families)
    able = [any(test.least <= part for test in family) for family in families]
    if not any(able):
        return [bound(test for family in families for test in family)] * len(families)
    shared = ALL_TOGETHER / sum(able)
    return [
        bound(family, shared if could else part)
        for family, could in zip(families, able, strict=True)
    ]


def smallest_rise(old: Share, runs: int, at: float) -> Share | None:
    """The smallest share of so many new runs that would count as a rise; None: none would."""
    for hits in range(runs + 1):
        if hits * old.runs > old.hits * runs and _fisher(old.hits, old.runs, hits, runs) <= at:
            return Share(hits=hits, runs=runs)
    return None


@cache
def _fisher(old: int, old_runs: int, new: int, new_runs: int) -> float:
    if not old_runs or not new_runs:
        return 1.0
    return float(fisher_exact([[old, old_runs - old], [new, new_runs - new]])[1])


@cache
def _least_fisher(hits: int, old_runs: int, new_runs: int) -> float:
    """The smallest p for these hits, however the two sides share them."""
    fewest, most = max(0, hits - new_runs), min(hits, old_runs)
    return min(_fisher(hit, old_runs, hits - hit, new_runs) for hit in (fewest, most))


def _far(total: int, ranks: Sequence[int], chosen: int) -> int:
    """How far a sum of so many of the ranks is from the expected one, times the number of ranks,
    which makes it whole."""
    return abs(total * len(ranks) - chosen * sum(ranks))


def _least_ranks(ranks: Sequence[int], chosen: int) -> float:
    """The smallest p for these ranks: of the ways in which one side has the lowest or the highest,
    which ties make several."""
    ordered = sorted(ranks)
    ends = ((ordered[:chosen], ordered[chosen - 1]), (ordered[-chosen:], ordered[-chosen]))
    far = [_far(sum(end), ranks, chosen) for end, _ in ends]
    ways = [comb(ordered.count(edge), end.count(edge)) for end, edge in ends]
    most = sum(n for away, n in zip(far, ways, strict=True) if away == max(far))
    return most / comb(len(ranks), chosen)


def _untied(ranks: Sequence[int]) -> tuple[int, list[int]]:
    """The rank that most runs share, and all others."""
    ((shared, _),) = Counter(ranks).most_common(1)
    return shared, [rank for rank in ranks if rank != shared]


def _size(ranks: Sequence[int], chosen: int) -> int:
    """Bytes that hold any number of ways."""
    return comb(len(ranks), chosen).bit_length() // 8 + 1


def _bytes_moved(ranks: Sequence[int], chosen: int) -> int:
    """Bytes that counting the ways moves."""
    _, others = _untied(ranks)
    longest = _size(ranks, chosen) * sum(sorted(ranks)[-chosen:])
    return len(others) * min(len(others), chosen) * longest


@lru_cache(maxsize=64)
def _ways_by_sum(ranks: tuple[int, ...], chosen: int) -> Sequence[int]:
    """In how many ways so many of the ranks have each sum, from 0 to the largest.

    The ways to take `taken` ranks are the coefficients of a polynomial whose powers are the sums;
    another rank shifts it. A polynomial is one whole number, `size` bytes a coefficient, which
    Python adds and shifts at once, without rounding. The rank that most runs share fills up at the
    end.
    """
    size = _size(ranks, chosen)
    shared, others = _untied(ranks)
    ways = [1] + [0] * chosen
    for rank in others:
        for taken in range(chosen, 0, -1):
            ways[taken] += ways[taken - 1] << (8 * size * rank)
    every = sum(
        comb(len(ranks) - len(others), left) * ways[chosen - left] << (8 * size * shared * left)
        for left in range(chosen + 1)
    )
    digits = every.to_bytes(size * (sum(ranks[-chosen:]) + 1), "little")
    return [int.from_bytes(digits[at : at + size], "little") for at in range(0, len(digits), size)]
