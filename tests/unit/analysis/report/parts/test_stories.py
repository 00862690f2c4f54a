"""Stories on the page: a sentence, a strip that says who had it when, and its life as a table."""

from __future__ import annotations

from typing import Any

from analysis.report.parts.stories import LEFT, STEP, stories
from tests.support.pages import reports
from tests.support.pages.page_reader import page_of, read


def a_story(number: int = 1, **changed: Any) -> dict[str, Any]:
    """kafka1 had it until row 3."""
    return {
        "number": number,
        "anomaly": "lost",
        "also": ["inconsistent-offset"],
        "records": 5,
        "partition": 0,
        "first_offset": 4711,
        "last_offset": 4715,
        "value": None,
        "leader": "kafka1",
        "epoch": 0,
        "certain": True,
        "sentence": "Offsets 4,711–4,715 (5 records) of partition 0 were acknowledged by <kafka1>.",
        "replicas": [
            {
                "broker": "kafka1",
                "had": "yes",
                "had_why": "its log has it",
                "now": "no",
                "now_why": "ends",
                "states": [
                    {"from_s": 1.0, "to_s": 3.0, "has": "yes"},
                    {"from_s": 3.0, "to_s": None, "has": "no"},
                ],
            },
            {
                "broker": "kafka2",
                "had": "unknown",
                "had_why": "nothing",
                "now": "unknown",
                "now_why": "nothing",
                "states": [{"from_s": 1.0, "to_s": None, "has": "unknown"}],
            },
        ],
        "life": [
            {"time_s": 1.0, "who": "producer 0", "what": "sent it"},
            {"time_s": 1.002, "who": "kafka1", "what": "acknowledged it"},
            {"time_s": 3.0, "who": "kafka1", "what": "cut its log off from 4,711 on"},
            {"time_s": None, "who": "final read", "what": "complete: it does not have it"},
        ],
        **changed,
    }


def told(*some: dict[str, Any], **more: Any) -> reports.Example:
    example = reports.control()
    told = {"told": list(some), "more": 0, "more_records": 0, "missing": [], **more}
    example.report["stories"] = told
    return example


def test_each_story_is_a_sentence_and_its_life_row_by_row():
    text = read(told(a_story())).text

    assert "1. lost, inconsistent-offset: 5 records" in text
    assert "Offsets 4,711–4,715 (5 records) of partition 0 were acknowledged by <kafka1>." in text
    assert "2 1.002 s kafka1 acknowledged it 3 3.000 s kafka1 cut its log off" in text
    assert "4 – final read complete: it does not have it" in text
    assert "kafka1 yes its log has it no ends" in text
    assert "kafka2 not known nothing not known nothing" in text


def test_stories_that_differ_in_numbers_alone_are_one_with_a_table_of_these() -> None:
    sentence = "Offset {} of partition 0 was acknowledged by kafka1 at {} s; kafka2 led at {} s."
    first = a_story(1, sentence=sentence.format("4,711", "1.002", "3.000"))
    same = a_story(3, sentence=sentence.format("9,007", "81.500", "3.000"), vanished=2)
    other = a_story(2, sentence=first["sentence"].replace("kafka2", "kafka3"))
    example = told(first, other, same)

    shown = stories(example.model)
    assert shown is not None
    merged, alone = shown["told"]
    assert (merged["number"], merged["records"], merged["vanished"]) == (1, 10, 2)
    assert merged["numbers"] == [
        (
            "Offset … of partition 0 was acknowledged by kafka1 at …",
            [["4,711", "1.002 s"], ["9,007", "81.500 s"]],
        )
    ]
    assert (alone["number"], alone["like"], alone["numbers"]) == (2, [], [])
    page = page_of(example)
    assert all(page.count(f'id="story-{number}"') == 1 for number in (1, 2, 3))
    assert "1, 3. lost, inconsistent-offset: 10 records, 2 of them vanished" in read(example).text


def test_the_strip_has_a_lane_for_each_broker_and_a_column_for_each_row_with_a_time():
    shown = stories(told(a_story()).model)
    assert shown is not None
    strip = shown["told"][0]["strip"]

    assert [column["number"] for column in strip["columns"]] == [1, 2, 3]
    first, second = strip["lanes"]
    assert first["bars"] == [
        {"x": LEFT, "width": 2 * STEP, "has": "yes"},
        {"x": LEFT + 2 * STEP, "width": STEP, "has": "no"},
    ]
    assert second["bars"] == [{"x": LEFT, "width": 3 * STEP, "has": "unknown"}]
    assert strip["words"] == ("kafka1: had it yes, now no; kafka2: had it not known, now not known")


def test_a_story_without_times_has_no_strip_and_is_told_all_the_same():
    bare = a_story(life=[{"time_s": None, "who": "final read", "what": "complete"}])

    page = page_of(told(bare))

    assert "<svg width=" not in page
    assert "&lt;kafka1&gt;" in page


def test_what_is_not_told_is_counted_and_what_is_not_known_is_said():
    text = read(told(a_story(), more=3, more_records=1200, missing=["no disks were seen"])).text

    assert "Told are the largest; 3 more stories of 1,200 records are not." in text
    assert "Not all is known: no disks were seen." in text


def test_without_stories_the_page_does_not_speak_of_them():
    assert "What became of them" not in read(told()).text
    older = reports.control()
    older.report.pop("stories", None)

    assert "What became of them" not in read(older).text


def test_twenty_stories_make_a_page_hardly_larger():
    empty = len(page_of(told()))

    assert len(page_of(told(*(a_story(number) for number in range(1, 21))))) < empty + 120_000
