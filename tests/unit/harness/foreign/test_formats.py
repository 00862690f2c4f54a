"""Files as people have them: clients of librdkafka, logs of pods, loggers between, packed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.foreign.formats.opened import name_of
from harness.history.record_format import HistoryError
from tests.support.foreign_lines import (
    acked,
    assigned,
    ended,
    ends,
    imported,
    read,
    tool_line,
    write_lines,
)
from tests.support.recorded_runs import sealed_operations

Line = dict[str, Any]
DAY = "2026-11-20 "
SENT: Line = {"name": "producer_send_success", "topic": "t", "partition": 0, "key": None}
FAILED: Line = {"name": "producer_send_error", "topic": "t", "key": None, "value": "1"}
TOLD: Line = {"name": "record_data", "topic": "t", "partition": 0, "key": None}
PART: Line = {"topic": "t", "partition": 0}
POLLED: Line = {"name": "records_consumed", "count": 2}
WRITTEN: list[Line] = [
    {**SENT, "offset": 0, "value": "0", "_time": f"{DAY}09:00:00.100000"},
    {**FAILED, "message": "KafkaError{code=_MSG_TIMED_OUT,val=-192}", "_time": f"{DAY}09:00:05"},
    {**SENT, "offset": 1, "value": "2", "_time": f"{DAY}09:00:05.300000"},
]
WHOLE: list[Line] = [
    {"name": "partitions_assigned", "partitions": [PART], "_time": f"{DAY}09:00:07.000"},
    {**TOLD, "offset": 0, "value": "0", "_time": f"{DAY}09:00:07.100"},
    {**TOLD, "offset": 1, "value": "2", "_time": f"{DAY}09:00:07.200"},
    {
        **POLLED,
        "partitions": [{**PART, "minOffset": 0, "maxOffset": 1}, {**PART, "minOffset": -1}],
        "_time": f"{DAY}09:00:08.100",
    },
]


def of_a_day(line):
    """A line as the client in C++ writes it: its time has no date."""
    return {**line, "_time": line["_time"].removeprefix(DAY)}


def of_rfc(line):
    """The same moment, told with a zone."""
    return {**line, "_time": line["_time"].replace(" ", "T") + "+01:00"}


@pytest.mark.parametrize(("written", "starts"), [(dict, None), (of_a_day, None), (of_rfc, "08:00")])
def test_what_clients_of_librdkafka_write(written, starts, tmp_path):
    """The zone of a time is not known unless it is told: then the run has no wall clock."""
    timeless = [] if starts else ['{"name": "shutdown_complete"}']
    producer = write_lines(tmp_path / "p.jsonl", [*map(written, WRITTEN), *timeless])
    consumer = write_lines(tmp_path / "c.jsonl", map(written, WHOLE))
    run = imported(tmp_path / "results", producer, consumer, final=["c"])

    sends = [(row["type"], row["error"]) for row in sealed_operations(run.path, "p")]

    assert [("ok", None), ("info", "_MSG_TIMED_OUT"), ("ok", None)] == sends
    assert {0: (True, 0, 2)} == ends(run)
    begun = run.read().started_utc
    assert starts == (None if begun is None else str(begun)[11:16])


@pytest.mark.parametrize(
    ("polled", "offsets"),
    [
        ([(0, 0, 1), (1, 5, 5)], [0, 1, 5]),  # three in all: nothing is missing between
        ([(0, 0, 4)], [0, 4]),
        ([(0, 7, 7), (1, 3, 5)], [7, 3, 5]),
    ],
)
def test_a_count_of_all_partitions_fits_ranges_without_gaps_only(polled, offsets, tmp_path):
    parts = [
        {"topic": "t", "partition": p, "minOffset": first, "maxOffset": last}
        for p, first, last in polled
    ]
    line = tool_line(5, "records_consumed", count=3, partitions=parts)
    run = imported(tmp_path / "results", write_lines(tmp_path / "c.jsonl", [line]))

    assert offsets == [row["offset"] for row in sealed_operations(run.path, "c")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            [{**SENT, "offset": 2, "value": "3", "timestamp": 5}],
            "line 4: its time is since 1970, and",
        ),
        ([of_a_day({**WRITTEN[0], "value": "3"})], "line 4: its time is of a clock without date"),
        ([{**WRITTEN[0], "value": "3", "_time": "noon"}], "line 4: its _time is 'noon', expected"),
        (["KafkaError {"], ""),
    ],
)
def test_times_of_two_clocks_cannot_be_compared(more, words, tmp_path):
    file = write_lines(tmp_path / "p.jsonl", [*WRITTEN, *more])

    if not words:  # the twin: it is a logger's
        assert 1 == len(imported(tmp_path / "results", file).read().notes)
        return
    with pytest.raises(HistoryError, match=words):
        imported(tmp_path / "results", file)


LOGS = (
    "[2026-11-20 09:00:00,123] WARN [Producer clientId=producer-1] Got error (o.a.k.Sender)",
    "% 09:00:01 DEBUG: SEND: " + json.dumps(acked(10, "a", 0)),
    "",
)


def test_lines_of_loggers_are_passed_over_and_told(tmp_path):
    producer = write_lines(tmp_path / "p.jsonl", [LOGS[0], acked(10, "a", 0), *LOGS])
    consumer = write_lines(tmp_path / "c.jsonl", [read(20, "a", 0), LOGS[0], ended(30)])
    run = imported(tmp_path / "results", producer, consumer, final=[str(consumer)])

    assert {0: (True, 0, 1)} == ends(run)
    assert [
        f"{producer}: 4 lines are no JSON and were passed over.",
        f"{consumer}: 1 line is no JSON and was passed over.",
    ] == list(run.read().notes)


def pod(name, line):
    return f"[pod/{name}/kafka] " + (line if isinstance(line, str) else json.dumps(line))


def test_lines_of_pods_name_their_processes(tmp_path):
    lines = [
        pod("producer-0", acked(10, "a", 0)),
        pod("consumer.1", LOGS[0]),
        pod("consumer.1", f"2026-11-20T09:00:00.1Z {json.dumps(assigned(15, 0))}"),
        pod("consumer.1", read(20, "a", 0)),
        pod("producer-0", acked(12, "b", 1)),
        pod("consumer.1", read(21, "b", 1)),
    ]
    file = write_lines(tmp_path / "pods.log", lines)
    run = imported(tmp_path / "results", file, final=["consumer-1_kafka"])

    assert {0: (True, 0, 2)} == ends(run)
    assert 2 == len(sealed_operations(run.path, "producer-0_kafka"))
    assert [f"{file}: 1 line is no JSON and was passed over."] == list(run.read().notes)


def test_a_packed_file_is_the_file(tmp_path):
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(acked(10, "a", 0)).encode()))
    assert 1 == len(sealed_operations(imported(tmp_path / "results", packed).path, "p"))
    assert "a-b" == name_of(Path("a.b.log.gz")) == name_of(Path("a.b.log"))

    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(HistoryError, match=r"p\.jsonl\.gz: it cannot be unpacked \(.*\): give it"):
        imported(tmp_path / "results", packed)
