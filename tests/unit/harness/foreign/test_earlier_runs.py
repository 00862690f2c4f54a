"""Records that were in the topic before: what is taken out of the history, and what is in doubt."""

from __future__ import annotations

import pytest

from harness.foreign.about import About
from tests.support.foreign_lines import acked, began, imported_pair, read, tool_line
from tests.support.recorded_runs import sealed_operations

ONCE = About(producer={"acks": "all", "retries": 0})
AGAIN = About(producer={"acks": "all", "retries": 5, "enable.idempotence": False})
IDEMPOTENT = About(producer={"enable.idempotence": True})
NEW = About(new_topic=True)
SENDS = [acked(10, "a", 13), acked(20, "b", 14)]
TOOL = tool_line(30, "tool_data", sent=2, acked=2, target_throughput=-1, avg_throughput=1.0)
ERROR = tool_line(15, "producer_send_error", value="c", exception="E")
FAILED = {**ERROR, "certain": True}
OWN = [(13, "a"), (14, "b")]


@pytest.mark.parametrize(
    ("sends", "reads", "about", "taken"),
    [
        ([*SENDS, TOOL], [(11, "a"), *OWN], None, [11, 0]),  # VerifiableProducer sends once
        ([*SENDS, TOOL], [(11, "a"), *OWN], AGAIN, [11, 1]),  # unless it was told otherwise
        (SENDS, [(11, "a"), *OWN], None, [11, 1]),
        (SENDS, [(11, "a"), *OWN], ONCE, [11, 0]),
        (SENDS, [(11, "a"), *OWN], IDEMPOTENT, [11, 0]),
        (SENDS, [(11, "a"), *OWN], NEW, [0]),
        (SENDS, [*OWN, (15, "a")], None, [0]),  # behind the first ack: a duplicate
        (SENDS, [(5, "a"), (11, "a"), *OWN], AGAIN, [5, 11, 2]),
        (SENDS, [(11, "a"), OWN[1]], ONCE, [11, 0]),  # so it is lost
        (SENDS, [(9, "a"), (11, "a"), OWN[1]], None, [9, 1]),  # the last one may be its own
        (SENDS, [(11, "hello"), *OWN], None, [11, 0]),
        (SENDS, [*OWN, (15, "hello")], ONCE, [0]),
        ([*SENDS, ERROR], [(12, "c"), *OWN], ONCE, [0]),  # no copy
        ([*SENDS, ERROR], [(3, "c"), (12, "c"), *OWN], ONCE, [3, 1]),
        ([*SENDS, ERROR], [(12, "c"), *OWN, (15, "c")], ONCE, [12, 0]),
        ([*SENDS, FAILED], [(12, "c"), *OWN], None, [12, 0]),
        ([*SENDS, FAILED], [*OWN, (15, "c")], None, [0]),  # a phantom
        ([acked(10, "a", -1), SENDS[1]], [(4, "a"), (5, "a"), OWN[1]], IDEMPOTENT, [4, 1]),
        ([began(1, "c", partition=0)], [(4, "c"), (5, "c")], ONCE, [4, 1]),  # no ack names a place
        ([began(1, "c", partition=0)], [(4, "x")], ONCE, [0]),  # a phantom
        ([], [(4, "x"), (5, "x")], None, [4, 1]),
    ],
)
def test_what_lies_below_the_first_ack(sends, reads, about, taken, tmp_path):
    """`taken`: the offsets that are taken out, and of how many it is in doubt."""
    *others, doubtful = taken
    lines = [read(100 + n, text, offset) for n, (offset, text) in enumerate(reads)]
    run = imported_pair(tmp_path, sends or [tool_line(1, "startup_complete")], lines, about)

    rows = sealed_operations(run.path, "c")

    assert others == [row["offset"] for row in rows if row["value"] >= (3999 << 40) + 2**39]
    assert ("copies" in run.read().untold) == bool(doubtful)
    noted = [note for note in run.read().notes if " or of this history" in note]
    assert [str(doubtful)] * bool(doubtful) == [note.split()[0] for note in noted]


@pytest.mark.parametrize(
    ("reads", "about", "landed"),
    [
        ([(12, "c"), *OWN], ONCE, 1),
        ([(12, "c"), *OWN], NEW, 0),
        ([*OWN, (15, "c")], ONCE, 0),
        ([(12, "c"), *OWN, (15, "c")], ONCE, 0),
        ([(3, "c"), (12, "c"), *OWN], ONCE, 1),
    ],
)
def test_whether_a_send_in_doubt_left_the_record_below_is_not_told(reads, about, landed, tmp_path):
    lines = [read(100 + n, text, offset) for n, (offset, text) in enumerate(reads)]
    run = imported_pair(tmp_path, [*SENDS, ERROR], lines, about).read()

    assert ("landed" in run.untold) == bool(landed)
    noted = [note for note in run.notes if "of a send without an ack" in note]
    assert [str(landed)] * landed == [note.split()[0] for note in noted]


def test_what_two_readers_were_given_at_one_place_is_one_value(tmp_path):
    reads = [read(100, "a", 11), read(101, "a", 13), read(102, "b", 14), read(103, "a", 11)]
    rows = sealed_operations(imported_pair(tmp_path, SENDS, reads).path, "c")

    assert rows[0]["value"] == rows[3]["value"] != rows[1]["value"]


def test_a_send_went_where_its_own_record_is(tmp_path):
    """Not where an earlier run's copy lies."""
    acks = [acked(1, "x", 7, partition=1), *SENDS]
    reads = [read(100, "c", 5, partition=1), read(101, "c", 15)]
    rows = sealed_operations(imported_pair(tmp_path, [*acks, ERROR], reads).path, "p")

    assert [("info", 0)] == [(r["type"], r["partition"]) for r in rows if r["type"] == "info"]
