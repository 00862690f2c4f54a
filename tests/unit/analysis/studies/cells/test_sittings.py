"""How much runs of one sitting are alike, and what that does to the interval of a share."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import binomtest

from analysis.studies.cells.shares import affected, share, wilson
from analysis.studies.cells.sittings import FEW, Sittings, dispersion
from harness.model.runs.ledger import Lines


def runs(sitting: str, hits: int, of: int) -> list[tuple[str, bool]]:
    return [(sitting, number < hits) for number in range(of)]


def line(seed: int, lost: int = 0, *, host: int = 1, **more: Any) -> Any:
    """A run that ended."""
    facts = {"memory_bytes": host, "kernel": f"k{host}"}
    names = {"cell": "c", "seed": seed, "started_utc": str(seed), "host": facts}
    return {**names, "verdict": "valid", "anomalies": {"lost": lost}, **more}


def calibrated(utc: str) -> Any:
    return {"event": "calibrated", "cell": "calibrated", "seed": 1, "started_utc": utc}


@pytest.mark.parametrize(("hits", "of"), [(0, 20), (7, 20), (20, 20), (1, 3), (42, 80)])
def test_the_interval_of_independent_runs_is_wilson_s(hits: int, of: int) -> None:
    exact = binomtest(hits, of).proportion_ci(0.95, method="wilson")

    assert wilson(hits, of) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert wilson(hits, of, 0.5) == wilson(hits, of)


def test_runs_that_differ_twice_as_much_between_sittings_tell_as_much_as_half_of_them() -> None:
    assert wilson(20, 40, 2.0) == pytest.approx(wilson(10, 20))
    assert share([True] * 20 + [False] * 20, 2.0) == "20 of 40 (30–70 %)"


def test_a_share_that_is_hardly_there_has_a_decimal() -> None:
    assert share([0] * 100) == "0 of 100 (0–3.7 %)"


def test_the_dispersion_is_pearson_s_chi_squared_by_its_degrees_of_freedom() -> None:
    """5 of 10 and 1 of 10 about 0.3: (2² + 2²) / (10 x 0.3 x 0.7) = 3.81, with one degree."""
    found = dispersion([[*runs("a", 5, 10), *runs("b", 1, 10)]])

    assert found.factor == pytest.approx(8 / 2.1)
    assert found.freedom == 1


def test_each_cell_varies_about_its_own_mean() -> None:
    """Two cells of very different shares whose sittings agree are not dispersed."""
    one = [*runs("a", 8, 10), *runs("b", 8, 10)]
    other = [*runs("a", 2, 10), *runs("b", 2, 10)]

    assert dispersion([one, other]).factor == 1.0
    assert dispersion([one, other]).freedom == 2
    assert dispersion([[*one, *((f"{s}2", hit) for s, hit in other)]]).factor > 4


def test_a_sitting_in_which_less_than_one_hit_is_due_has_no_part() -> None:
    sparse = [*runs("a", 1, 2), *runs("b", 0, 2), *runs("c", 1, 2)]

    assert dispersion([sparse]).freedom == 0
    assert dispersion([[*sparse, *runs("d", 3, 10), *runs("e", 4, 10)]]).freedom == 1


@pytest.mark.parametrize("hits", [0, 10])
def test_where_all_runs_agree_nothing_is_known_of_it(hits: int) -> None:
    found = dispersion([[*runs("a", hits, 10), *runs("b", hits, 10)]])

    assert (found.factor, found.freedom) == (1.0, 0)


def test_a_sitting_is_what_follows_a_calibration_on_one_host() -> None:
    started = {"event": "started", "cell": "c", "backend": "local", "seed": 4, "started_utc": "4"}
    lines = [line(0), calibrated("a"), line(1), line(2, host=2), started, calibrated("b"), line(3)]
    named = line(5, sitting="a")
    made_in = Sittings.read(Lines(all=[*lines, line(4), named]))

    assert made_in.count([line(1), line(2), line(3)]) == 3
    assert (
        made_in.count([line(1), line(4), named]) == 1
    )  # begun before, ended after; and by its name
    assert made_in.count([line(0), line(1)]) == 2
    assert list(made_in.hosts.values()) == ["A", "B"]


def test_of_few_sittings_the_share_is_told_by_host() -> None:
    lines = [calibrated("a"), *(line(n, n % 2, host=1 + n // 4) for n in range(6))]
    made_in = Sittings.read(Lines(all=lines))

    told = made_in.affected(lines[1:], "lost", 1.0)
    assert told == "2 of 4 (15–85 %) on host A; 1 of 2 (9–91 %) on host B"
    many = [each for n in range(FEW) for each in (calibrated(str(n)), line(10 + n))]
    assert Sittings.read(Lines(all=many)).affected(many[1::2], "lost", 1.0) == "0 of 5 (0–43 %)"


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        ([], ""),
        ([0], "; 1 unknown"),
        ([3], "; 1 unknown, which saw it"),
        ([3, 0, 1], "; 3 unknown, 2 saw it"),
    ],
)
def test_a_run_without_a_verdict_is_in_no_share_whatever_it_saw(
    unknown: list[int], told: str
) -> None:
    doubtful = [line(9 + n, lost, verdict="unknown") for n, lost in enumerate(unknown)]

    assert affected([line(0, 2), line(1), *doubtful], "lost") == f"1 of 2 (9–91 %){told}"
