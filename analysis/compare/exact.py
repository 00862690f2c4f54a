"""The tests that a comparison is made of, and how sure each must be so that all together are.

Shares are compared by Fisher's exact test, lengths by the rank test of Mann and Whitney with
Cliff's delta as the size of the effect (N. Cliff, 1993): of all pairs, by how much more often the
new one is the longer, from -1 to 1.

Of many tests at 5 % some are wrong by chance, so each is held to a smaller bound. Most cells never
lose anything, and a test of 0 of 10 against 0 of 10 cannot be wrong whatever the bound: by Tarone's
method (R. E. Tarone, 1990) a test counts among the many only if it could be significant at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

from scipy.stats import fisher_exact, mannwhitneyu

ALL_TOGETHER = 0.05  # how often a comparison of runs that do not differ may call any different


@dataclass(frozen=True, slots=True, kw_only=True)
class Probability:
    """How likely runs that do not differ would look at least as different, and the smallest that
    such a test could have come to, with these numbers of runs."""

    p: float
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """In how many of how many runs something was seen."""

    hits: int
    runs: int


def of_shares(old: Share, new: Share) -> Probability:
    """Fisher's exact test, of both sides."""
    return Probability(
        p=_fisher(old.hits, old.runs, new.hits, new.runs),
        least=_least_fisher(old.hits + new.hits, old.runs, new.runs),
    )


def of_lengths(old: Sequence[float], new: Sequence[float]) -> Probability:
    """Mann and Whitney's test, of both sides; of no runs it tells nothing."""
    if not old or not new or len({*old, *new}) < 2:
        return Probability(p=1.0, least=1.0)
    p = float(mannwhitneyu(old, new, alternative="two-sided").pvalue)
    return Probability(p=p, least=min(1.0, 2 / comb(len(old) + len(new), len(old))))


def cliffs_delta(old: Sequence[float], new: Sequence[float]) -> float:
    """The size of the effect; 0.0 of no runs."""
    pairs = [(a, b) for a in old for b in new]
    return sum((b > a) - (b < a) for a, b in pairs) / len(pairs) if pairs else 0.0


def bound(found: Iterable[Probability]) -> float:
    """How small a probability must be to count, so that ALL_TOGETHER holds for all of them."""
    least = sorted(each.least for each in found)
    for many in range(1, len(least) + 1):
        could = sum(each <= ALL_TOGETHER / many for each in least)
        if could <= many:
            return ALL_TOGETHER / many
    return ALL_TOGETHER


def smallest_rise(old: Share, runs: int, at: float) -> Share | None:
    """The smallest share of so many new runs that would be called a rise; None: none would."""
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
    """The smallest that it comes to, however these hits fall on the two sides."""
    fewest, most = max(0, hits - new_runs), min(hits, old_runs)
    return min(_fisher(each, old_runs, hits - each, new_runs) for each in (fewest, most))
