"""Jepsen's EDN: read as edn_format reads it, and an exported run that comes back the same."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import edn_format
import pyarrow.parquet as pq
import pytest

from harness.checkout import ROOT
from harness.foreign.formats.edn import EdnError, Name, loads
from harness.history import jepsen
from harness.history.record_format import HistoryError
from tests.support.foreign_lines import ends, imported, write_lines
from tests.support.recorded_runs import sealed_operations

SEND = "{:index 0, :time 5, :type :invoke, :process 0, :f :send, :value [[:send 2 7]]}"
ACK = "{:index 1, :time 9, :type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}"
POLL = "{:index 2, :time 12, :type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}"


def polled(value: str) -> str:
    """A line that ends an operation of this value."""
    return f"{{:time 15, :type :ok, :process 1, :f :poll, :value {value}}}"


def operations(*told: tuple[str, int, str, str]) -> list[str]:
    """Lines of operations, each a millisecond after the one before: type, process, f, value."""
    return [
        f"{{:time {n * 10**6}, :type :{type_}, :process {process}, :f :{f}, :value {value}}}"
        for n, (type_, process, f, value) in enumerate(told)
    ]


def plain(value: Any) -> Any:
    """What edn_format read, as ours reads it."""
    if isinstance(value, edn_format.Keyword):
        return value.name
    if isinstance(value, edn_format.ImmutableDict):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, edn_format.ImmutableList | tuple):
        return [plain(each) for each in value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        *(SEND, ACK, POLL, "[1 -2 +3 4.5 1e3 nil true false]", '"a\\"b\\n"', "{}", "[[] {} ()]"),
        *("{:a/b [:c], 1 2}", "; a comment\n[1,,2]"),
    ],
)
def test_it_reads_what_edn_format_reads(text):
    assert plain(edn_format.loads(text)) == loads(text)


def test_a_tag_is_passed_over():
    assert {"index": 0} == loads("#jepsen.history.Op{:index 0}")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[1 2}", "{:a}", "]", '"open', "[1] [2]", "{[1] 2}", "[" * 60, '"\\q"', "[1 ]]"),
        *("{1 2 1 3}", "{1 2 1.0 3}", "{1 2 true 3}", '{:a 2 "a" 3}', "[#_ 1 2]", "[##Inf 1]"),
    ],
)
def test_what_is_no_edn_is_refused(text):
    with pytest.raises(EdnError):
        loads(text)


@pytest.mark.parametrize(("text", "is_name"), [(":a", True), ("a", True), ('"a"', False)])
def test_a_name_is_no_text(text, is_name):
    assert "a" == loads(text)
    assert is_name == isinstance(loads(text), Name)


def test_an_operation_of_each_kind(tmp_path):
    run = imported(tmp_path / "results", write_lines(tmp_path / "h.edn", [SEND, ACK, POLL]))

    [send], [poll] = (
        sealed_operations(run.path, "process-0"),
        sealed_operations(run.path, "process-1"),
    )

    assert ("ok", 0, 13, 6, 10) == tuple(
        send[name] for name in ("type", "partition", "offset", "start_ns", "end_ns")
    )
    assert (send["value"], 13, "read") == (poll["value"], poll["offset"], poll["f"])
    assert "begins" not in run.read().untold


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{:type :ok", "line 2: it is not EDN (cut short)"),
        ("[1]", "line 2: expected is an operation"),
        ("{:type :odd, :process 0, :f :send}", "line 2: its type is 'odd'"),
        ("{:type :ok, :process 0, :f :send}", "line 2: its time is None"),
        ("{:type :ok, :process 0, :f :send, :time -1}", "line 2: its time is -1"),
        (f"{{:type :ok, :process 0, :f :send, :time {2**62}}}", "expected is at most"),
        (f"{{:type :ok, :process 0, :f :send, :time {2**63}}}", "expected is at most"),
        (polled("7"), "its value is 7, expected is a vector"),
        (polled("[7]"), "its value has 7: expected is [:send key value]"),
        (polled("[[]]"), "its value has []: expected is [:send key value]"),
        (polled("[[:poll nil]]"), "what it polled is None: expected is [:poll {key"),
        (polled("[[:poll [[0 [0 1]]]]]"), "what it polled is [[0, [0, 1]]]: expected is"),
        (polled("[[:poll {0 nil}]]"), "what it polled of key 0 is None: expected is"),
        (polled("[[:poll {0 [1]}]]"), "what it polled of key 0 has 1: expected is"),
        (polled("[[:poll {0 [[a 1]]}]]"), "its offset is 'a'"),
        (polled("[[:poll {0 [[nil 1]]}]]"), "its offset is None"),
        (polled(f"[[:poll {{0 [[{2**48} 1]]}}]]"), "its offset is 281474976710656, expected is at"),
        (
            polled(f"[[:poll {{0 [[{2**63} 1]]}}]]"),
            "its offset is 9223372036854775808, expected is",
        ),
        (
            polled("[[:poll {nil [[0 1]]}]]"),
            "its key is None, expected is a whole number or a text",
        ),
        (polled("[[:poll {0 [[0 1.0]]}]]"), "its value is 1.0, expected is a whole number or a"),
        (polled('[[:poll {0 [[0 "\\ud800"]]}]]'), "is no text of Unicode"),
        (polled("[[:send 0]]"), "it has ['send', 0]: expected is [:send key value]"),
        (polled("[[:send 0 [1 2 3]]]"), "it has ['send', 0, [1, 2, 3]]: expected is"),
        (polled(f"[[:send 0 [{2**63 - 1} 1]]]"), "its offset is 9223372036854775807, expected is"),
        (polled("[[:send 0 nil]]"), "its value is None, expected is a whole number or a text"),
        (polled("[[:send :a 1]]"), "its key is 'a', expected is a whole number or a text"),
    ],
)
def test_a_line_that_is_no_operation_is_one_sentence(line, words, tmp_path):
    file = write_lines(tmp_path / "h.edn", [SEND, line])

    with pytest.raises(HistoryError) as refused:
        imported(tmp_path / "results", file)

    assert str(refused.value).startswith(f"{file}: line 2: ")
    assert words in str(refused.value)
    assert not (tmp_path / "results").exists()


ACKS = [("ok", 0, "send", f"[[:send 5 [{offset} {offset + 1}]]]") for offset in range(3)]
ASSIGN = ("ok", 1, "assign", "[5]")
SEEK = ("ok", 1, "assign", "[5], :seek-to-beginning? true")


def poll(*offsets: int, ended: str = "ok") -> tuple[str, int, str, str]:
    """A poll of process 1 that returned these records of the key 5."""
    records = " ".join(f"[{offset} {offset + 1}]" for offset in offsets)
    return ended, 1, "poll", f"[[:poll {{5 [{records}]}}]]"


@pytest.mark.parametrize(
    ("told", "end"),
    [
        ([*ACKS, SEEK, poll(0, 1, 2)], (True, 0, 3)),
        ([*ACKS, SEEK, poll(0, 2)], (False, 0, 3)),  # it passed 1
        ([*ACKS, SEEK, poll(0), poll(), poll(2)], (False, 0, 3)),
        ([*ACKS, SEEK, poll(0)], (False, 0, 1)),  # it may not have got there
        ([*ACKS, ASSIGN, poll(0, 2)], (False, 0, 1)),  # nobody knows what moved it
        ([*ACKS, SEEK, poll(0), poll(ended="info"), poll(2)], (False, 0, 1)),
        ([*ACKS, SEEK, poll(0), poll(ended="fail"), poll(2)], (False, 0, 1)),
        ([*ACKS, SEEK, poll(0), ASSIGN, poll(2)], (False, 0, 1)),
        ([*ACKS, SEEK, poll(0), ("info", 1, "subscribe", "[5]"), poll(2)], (False, 0, 1)),
        ([ACKS[0], ACKS[2], SEEK, ACKS[1], poll(0, 2)], (False, 0, 3)),
        ([ACKS[0], ACKS[2], SEEK, poll(0, 2), ACKS[1]], (False, 0, 1)),  # acked since
        ([*ACKS, SEEK, poll(0, 2), ASSIGN, poll(0)], (False, 0, 1)),  # it went back
        ([*ACKS, ASSIGN, poll(0, 1, 2), SEEK, poll(0, 2)], (False, 0, 3)),
        ([*ACKS, ASSIGN, poll(0), SEEK, poll(1, 2)], (True, 1, 3)),  # the log began at 1 by then
    ],
)
def test_a_poll_from_the_beginning_passes_what_it_lacks(told, end, tmp_path):
    file = write_lines(tmp_path / "h.edn", operations(*told))
    run = imported(tmp_path / "results", file, final=["process-1"])

    assert {0: end} == ends(run)


@pytest.mark.parametrize("between", ["\n", " ", "\n\n ; said\n"])
def test_a_vector_of_operations_is_the_same_history(between, tmp_path):
    lines = operations(*ACKS, SEEK, poll(0, 2))
    file = write_lines(tmp_path / "h.edn", [f"; a history\n[{between.join(lines)}]"])
    run = imported(tmp_path / "results", file, final=["process-1"])

    assert {0: (False, 0, 3)} == ends(run)

    for end, words in (("", "(cut short)"), ("}]", "(a bracket that"), ("] 1", "(more than one")):
        write_lines(file, [f"[\n{between.join(lines)}{end}"])
        with pytest.raises(HistoryError) as refused:
            imported(tmp_path / "results", file)
        last = 2 + between.count("\n") * (len(lines) - 1)
        assert f"{file}: line {last}: it is not EDN {words}" in str(refused.value)


def test_two_keys_or_two_values_are_never_one(tmp_path):
    pairs = [
        "1 1",
        '"1" 1',
        '1 "1"',
        '"a/b" "c"',
        '"a" "b/c"',
        '"a" "b\\"/\\"c"',
        '"a\\"/\\"b" "c"',
    ]
    ops = [
        f"{{:time {n}, :type :invoke, :process 0, :f :send, :value [[:send {pair}]]}}"
        for n, pair in enumerate(pairs)
    ]
    run = imported(tmp_path / "results", write_lines(tmp_path / "h.edn", ops))

    texts = pq.read_table(run.history / "values.parquet")["text"].to_pylist()

    assert [0, 1, 0, 2, 3, 3, 4] == [
        row["partition"] for row in sealed_operations(run.path, "process-0")
    ]
    assert texts[:5] == ["1/1", '"1"/1', '1/"1"', '"a/b"/"c"', '"a"/"b/c"']
    assert len(pairs) == len(set(texts))


def test_a_record_without_a_value_is_one_of_which_none_is_told(tmp_path):
    lines = [SEND, ACK, polled("[[:poll {2 [[13 nil]]}]]")]
    run = imported(tmp_path / "results", write_lines(tmp_path / "h.edn", lines))

    [row] = sealed_operations(run.path, "process-1")

    assert (13, None) == (row["offset"], row["value"])


def test_a_run_exported_for_jepsen_comes_back_with_its_sends_and_reads(tmp_path):
    golden = ROOT / "tests" / "golden" / "leader-stopped"
    run = Path(shutil.copytree(golden, tmp_path / golden.name))
    file = write_lines(tmp_path / "h.edn", jepsen.export(run, Counter()))

    back = imported(tmp_path / "results", file)

    told = Counter(
        (row["f"], row["type"])
        for table in (back.history / "operations").glob("*.parquet")
        for row in sealed_operations(back.path, table.stem)
    )
    assert 973 == told["send", "ok"]
    assert told["read", "ok"] >= 2 * 973
