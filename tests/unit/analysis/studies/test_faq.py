"""docs/faq.md: its words are a template's, its numbers the data's."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from analysis.studies import faq, pages
from harness.checkout import DOCS
from harness.scenario.file import shipped

PAGE = (DOCS / "faq.md").read_text()
TEMPLATE = (files("analysis.studies") / "templates" / "faq.md.j2").read_text()
CELL: Any = {"name": "c", "scenario": "s"}


def line(lost: int, *, verdict: str = "valid", reads: tuple[float, ...] = ()) -> Any:
    return {
        "cell": "c",
        "verdict": verdict,
        "anomalies": {"lost": lost, "duplicate": 0},
        "produce_gaps_s": [0.5, 2.0],
        "consume_gaps_s": list(reads),
        "acked": 100,
        "faults": 2,
        "kafka": "3.9.2",
        "starved_in_load": {"pressure_some_percent": 10.0},
    }


def measured(*lines: Any) -> faq.Measured:
    return faq.Measured({"cells": [CELL | {"repeats": 3}]}, lines)


def test_the_page_in_the_repository_is_the_one_that_its_data_give() -> None:
    assert pages.page(DOCS / "study.toml", faq.render) == PAGE, (
        "run `python -m analysis.studies.faq docs/study.toml`"
    )


def test_each_scenario_that_it_names_is_shipped() -> None:
    rows = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)
    named = re.findall(r"`([a-z0-9.]+(?:-[a-z0-9.]+)+)`", PAGE)

    assert len(rows) > 20
    assert {*rows, *named} <= {*shipped()}


def test_each_question_is_answered_by_a_table_or_by_not_yet() -> None:
    _, *questions = re.split(r"^### ", PAGE, flags=re.MULTILINE)

    assert len(questions) == 20
    assert [] == [each for each in questions if "| `" not in each and "*Not yet*" not in each]


def test_no_number_of_a_measurement_is_written_by_hand() -> None:
    """Left are settings, in code, threads, KIPs, the interval's 95 % and Kafka's own default."""
    words = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|`.*?`|\S+/\S+#\d+|KIP-\d+", "", TEMPLATE)
    for known in ("95 % interval", "Kafka's default is 18", "is 1.", "a minimum of 2"):
        assert known in words
        words = words.replace(known, "")

    assert re.findall(r"\d+", words) == []


def test_a_row_is_what_the_runs_of_its_cell_say() -> None:
    lines = [line(1), line(1), line(4), line(4), line(4, verdict="invalid", reads=(0.7, 3.0))]

    table = measured(*lines).table("c")

    assert table.splitlines()[2].startswith("| `s` | 5 | 4 of 5 (")
    assert table.endswith("| 4 (1–4) of 100 | 0 | — | 2.00 | 0.00 (0.00–3.00) |")


def test_the_gaps_of_few_calm_runs_are_not_told() -> None:
    assert measured(*[line(0)] * 4).table("c").endswith("| not measured calm | not measured calm |")


@pytest.mark.parametrize(("counts", "told"), [((0, 0), "0"), ((4, 1200, 7), "4 to 1,200")])
def test_a_span_is_one_number_where_all_runs_agree(counts: tuple[int, ...], told: str) -> None:
    assert measured(*map(line, counts)).seen("lost", "c") == told


def test_what_was_not_measured_cannot_be_told() -> None:
    for ask in ("table", "runs"):
        with pytest.raises(KeyError):
            getattr(measured(line(0)), ask)("d")
        with pytest.raises(KeyError):
            getattr(measured(), ask)("c")


def test_gaps_are_those_of_all_failures_of_all_calm_runs_older_ones_too() -> None:
    starved = line(0) | {"starved_in_load": {"pressure_some_percent": 90.0}}
    old = {key: value for key, value in line(0).items() if key != "configuration"}

    told = measured(line(0), line(0), starved, old).failures("c")

    assert (told["failures"], told["runs"]) == ("6", "3")
    assert (told["least"], told["most"]) == ("0.50", "2.00")
