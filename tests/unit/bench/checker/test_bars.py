"""Bars as data: met, missed, or not run; and what a tree of processes costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from bench.checker.bars import BARS, GIB, Bar, missed
from bench.checker.measure import cpu_s, pss_bytes, whole

BAR = Bar(name="ours", left=("ours",), right=("theirs",), factor=1.5)
BURN = "import time\nwhile time.process_time() < 0.5: pass"


def test_a_bar_is_met_missed_or_not_run():
    assert BAR.line({"ours": 3.0, "theirs": 2.0}).startswith("met")
    assert BAR.line({"ours": 3.1, "theirs": 2.0}).startswith("MISSED   ours: 1.55")
    assert BAR.line({"ours": 3.1}).startswith("not run")


def test_what_was_not_run_is_not_missed():
    assert missed([BAR], {"ours": 9.0}) == []
    assert missed([BAR], {"ours": 9.0, "theirs": 1.0}) == [BAR]


def test_growth_is_compared_with_growth():
    bar = Bar(name="growth", left=("a100", "b10"), right=("a10", "b100"), factor=1)

    assert bar.ratio({"a100": 20, "a10": 2, "b100": 12, "b10": 1}) == pytest.approx(10 / 12)


def test_every_bar_of_a_name_is_one():
    assert len({bar.name for bar in BARS}) == len(BARS)


def test_the_processes_below_count(tmp_path):
    burning = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])"

    assert whole([sys.executable, "-c", burning]).cpu_s > 0.5


def test_a_process_that_outlives_its_program_counts_in_cpu_and_not_in_wall():
    leaving = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BURN!r}])"
    cost = whole([sys.executable, "-c", leaving])

    assert cost.cpu_s > 0.5


def test_a_tree_of_processes_is_measured_while_it_lives():
    with subprocess.Popen(
        [sys.executable, "-c", f"{BURN}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        assert cpu_s(process.pid) >= 0.4
        assert 10**6 < pss_bytes(process.pid) < GIB
        process.communicate(b"\n")
    assert cpu_s(os.getpid()) > 0
