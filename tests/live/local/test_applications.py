"""An application beside a real cluster, under fault: judged by its outputs; and suites that order
faults of their own inside of `up`, which leave nothing behind however they end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkout import DOCS
from harness.host.contained import descendants
from harness.waiting import wait_until
from tests.support.commands import COMMAND, ran, with_command
from tests.support.host_pace import bound_s
from tests.support.left_behind import assert_nothing_left

pytestmark = pytest.mark.cluster

PAYMENTS = "docs/examples/payments.toml"
SHORT = ("--set", "workload.duration_s=8", "--set", "faults.0.times=1")
SOON = ("--set", "cluster.session_ms=2000")
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SUITE = """
import os
import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer
from conftest import fault, held


def application():
    files = Path("/proc").glob("[0-9]*/cmdline")
    word = b"docs/examples/payments.py"
    found = [file for file in files if word in file.read_bytes().split(b"\\0")]
    return sorted(int(f.parent.name) for f in found)


def test_the_leader_dies_and_we_go_on(brokers, topic):
    producer, refused = Producer({"bootstrap.servers": brokers}), []
    producer.produce(topic, '{"order_id": 1}', on_delivery=lambda e, _: refused.append(e))
    words = fault("kill", "leader", "--until", "leader-moved")
    assert "was in force, and is healed" in words
    producer.flush(30)
    assert refused == [None]


def test_one_that_is_held_and_the_program_beside_it(tmp_path):
    with held("pause", "follower"):
        assert "is healed" in fault("kill", "payments-0")


@pytest.mark.parametrize("words", [("kill", "nobody"), ("lose-power", "leader"), ("--heal", "99")])
def test_bad_words(words):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        fault(*words)
    assert refused.value.returncode == 254


def test_the_suite_is_killed_in_mid_fault():
    fault("pause", "follower", "--hold")
    for process in application():
        os.kill(process, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""
HOLD = "kafka-harness fault cut leader --option from=followers --hold; touch {file}; sleep 1000"


def test_payments_in_transactions_are_made_once_each(tmp_path: Path) -> None:
    argv = [*COMMAND, "run", PAYMENTS, *SHORT, "--seed", "1", "--results", str(tmp_path)]

    done = ran(argv, tmp_path, limit_s=150)

    assert done.code == 0, done.out + done.err
    report = done.report
    assert report["outputs"]["complete"]
    assert report["outputs"]["outputs"] >= report["counts"]["acked"]
    assert [each["process"] for each in report["programs"]] == ["payments-0", "payments-0-2"]
    assert not any(each["unordered"] for each in report["programs"])
    assert report["faults"][0]["nodes"] == ["payments-0"]


def test_a_suite_inside_of_up_orders_faults_and_all_is_healed_when_it_is_killed(
    tmp_path: Path,
) -> None:
    conftest, _ = BLOCK.findall((DOCS / "suites.md").read_text())
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_suite.py").write_text(SUITE)
    suite = (sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(tmp_path))

    done = subprocess.run(
        [*COMMAND, "up", PAYMENTS, *SOON, "--", *suite],
        capture_output=True,
        text=True,
        timeout=bound_s(200),
        check=False,
        stdin=subprocess.DEVNULL,
        env=with_command(tmp_path / "bin"),
    )

    assert done.returncode == 128 + signal.SIGKILL, done.stdout + done.stderr
    assert done.stdout.count("PASSED [") == 5, done.stdout + done.stderr
    assert "resume kafka" in done.stdout.rpartition("test_the_suite_is_killed")[2]
    assert "not healed" not in done.stdout + done.stderr


def test_nothing_is_left_when_up_is_killed_in_mid_fault(tmp_path: Path) -> None:
    held = tmp_path / "held"
    with (tmp_path / "said").open("w") as said:
        up = subprocess.Popen(
            [*COMMAND, "up", PAYMENTS, "--", "sh", "-c", HOLD.format(file=held)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=with_command(tmp_path / "bin"),
        )
    wait_until(held.exists, timeout_s=bound_s(120), what="the fault")
    left = descendants(up.pid)
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left}
    assert any(b"payments.py" in command for command in commands.values())

    up.kill()
    up.wait()

    gone = lambda: not any(Path(f"/proc/{pid}").exists() for pid in left)  # noqa: E731
    wait_until(gone, timeout_s=bound_s(20), what="all processes to be gone")
    assert_nothing_left(pid for pid in left if Path(f"/proc/{pid}").exists())
