"""Two judges side by side: a stand-in for lein says what Jepsen would, all else is real."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import edn_format
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.checkout import ROOT
from scripts.second_judge import findings
from scripts.second_judge.__main__ import main
from scripts.second_judge.comparison import (
    AT_THE_END,
    CUT_OFF,
    DELETED,
    ELSEWHERE,
    READ_BEFORE,
    SHOWN,
    Facts,
    Record,
    differences,
    told,
)
from scripts.second_judge.findings import KINDS, Found, JudgeError, Where
from tests.support import histories
from tests.support.commands import Ran, called
from tests.support.histories import failed, final_read, read, sent
from tests.support.jepsen.histories import read as read_edn
from tests.support.jepsen.histories import wrong

NOTHING = {kind: frozenset[Where]() for kind in KINDS}


def said(**kinds: Iterable[Where]) -> Found:
    """A judge's findings."""
    return {**NOTHING, **{kind: frozenset(where) for kind, where in kinds.items()}}


def compared(
    ours: Found, jepsens: Found, record: Record | None = None, *, start: int = 0, whole: bool = True
) -> list[tuple[str, bool, str | None]]:
    """The differences, where partition 0 holds record 7."""
    facts = Facts(
        records={(0, 7): record or Record(acked_at=5)},
        log_starts={0: start},
        complete=frozenset({0} if whole else ()),
    )
    found = differences(ours, jepsens, facts)
    assert {(0, 7)} >= {each.where for each in found}
    return [(each.kind, each.by_us, each.reason) for each in found]


@pytest.mark.parametrize("kind", KINDS)
def test_judges_that_say_the_same_do_not_differ_and_others_do(kind: str) -> None:
    named = said(**{kind: [(0, 7)]})

    assert [] == compared(named, named)
    assert [(kind, True, None)] == compared(named, NOTHING)
    assert [(kind, False, None)] == compared(NOTHING, named, whole=False)


@pytest.mark.parametrize("kind", ["lost", "unseen"])
def test_jepsen_does_not_miss_what_was_read_before(kind: str) -> None:
    record = Record(acked_at=5, read=True)

    assert [(kind, True, READ_BEFORE)] == compared(said(**{kind: [(0, 7)]}), NOTHING, record)
    assert [(kind, False, None)] == compared(NOTHING, said(**{kind: [(0, 7)]}), record)


def test_what_is_lost_at_the_end_is_unseen_by_jepsen() -> None:
    ours, jepsens = said(lost=[(0, 7)]), said(unseen=[(0, 7)])

    assert [("lost", True, AT_THE_END)] == compared(ours, jepsens)
    assert [("lost", False, None), ("unseen", True, None)] == compared(jepsens, ours)


@pytest.mark.parametrize("kind", ["lost", "unseen"])
@pytest.mark.parametrize(
    ("acked_at", "start", "reason"),
    [(5, 6, DELETED), (5, 5, None), (None, 1, DELETED), (None, 0, None)],
)
def test_jepsen_misses_what_was_deleted(
    kind: str, acked_at: int | None, start: int, reason: str | None
) -> None:
    record, jepsens = Record(acked_at=acked_at), said(**{kind: [(0, 7)]})

    assert [(kind, False, reason)] == compared(NOTHING, jepsens, record, start=start)


@pytest.mark.parametrize(
    ("ends_at", "whole", "reason"),
    [({9}, True, CUT_OFF), (set(), True, CUT_OFF), ({5, 9}, True, None), ({9}, False, None)],
)
def test_jepsen_counts_copies_that_were_cut_off(
    ends_at: set[int], whole: bool, reason: str | None
) -> None:
    record = Record(acked_at=5, ends_at=frozenset(ends_at))

    assert [("duplicate", False, reason)] == compared(
        NOTHING, said(duplicate=[(0, 7)]), record, whole=whole
    )


