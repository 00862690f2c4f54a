"""Files that are no history in lines: one sentence with file, line and what is expected."""

from __future__ import annotations

import json
import sys

import pytest

from harness.foreign.about import About, read_about
from harness.history.record_format import HistoryError
from tests.support.foreign_lines import (
    acked,
    assigned,
    imported,
    read,
    summed,
    tool_line,
    write_lines,
)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "it is empty: expected is a line of VerifiableProducer"),
        (["hello"], "line 1: it is not JSON: expected"),
        ([acked(1, "a", 0), '{"name": "pro'], "line 2: it is not JSON"),
        (["[1]"], "line 1: it is no JSON object with a `name`"),
        ([{"name": "other_tool", "timestamp": 1}], "line 1: its name is 'other_tool': expected"),
        ([{"name": "startup_complete"}], "line 1: its timestamp is None"),
        ([{**acked(1, "a", 0), "timestamp": "now"}], "line 1: its timestamp is 'now'"),
        ([{**acked(1, "a", 0), "partition": -1}], "line 1: its partition is -1"),
        ([{**acked(1, "a", 0), "partition": True}], "line 1: its partition is True"),
        ([{**acked(1, "a", 0), "offset": 2**48}], "line 1: its offset is 2814"),
        ([{**acked(1, "a", 0), "value": 7}], "line 1: its value is 7, expected is a text"),
        ([{**acked(1, "a", 0), "value": "\ud800"}], "is no text of Unicode"),
        (
            [tool_line(1, "producer_send_error", value="a", exception="\ud800")],
            "is no text of Unicode",
        ),
        ([{**acked(1, "a", 0), "topic": "\ud800"}], "is no text of Unicode"),
        ([{**acked(1, "a", 0), "timestamp": 2**62}], "its timestamp is 4611686018427387904, exp"),
        ([{**acked(1, "a", 0), "process": "a b"}], "line 1: its process is no word"),
        ([acked(1, "a", 0), read(2, "a", 0)], "line 2: it tells of reads in a file that told"),
        ([acked(1, "a", 0), acked(2, "a", 1)], "line 2: the value 'a' is sent, or ends, a second"),
        (
            [acked(1, "a", 0), tool_line(2, "tool_data", acked=2)],
            "line 2: its program counts 2 acks",
        ),
        ([{**acked(1, "a", 0)}, {**acked(2, "b", 1), "topic": "u"}], "line 2: it is of topic 'u'"),
        ([assigned(1, 0), read(2, "a", 0), summed(3, 0, 1)], "line 3: it sums up 2 records"),
        ([summed(3, 0, 2**40)], "more than any poll returns"),
        ([tool_line(1, "startup_complete")], "nothing was sent or read"),
        ([tool_line(1, "records_consumed", count=1)], "line 1: it has no list of `partitions`"),
    ],
)
def test_one_sentence_names_file_and_line_and_nothing_is_left(lines, words, tmp_path):
    file = write_lines(tmp_path / "log.jsonl", lines)

    with pytest.raises(HistoryError) as refused:
        imported(tmp_path / "results", file)

    assert str(refused.value).startswith(f"{file}: ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "results").exists()


def test_more_producers_than_there_are_numbers_for(tmp_path):
    lines = [{**acked(n, f"v{n}", n), "process": f"p-{n}"} for n in range(4000)]
    file = write_lines(tmp_path / "log.jsonl", lines)

    with pytest.raises(HistoryError, match="line 4000: it is of one producer more than 3,999"):
        imported(tmp_path / "results", file)


def test_what_is_nested_as_deep_as_python_goes(tmp_path):
    """It is read, or not; and what was read some steps higher may be too deep to be shown."""
    for deep in range(sys.getrecursionlimit() - 200, sys.getrecursionlimit()):
        line = json.dumps(acked(1, "a", 0, partition=-5)).replace("-5", "[" * deep + "]" * deep)
        file = write_lines(tmp_path / "log.jsonl", [line])

        with pytest.raises(HistoryError, match=r"it is not JSON|its partition is "):
            imported(tmp_path / "results", file)


def test_bytes_that_are_no_text_and_a_line_without_end(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b"\xff\xfe\x00" * 100)
    with pytest.raises(HistoryError, match="line 1: it is not JSON"):
        imported(tmp_path / "results", file)

    file.write_bytes(b'"' + b"x" * 2**24)
    with pytest.raises(HistoryError, match="line 1 is longer than"):
        imported(tmp_path / "results", file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(HistoryError, match="cannot be read \\(No such file"):
        imported(tmp_path / "results", tmp_path / "gone.jsonl")


def test_a_final_read_that_read_nothing(tmp_path):
    producer = write_lines(tmp_path / "p.jsonl", [acked(1, "a", 0)])
    consumer = write_lines(tmp_path / "c.jsonl", [read(2, "a", 0)])

    with pytest.raises(HistoryError, match="it read nothing; those that did: c"):
        imported(tmp_path / "results", producer, consumer, final=[str(producer)])


def test_lines_beside_edn(tmp_path):
    lines = write_lines(tmp_path / "p.jsonl", [acked(1, "a", 0)])
    edn = write_lines(tmp_path / "h.edn", ["{:type :invoke, :process 0, :f :poll, :time 0}"])

    with pytest.raises(HistoryError, match="of another kind than"):
        imported(tmp_path / "results", lines, edn)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("acks = ", "no TOML"),
        ("[brokers]\na = 1", "unknown key brokers"),
        ('faults = "some"', "faults: "),
        ("partitions = 0", "partitions: "),
        (f"[topic]\n'retention.ms' = {2**70}", "topic.retention.ms is beyond 64 bits"),
        ("[topic]\n'retention.ms' = inf", "topic.retention.ms is not a finite number"),
    ],
)
def test_what_is_known_must_be_as_its_page_says(text, words, tmp_path):
    file = tmp_path / "about.toml"
    file.write_text(text)

    with pytest.raises(HistoryError) as refused:
        read_about(file, {})

    assert str(refused.value).startswith(f"{file}: ")
    assert words in str(refused.value)


def test_an_option_that_is_no_text():
    with pytest.raises(HistoryError, match="the options: producer\\.acks has half a"):
        read_about(None, {"producer/acks": "\udcff"})


@pytest.mark.parametrize(
    "told", [{"topic/cleanup.policy": "compact,delete"}, {"server/log.cleanup.policy": "compact"}]
)
def test_a_compacted_topic_cannot_be_judged(told):
    with pytest.raises(HistoryError, match="a compacted log deletes"):
        read_about(None, told)


def test_one_that_deletes_by_time_can():
    """The twin."""
    assert read_about(None, {"topic/cleanup.policy": "delete"}).topic


def test_acks_that_are_none(tmp_path):
    file = write_lines(tmp_path / "p.jsonl", [acked(1, "a", 0)])

    with pytest.raises(HistoryError, match="acks: Input should be one of"):
        imported(tmp_path / "results", file, about=About(producer={"acks": "some"}))
    assert not (tmp_path / "results").exists()
