"""How long a run is expected to take: held against runs that were made on two cores."""

from __future__ import annotations

import pytest

from harness.scenario.expected_length import expected_s, in_words
from harness.scenario.file import read_scenario


@pytest.mark.parametrize(
    ("scenario", "took_s"),  # the run itself; its check took some ten seconds more
    [
        ("baseline", 10.5),
        ("study-1", 112.9),
        ("study-3", 42.1),
        ("graceful", 54.0),
        ("crash-loop", 37.7),
        ("soak-mixed", 609.9),
        ("power-loss-one", 24.3),
    ],
)
def test_it_is_about_as_long_as_a_run_took(scenario: str, took_s: float) -> None:
    assert expected_s(read_scenario(scenario)) == pytest.approx(took_s + 10, rel=0.2)


def test_a_setting_changes_it() -> None:
    shorter = read_scenario("study-1", {"workload.rounds": 2000, "faults.0.times": 1})

    assert expected_s(shorter) == pytest.approx(30)


@pytest.mark.parametrize(
    ("length_s", "words"),
    [(18.9, "20 s"), (57.4, "55 s"), (58.0, "1 min"), (118.0, "2 min"), (618.0, "10 min")],
)
def test_it_is_told_as_exactly_as_it_is_known(length_s: float, words: str) -> None:
    assert in_words(length_s) == words
