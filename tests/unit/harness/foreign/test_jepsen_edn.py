"""Jepsen's EDN: read as edn_format reads it, and an exported run that comes back the same."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import edn_format
import pytest

from harness.checkout import ROOT
from harness.foreign.edn import EdnError, loads
from harness.history import jepsen
from harness.history.record_format import HistoryError
from tests.support.lines import imported, rows, written

SEND = "{:index 0, :time 5, :type :invoke, :process 0, :f :send, :value [[:send 2 7]]}"
ACK = "{:index 1, :time 9, :type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}"
POLL = "{:index 2, :time 12, :type :ok, :process 1, :f :poll, :value [[:poll {2 [[13 7]]}]]}"


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
    ["", "[", "[1 2}", "{:a}", "]", '"open', "[1] [2]", "{[1] 2}", "[" * 60, '"\\q"', "[1 ]]"],
)
def test_what_is_no_edn_is_refused(text):
    with pytest.raises(EdnError):
        loads(text)


def test_an_operation_of_each_kind(tmp_path):
    run = imported(tmp_path / "results", written(tmp_path / "h.edn", [SEND, ACK, POLL]))

    [send], [poll] = rows(run, "process-0"), rows(run, "process-1")

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
        ("{:type :ok, :process 0, :f :send, :time -1}", "line 2: its time is no whole number"),
        ("{:type :ok, :process 0, :f :poll, :time 1, :value [[:poll {0 [[a 1]]}]]}", "its offset"),
        ("{:type :ok, :process 0, :f :poll, :time 1, :value [[:poll {0 [1]}]]}", "line 2: expect"),
        ("{:type :ok, :process 0, :f :send, :time 1, :value 7}", "line 2: expected is an op"),
    ],
)
def test_a_line_that_is_no_operation_is_one_sentence(line, words, tmp_path):
    file = written(tmp_path / "h.edn", [SEND, line])

    with pytest.raises(HistoryError) as refused:
        imported(tmp_path / "results", file)

    assert str(refused.value).startswith(f"{file}: line 2: ")
    assert words in str(refused.value)
    assert not (tmp_path / "results").exists()


def test_a_run_exported_for_jepsen_comes_back_with_its_sends_and_reads(tmp_path):
    golden = ROOT / "tests" / "golden" / "leader-stopped"
    run = Path(shutil.copytree(golden, tmp_path / golden.name))
    file = written(tmp_path / "h.edn", jepsen.export(run, Counter()))

    back = imported(tmp_path / "results", file)

    told = Counter(
        (row["f"], row["type"])
        for table in (back.history / "operations").glob("*.parquet")
        for row in rows(back, table.stem)
    )
    assert 973 == told["send", "ok"]
    assert told["read", "ok"] >= 2 * 973
