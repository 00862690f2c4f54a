"""Demands of a scenario: how they are read, and what meets them."""

from __future__ import annotations

import pytest

from analysis.verdict.demands import Demand, DemandError, demanded_words, parse
from analysis.verdict.judge import SURE, Unsure, decide, judge_gaps


@pytest.mark.parametrize(
    ("text", "met"),
    [
        (">= 1", (False, True, True)),
        ("> 1", (False, False, True)),
        ("0", (True, False, False)),
        ("= 1", (False, True, False)),
        ("==2", (False, False, True)),
        ("<= 1", (True, True, False)),
        (" < 1 ", (True, False, False)),
    ],
)
def test_a_demand_is_a_range_of_counts(text: str, met: tuple[bool, ...]) -> None:
    demand = parse({"lost": text})["lost"]

    assert tuple(demand.met(count, known=True) for count in range(3)) == met


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("lost", ">= 1", "at least 1 lost record"),
        ("lost", "0", "0 lost records"),
        ("duplicate", "== 1", "1 duplicate"),
        ("duplicate", " < 21", "less than 21 duplicates"),
        ("lost", "> 50 %", "more than 50 % lost records"),
        ("stale-read", "<=3", "at most 3 stale reads"),
    ],
)
def test_a_demand_is_told_in_words(name: str, text: str, words: str) -> None:
    assert demanded_words(name, parse({name: text}, 100)[name]) == words


@pytest.mark.parametrize(
    ("text", "met"),
    [
        (">= 1", (None, True, True)),  # more can only help
        ("0", (None, False, False)),  # one is too many whatever else there is
        ("1", (None, None, False)),
        ("<= 1", (None, None, False)),
    ],
)
def test_where_more_may_be_found_a_demand_may_stay_open(
    text: str, met: tuple[bool | None, ...]
) -> None:
    demand = parse({"lost": text})["lost"]

    assert tuple(demand.met(count, known=False) for count in range(3)) == met


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"losst": "0"}, "expect.losst: no such anomaly; did you mean lost?"),
        ({"pain": "0"}, "expect.pain: no such anomaly; known are lost,"),
        ({"lost": "some"}, "expect.lost: 'some' is not a demand; write"),
        ({"lost": "-1"}, "expect.lost: '-1' is not a demand"),
    ],
)
def test_a_demand_that_makes_no_sense_is_named(expect: dict[str, str], words: str) -> None:
    with pytest.raises(DemandError, match=words.replace("?", r"\?")):
        parse(expect)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("> 50 %", 6, None),
        (">= 50%", 6, None),
        ("< 50 %", 0, 5),
        ("<= 50 %", 0, 5),
        ("> 0 %", 1, None),
        (">= 100 %", 11, None),
    ],
)
def test_a_demand_may_be_a_share_of_the_acknowledged(
    text: str, least: int, most: int | None
) -> None:
    """Of eleven records."""
    assert parse({"lost": text}, 11)["lost"] == Demand(text=text, least=least, most=most)


def test_an_exact_share_is_no_demand() -> None:
    with pytest.raises(DemandError, match="would have to be met exactly"):
        parse({"lost": "50 %"}, 11)


@pytest.mark.parametrize(("text", "met"), [(">= 8", (False, True)), ("<= 8", (True, False))])
def test_how_long_writes_stood_still_can_be_demanded(text: str, met: tuple[bool, bool]) -> None:
    demands = parse({"produce-gap-s": text})
    found = [
        judge_gaps({"produce": longest, "consume": 99.0}, demands, SURE)["produce-gap-s"]
        for longest in (7.9, 8.1)
    ]

    assert tuple(gap.met for gap in found) == met
    assert [decide({}, SURE, {"produce-gap-s": gap}).name for gap in found] == [
        "valid" if each else "invalid" for each in met
    ]


def test_a_gap_that_is_not_met_says_so_in_the_reasons() -> None:
    gaps = judge_gaps({"produce": 1.74}, parse({"produce-gap-s": ">= 8"}), SURE)

    assert decide({}, SURE, gaps).reasons == (
        "produce-gap-s: at least 8 demanded, the longest lasted 1.7 s",
    )


def test_a_gap_that_more_knowledge_might_lengthen_stays_open() -> None:
    gaps = judge_gaps(
        {"consume": 1.0}, parse({"consume-gap-s": "<= 2"}), Unsure(doubts=("a doubt",))
    )

    assert gaps["consume-gap-s"].met is None
    assert decide({}, Unsure(doubts=("a doubt",)), gaps).name == "unknown"


@pytest.mark.parametrize("text", ["> 8", "8", "< 2", ">= 50 %"])
def test_a_gap_is_demanded_from_or_up_to_whole_seconds(text: str) -> None:
    with pytest.raises(DemandError, match="is not a demand in seconds; write"):
        parse({"produce-gap-s": text})


def test_the_same_demand_is_parsed_once() -> None:
    assert parse({"lost": ">= 1"}) == {"lost": Demand(text=">= 1", least=1, most=None)}
