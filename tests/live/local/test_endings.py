"""However a run ends, its history is kept, its exit code is right, and nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from harness.history.progress_page import Progress
from harness.history.sealing import seal
from harness.waiting import wait_until
from tests.support.commands import COMMAND, TWO_NODES, Ran, below, newest, newest_run
from tests.support.host_pace import bound_s
from tests.support.left_behind import assert_nothing_left

pytestmark = pytest.mark.cluster

LONG = (
    "run",
    "graceful",
    "--seed",
    "7",
    "--set",
    "workload.duration_s=60",
    "--set",
    "faults.0.at_s=50",
    "--set",
    "faults.0.times=1",
    *TWO_NODES,
)


def begin(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A run in mid-load."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--results", str(tmp_path)],
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_until(
        lambda: acked(tmp_path) > 100, timeout_s=bound_s(90), what="the load to be acknowledged"
    )
    return process


def acked(tmp_path: Path) -> int:
    folder = newest(tmp_path)
    pages = list((folder / "history").glob("producer-*.progress")) if folder else []
    return Progress(pages[0]).acked if pages and pages[0].stat().st_size else 0


def ours(root: int, mark: str) -> psutil.Process:
    """The innermost process below `root` whose command line has `mark`: unshare's has that of the
    harness within."""
    found = below(root, mark)
    assert found, f"no {mark} below {root}"
    return found[-1]


def operations(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(run / "history" / "operations").to_pylist()
    return rows


def everything_below(root: int) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(root).children(recursive=True)
    return found


@pytest.mark.usefixtures("spark")
def test_an_interrupted_run_heals_keeps_its_history_and_says_by_what(tmp_path):
    """`up` is ended by TERM: test_commands.py."""
    process = begin(tmp_path, *LONG)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=bound_s(60))

    assert process.returncode == 130, out
    run = newest_run(tmp_path)
    assert '"state": "incomplete"' in (run / "run.json").read_text()
    assert "SIGINT" in (run / "run.json").read_text()
    report = Ran(code=130, out=out, err="", folder=run).report
    assert report["exit_code"] == 2
    assert report["counts"]["acked"] > 100


@pytest.mark.parametrize("victim", ["command", "unshare", "workloads.producer"])
def test_the_death_of_any_process_of_ours_takes_the_rest_along_and_leaves_the_history(
    tmp_path, victim
):
    process = begin(tmp_path, *LONG, "--no-check")
    below = everything_below(process.pid)
    pid = process.pid if victim == "command" else ours(process.pid, victim).pid
    os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=bound_s(120))

    _, alive = psutil.wait_procs(below, timeout=bound_s(30))
    assert_nothing_left(alive)
    assert process.returncode == (-signal.SIGKILL if victim == "command" else 255), out
    run = newest_run(tmp_path)
    seal(run)
    sends = [row for row in operations(run) if row["f"] == "send"]
    assert sum(row["type"] == "ok" for row in sends) > 100
    assert all(row["end_ns"] is not None for row in sends if row["type"] != "info")
    state = json.loads((run / "run.json").read_text())["state"]
    assert state == ("running" if victim == "command" else "incomplete")


def test_a_run_whose_harness_was_killed_is_checked_like_any_other_and_is_unknown(tmp_path, harness):
    process = begin(tmp_path, *LONG)
    below = everything_below(process.pid)
    os.kill(ours(process.pid, "harness.run").pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=bound_s(120))

    _, alive = psutil.wait_procs(below, timeout=bound_s(30))
    assert_nothing_left(alive)
    assert process.returncode == 255, out
    assert "UNKNOWN" in out
    assert "Traceback" not in out
    assert json.loads((newest_run(tmp_path) / "report.json").read_text())["counts"]["acked"] > 100


def test_a_node_that_does_not_come_up_is_named_with_its_last_words(harness):
    without = "cluster.server.listener.security.protocol.map=OTHER:PLAINTEXT"  # the brokers' own
    run = harness("run", "baseline", *TWO_NODES, "--set", without)

    assert run.code == 255
    why = (
        "kafka1 did not start: No security protocol defined for listener PLAINTEXT "
        "(listener.security.protocol.map = OTHER:PLAINTEXT: --set)"
    )
    assert f"set-up: {why}\n" in run.out
    assert "\tat " not in run.out
    assert "Traceback" not in run.out + run.err
    failure = json.loads((run.folder / "run.json").read_text())["failure"]
    assert (failure["error"], "at kafka.Kafka" in failure["log"]) == (why, True)


def test_a_topic_that_kafka_refuses_is_said_in_its_words(harness):
    least, most = "topic.config.min.compaction.lag.ms=9", "topic.config.max.compaction.lag.ms=5"
    run = harness("run", "baseline", *TWO_NODES, "--set", least, "--set", most)

    assert run.code == 255
    assert "topic harness was refused" in run.out
    assert "Traceback" not in run.out + run.err


@pytest.mark.parametrize("limit_s", [1, 5])
def test_past_its_time_limit_a_run_says_so_whatever_it_waited_for(harness, limit_s):
    """While its nodes come up as well as in mid-load: which of the two it is, is the host's."""
    run = harness(*LONG, "--no-check", "--time-limit", str(limit_s))

    assert run.code == 255
    assert f"the time limit of {limit_s} s was exceeded: " in run.out
    assert "Traceback" not in run.out + run.err
