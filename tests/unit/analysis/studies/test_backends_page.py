"""docs/backends.md is made from the runs' summaries: what it says of backends is what they say."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.studies import backends, pages
from harness.checkout import ROOT
from harness.model.campaigns.ledger import Lines

GAP = backends.MEASURES[2]
CELL: Any = {"scenario": "c", "claim": "it loses", "note": "ours"}
CAMPAIGN = {"cells": [CELL], "backends": ["local", "docker"], "seed": 1}


def line(backend: str, lost: int = 0, gap: float = 0.0, **more: Any) -> Any:
    return {
        "cell": "c",
        "backend": backend,
        "seed": 1,
        "verdict": "valid",
        "reasons": [],
        "anomalies": {"lost": lost, "duplicate": 0},
        "produce_gaps_s": [0.6, gap],
        "starved_in_load": {"pressure_some_percent": 10.0},
        **more,
    }


def test_the_page_in_the_repository_is_the_one_that_its_data_give():
    text = (ROOT / "docs" / "backends.md").read_text()

    assert text == pages.page(ROOT / "docs" / "backends.toml", backends.render), (
        "run `make backends-table`"
    )


def test_each_backend_has_its_column_in_every_table():
    page = backends.render(
        CAMPAIGN, Lines(all=[line("local", 1), line("local", 3), line("docker", 2)])
    )

    assert "| `c` | it loses | 2 of 2 | 1 of 1 |" in page
    assert "| `c` | 2 (1–3) | 2 |" in page
    assert "- **c**: ours" in page


def test_a_run_that_was_not_as_demanded_is_told_with_its_reasons():
    bad = line("docker", verdict="invalid", reasons=["1 record was lost"])
    unfinished: Any = {"cell": "c", "seed": 9, "exit": 255}
    page = backends.render(CAMPAIGN, Lines(all=[line("docker"), bad, unfinished]))

    assert "| `c` | it loses | 0 of 1 | 1 of 2 |" in page
    assert "- `c` on docker, seed 1: invalid; 1 record was lost\n" in page
    assert "- `c` on local, seed 9: not finished\n" in page


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ((1.0, 2.0), (2.6, 3.0), True),
        ((1.0, 2.7), (2.6, 3.0), False),  # they touch
        ((1.0, 1.1), (1.2, 1.3), False),  # not worth a sentence
        ((1.0,), (), False),
    ],
)
def test_backends_differ_where_their_ranges_do_not_touch(one, other, differ):
    runs = ([line("local", gap=s) for s in one], [line("docker", gap=s) for s in other])

    assert backends.differ(GAP, *runs) is differ
    assert backends.differ(GAP, *reversed(runs)) is differ


def test_a_gap_on_a_starved_host_is_none_and_makes_no_difference():
    starved: Any = {"starved_in_load": {"pressure_some_percent": 90.0}}
    runs = [line("local", gap=1.0), line("local", gap=9.0, **starved)]
    slow = [line("docker", gap=3.0)]

    assert backends.middle_of(GAP, runs) == "1.00, 1 run"
    assert not backends.differ(GAP, runs, slow)
    assert backends.differ(GAP, runs[:1], slow)


def test_a_difference_is_a_sentence_with_both_ranges():
    lines = [line("local", 4), line("local", 5), line("docker", 1), line("docker", 1)]

    assert ["`c`, records lost: local 4.5 (4–5), docker 1."] == backends.differences(
        CAMPAIGN, lines
    )


def test_how_busy_the_host_was_is_told_of_each_backend():
    busy: Any = {
        "host": {"cpu_starvation": {"pressure_some_percent": 40.4}},
        "kafka": "3.9.2",
    }

    assert backends.hosts(CAMPAIGN, [line("local", **busy)]) == [
        "local: 1 runs, Kafka 3.9.2, a process waited for a CPU 40 % of the time",
        "docker: no runs yet",
    ]