@pytest.mark.parametrize(("strays", "reason"), [(True, ELSEWHERE), (False, None)])
def test_jepsen_does_not_see_a_copy_in_another_partition(strays: bool, reason: str | None) -> None:
    record = Record(acked_at=5, strays=strays)

    assert [("duplicate", True, reason)] == compared(said(duplicate=[(0, 7)]), NOTHING, record)


def test_many_differences_of_a_kind_are_counted_at_the_end() -> None:
    many = said(lost=[(0, value) for value in range(SHOWN + 3)])
    found = differences(many, NOTHING, Facts(records={}, log_starts={}, complete=frozenset()))

    lines = list(told(many, NOTHING, {"poll-skip": 2}, found))

    assert SHOWN == sum("value" in line for line in lines)
    assert f"lost{SHOWN + 3:>20}{0:>10}{0:>10}" in lines
    assert "Jepsen also names what we do not judge: poll-skip 2" in lines
    assert "lost: 3 more: ours alone: THEY DIFFER" in lines
    assert lines[-1].startswith(f"the judges differ in {SHOWN + 3};")


WRITTEN = """\
{"kind": "lost-write", "key": 0, "value": 3}
{"kind": "duplicate", "key": 0, "value": 4}
{"kind": "G1a", "key": 1, "value": 5}
{"kind": "inconsistent-offsets", "key": 0, "offset": 7}
{"kind": "unseen", "key": 0, "value": 3}
{"kind": "unseen", "key": 0, "value": 9}
{"kind": "poll-skip", "count": 2}
{"operations": 1768}
"""


def test_what_jepsen_calls_lost_it_calls_unseen_as_well(tmp_path: Path) -> None:
    (tmp_path / "findings").write_text(WRITTEN)

    heard = findings.jepsens(tmp_path / "findings")

    assert heard.found == said(
        lost=[(0, 3)], duplicate=[(0, 4)], aborted=[(1, 5)], inconsistent=[(0, 7)], unseen=[(0, 9)]
    )
    assert ({"poll-skip": 2}, 1768) == (heard.others, heard.operations)


@pytest.mark.parametrize(
    "text", ["", WRITTEN[:-20], WRITTEN + "Exception in thread", '{"kind": "lost-write"}', "[1]"]
)
def test_findings_that_are_not_whole_are_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "findings").write_text(text)

    with pytest.raises(JudgeError, match="not whole"):
        findings.jepsens(tmp_path / "findings")


def test_the_script_for_jepsen_can_be_read_and_asks_its_kafka_checker() -> None:
    script = (ROOT / "scripts/second_judge/judge.clj").read_text()

    edn_format.loads_all(script)
    for name in ("history/op ", "history/history ", "kafka/analysis ", *findings.IN_JEPSEN):
        assert name in script


# --- the command

LEIN = """\
import json, os, shutil, sys
(run, m, main, script, history, found) = sys.argv[1:]
assert (run, m, main) == ("run", "-m", "clojure.main"), sys.argv
assert os.path.isfile("project.clj") and os.path.isfile(script)
print("what lein says")
shutil.copy(history, {copy!r})
lines = len(open(history).readlines())
findings = [json.dumps(each) for each in {findings!r}]
open(found, "w").write("\\n".join([*findings, json.dumps({{"operations": lines - {missed}}}), ""]))
sys.exit({code})
"""


