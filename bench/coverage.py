"""How often the published intervals hold the true share, where runs of a sitting are alike.

    python -m bench.coverage

Simulated are cells of 80 runs in 2, 7 and 20 sittings, whose shares vary about the true one (a
beta distribution) so that the runs differ between sittings 1.6 times as much as independent ones,
as those of the matrix do; 4,000 times each. The share is one of 0, 0.1 and 0.5. Printed is in how
many of 100 the interval holds it: Wilson's of independent runs, and that of the pages
(analysis.studies.cells.sittings). The page gives the second for FEW sittings and more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.studies.cells.shares import wilson
from analysis.studies.cells.sittings import dispersion

RUNS, FACTOR, TIMES = 80, 1.6, 4000
SITTINGS, SHARES = (2, 7, 20), (0.0, 0.1, 0.5)


def coverage(sittings: int, share: float, rng: np.random.Generator) -> tuple[float, float]:
    """Of 100 cells in how many either interval holds the share."""
    size = RUNS // sittings
    alike = (FACTOR - 1) / (size - 1)  # the correlation of two runs of a sitting
    weight = (1 - alike) / alike
    plain = ours = 0
    for _ in range(TIMES):
        hits = [0] * sittings
        if share:
            truths = rng.beta(share * weight, (1 - share) * weight, sittings)
            hits = rng.binomial(size, truths).tolist()
        runs = [(str(n), run < each) for n, each in enumerate(hits) for run in range(size)]
        total, factor = sum(hits), dispersion([runs]).factor
        plain += _holds(wilson(total, len(runs)), share)
        ours += _holds(wilson(total, len(runs), factor), share)
    return 100 * plain / TIMES, 100 * ours / TIMES


def _holds(interval: tuple[float, float], share: float) -> bool:
    return interval[0] - 1e-9 <= share <= interval[1]


def rows() -> Iterator[str]:
    """The table, line by line."""
    rng = np.random.default_rng(1)
    yield "sittings  share  independent  ours"
    for sittings in SITTINGS:
        for share in SHARES:
            plain, ours = coverage(sittings, share, rng)
            yield f"{sittings:8}  {share:5.1f}  {plain:11.1f}  {ours:4.1f}"


if __name__ == "__main__":
    for line in rows():
        print(line)
