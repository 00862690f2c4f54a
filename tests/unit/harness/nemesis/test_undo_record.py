"""The undo record: what was begun and not undone is known, however the harness ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.host.namespaces import living
from harness.model.runs.run_folder import StoreError
from harness.nemesis.undo_record import UNDO, Undo, outstanding
from harness.waiting import wait_until


def test_what_was_begun_and_not_undone_is_outstanding_newest_first(tmp_path: Path) -> None:
    undo = Undo(tmp_path)
    for fault in range(3):
        undo.begun(fault, "cut", "mend", ["kafka1"], {"how": "drop"})
    undo.undone(1)

    assert [2, 0] == [line["fault"] for line in outstanding(tmp_path)]
    assert {"verb": "cut", "undo": "mend", "nodes": ["kafka1"]}.items() <= outstanding(tmp_path)[
        0
    ].items()


def test_a_line_cut_off_in_the_middle_was_never_acted_upon(tmp_path: Path) -> None:
    undo = Undo(tmp_path)
    undo.begun(0, "cut", "mend", ["kafka1"], {})
    whole = (tmp_path / UNDO).read_text()
    for length in range(len(whole)):
        (tmp_path / UNDO).write_text(whole[:length])
        assert [] == outstanding(tmp_path)


def test_a_run_without_faults_has_nothing_outstanding(tmp_path: Path) -> None:
    assert [] == outstanding(tmp_path)


def test_the_process_that_carries_a_run_out_is_found_by_its_folder(tmp_path: Path) -> None:
    program = "import time; time.sleep(60)"
    folder = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", program, str(folder)]) as other:
        assert [] == living(folder)
        other.kill()
    script = tmp_path / "harness"
    script.mkdir()
    (script / "__init__.py").write_text("")
    (script / "run.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, "-P", "-m", "harness.run", str(folder)]
    with subprocess.Popen(argv, env=environment, cwd=tmp_path) as process:
        # The kernel shows a new program's arguments a moment after it has begun.
        wait_until(lambda: living(folder), timeout_s=10, what="the harness to be seen")
        assert [process.pid] == living(folder)
        process.kill()
        process.wait()
        assert [] == living(folder)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"[]\n", "line 1"),
        (b"nonsense\n", "line 1"),
        (b"\xff\n", "cannot be read"),
        (b'{"event": "begun", "fault": 1}\n', "begun.verb is missing"),
        (b'{"event": "undone", "fault": "x"}\n', "undone.fault"),
        (b'{"event": "undone", "fault": 1e999}\n', "fault is not a finite number"),
        (b'{"event": "begun"' + b"[" * 100_000 + b"\n", "line 1"),
    ],
)
def test_a_line_that_nobody_wrote_is_one_sentence(tmp_path: Path, line: bytes, told: str) -> None:
    (tmp_path / UNDO).write_bytes(line)

    with pytest.raises(StoreError, match=re.escape(told)) as refused:
        outstanding(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / UNDO))
    assert "\n" not in str(refused.value)


def test_a_folder_in_the_record_s_place_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / UNDO).mkdir()

    with pytest.raises(StoreError, match="cannot be read"):
        outstanding(tmp_path)