class Jepsen:
    """A checkout of Jepsen and a lein that says what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.history = folder / "history.edn"
        self.checkout = folder / "checkout"
        self._bin = folder / "bin"
        self._bin.mkdir(parents=True)
        project = self.checkout / "jepsen"
        (project / "src/jepsen/tests").mkdir(parents=True)
        (project / "src/jepsen/tests/kafka.clj").touch()
        (project / "project.clj").touch()

    def says(self, *rows: dict[str, Any], code: int = 0, missed: int = 0) -> None:
        lein, program = self._bin / "lein", self._bin / "lein.py"
        lein.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(program)])} "$@"\n')
        program.write_text(
            LEIN.format(copy=str(self.history), findings=list(rows), code=code, missed=missed)
        )
        lein.chmod(0o755)

    def asked(self, run: Path | str, checkout: Path | str = "") -> Ran:
        given = [str(run), str(checkout or self.checkout)]
        command = [sys.executable, "-m", "scripts.second_judge", *given]
        environment = {**os.environ, "PATH": str(self._bin)}
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=None)

    def refused(self, run: Path | str, checkout: Path | str = "") -> Ran:
        """Asked within this process, where it never comes to lein."""
        given = [str(run), str(checkout or self.checkout)]
        return called(main=lambda: sys.exit(main(given)), environment={"PATH": str(self._bin)})


@pytest.fixture
def jepsen(tmp_path: Path) -> Jepsen:
    return Jepsen(tmp_path / "it's a folder")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A recorded run, and what a check of it could have found: nothing."""
    golden = ROOT / "tests" / "golden" / "acks-1-leader-killed"
    folder = Path(shutil.copytree(golden, tmp_path / "it's a run"))
    columns = {"value": pa.int64(), "partition": pa.int32(), "offset": pa.int64()}
    nothing = pa.schema({**columns, "outcome": pa.string()}).empty_table()
    for anomaly in ("lost", "unseen", "duplicate", "phantom", "inconsistent-offset"):
        table = folder / "analysis" / f"{anomaly}.parquet"
        table.mkdir(parents=True)
        pq.write_table(nothing, table / "part-00000.parquet")
    ends = [{"partition": 0, "log_start": 0, "complete": True}]
    (folder / "report.json").write_text(json.dumps({"final_read": {"partitions": ends}}))
    return folder


def test_judges_that_agree_are_0_and_jepsen_was_given_the_whole_history(
    jepsen: Jepsen, run: Path
) -> None:
    jepsen.says({"kind": "nonmonotonic-poll", "count": 1})

    heard = jepsen.asked(run)

    assert 0 == heard.code, heard.err
    assert "nonmonotonic-poll 1" in heard.out
    assert heard.out.endswith("the judges differ in 0; in 0 more only their definitions differ\n")
    assert ["1,768 operations for Jepsen, without 450 look-ups", "what lein says"] == (
        heard.err.splitlines()
    )
    assert [] == wrong(read_edn(jepsen.history.read_text().splitlines()))


def test_a_checkout_may_be_given_by_its_project(jepsen: Jepsen, run: Path) -> None:
    jepsen.says()

    assert 0 == jepsen.asked(run, jepsen.checkout / "jepsen").code


def test_judges_that_differ_are_1_and_the_value_is_named(jepsen: Jepsen, run: Path) -> None:
    jepsen.says({"kind": "lost-write", "key": 0, "value": 3})

    heard = jepsen.asked(run)

    assert 1 == heard.code
    assert "lost: partition 0, value 3: Jepsen alone: THEY DIFFER" in heard.out.splitlines()


@histories.with_story(
    sent(1, at=0),
    sent(2, at=1),
    sent(3, at=2),
    failed(4),
    sent(5, at=4),
    read(5, at=4),
    sent(9, at=9),
    final_read({0: 1, 2: 3, 3: 4, 5: 3}),
)
def test_what_the_check_found_stands_beside_what_jepsen_says(
    report: dict[str, Any], run_folder: Path, jepsen: Jepsen
) -> None:
    """2 is lost, 3 twice there, 4 was never to be read; 5 was read before, 9 is at the end."""
    processes = sorted(file.stem for file in (run_folder / "history/operations").iterdir())
    seal = {"run_id": report["run_id"], "processes": processes, "operations": 11, "findings": 0}
    if not (run_folder / "history/sealed.json").exists():
        (run_folder / "history/sealed.json").write_text(json.dumps(seal))
    known = [
        {"kind": "duplicate", "key": 0, "value": 3},
        {"kind": "G1a", "key": 0, "value": 4},
        {"kind": "unseen", "key": 0, "value": 2},
        {"kind": "unseen", "key": 0, "value": 9},
    ]
    lost = {"kind": "lost-write", "key": 0, "value": 2}

    jepsen.says(*known, lost)
    agreed = jepsen.asked(run_folder)
    jepsen.says(*known[:2], known[3])
    differed = jepsen.asked(run_folder)

    assert 0 == agreed.code, agreed.out + agreed.err
    assert [
        "",
        "lost                   3         1         1",
        "unseen                 0         1         0",
        "duplicate              1         1         1",
        "aborted                1         1         1",
        "inconsistent           0         0         0",
        "lost: partition 0, value 2: both",
        "duplicate: partition 0, value 3: both",
        "aborted: partition 0, value 4: both",
        f"lost: partition 0, value 5: ours alone: {READ_BEFORE}",
        f"lost: partition 0, value 9: ours alone: {AT_THE_END}",
        "the judges differ in 0; in 2 more only their definitions differ",
    ] == ["", *agreed.out.splitlines()[1:]]
    assert 1 == differed.code
    assert "lost: partition 0, value 2: ours alone: THEY DIFFER" in differed.out


# --- what keeps a judge from being heard


def sentence(heard: Ran, code: int) -> str:
    """The one sentence about it, the last line, with nothing on stdout."""
    last = heard.err.splitlines()[-1]
    assert (code, "") == (heard.code, heard.out), heard.err
    assert "Traceback" not in heard.err
    assert last.startswith("second-judge: ")
    return last


def test_no_lein_is_one_sentence(jepsen: Jepsen, run: Path) -> None:
    assert "install Leiningen" in sentence(jepsen.refused(run), 254)


def test_no_checkout_is_one_sentence(jepsen: Jepsen, run: Path, tmp_path: Path) -> None:
    jepsen.says()

    assert "no checkout of Jepsen" in sentence(jepsen.refused(run, tmp_path), 254)


def test_no_run_is_one_sentence(jepsen: Jepsen, tmp_path: Path) -> None:
    jepsen.says()

    assert "no run there" in sentence(jepsen.refused(tmp_path), 254)
    assert "RUN=RUN JEPSEN=CHECKOUT" in sentence(jepsen.refused(""), 254)


def test_a_run_that_was_not_checked_is_one_sentence(jepsen: Jepsen, run: Path) -> None:
    jepsen.says()
    (run / "report.json").unlink()

    told = sentence(jepsen.refused(run), 254)
    assert f"not checked yet: `kafka-harness check {shlex.quote(str(run))}`" in told


def test_a_report_that_is_none_is_one_sentence(jepsen: Jepsen, run: Path) -> None:
    jepsen.says()
    (run / "report.json").write_text('{"final_read": []}')

    assert "no report of ours" in sentence(jepsen.refused(run), 254)


def test_evidence_that_is_missing_or_damaged_is_one_sentence(jepsen: Jepsen, run: Path) -> None:
    jepsen.says()
    (run / "analysis/lost.parquet/part-00000.parquet").write_text("it is none")
    damaged = jepsen.refused(run)
    shutil.rmtree(run / "analysis/lost.parquet")

    assert "lost.parquet: cannot be read" in sentence(damaged, 255)
    assert "lost.parquet: not there" in sentence(jepsen.refused(run), 255)


def test_a_lein_that_fails_is_one_sentence_after_its_own_words(jepsen: Jepsen, run: Path) -> None:
    jepsen.says(code=3)
    heard = jepsen.asked(run)

    assert "lein failed" in sentence(heard, 255)
    assert "exit code 3" in sentence(heard, 255)
    assert "what lein says" in heard.err.splitlines()


def test_a_jepsen_that_read_less_than_it_was_given_is_not_believed(
    jepsen: Jepsen, run: Path
) -> None:
    jepsen.says(missed=1)

    assert "Jepsen read 1,767 of 1,768 operations" in sentence(jepsen.asked(run), 255)
