"""The workers as processes, against librdkafka's mock cluster: how they begin, end and refuse."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.waiting import wait_until
from tests.support.mock_kafka import MockKafka
from tests.support.worker_processes import LONG_S, Starter

NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_sigterm_before_go_ends_a_worker_in_order(
    start: Starter, kafka: MockKafka, module: str
) -> None:
    """It is ready, it never began, and says so."""
    worker = start(module, kafka.bootstrap)
    assert worker.said() == {"event": "ready"}

    assert "stopped" == worker.stop()
    (begun,) = worker.events("start")
    assert module.replace("_", "-") == begun["role"]
    assert kafka.bootstrap == begun["config"]["bootstrap.servers"]


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_what_comes_by_the_pipe_is_used_and_written_nowhere(
    start: Starter, kafka: MockKafka, module: str
) -> None:
    """The address itself is private here: without it nobody would be ready."""
    nobody = {"bootstrap.servers": NOBODY}
    worker = start(module, NOBODY, private=True, config=nobody, consumer_config=nobody)
    worker.say(json.dumps({"bootstrap.servers": kafka.bootstrap}))
    assert worker.said() == {"event": "ready"}

    assert "stopped" == worker.stop()
    (begun,) = worker.events("start")
    assert NOBODY == begun["config"]["bootstrap.servers"]
    written = b"".join(file.read_bytes() for file in worker.run.rglob("*") if file.is_file())
    assert kafka.bootstrap.encode() not in written


def test_the_end_of_stdin_before_go_ends_a_worker(start: Starter, kafka: MockKafka) -> None:
    """The harness died: nobody will ever say go."""
    worker = start("producer", kafka.bootstrap)
    assert worker.said() == {"event": "ready"}
    worker.hang_up()

    assert "stopped" == worker.reason()
    assert [] == worker.operations("send")


def test_sigint_is_the_harness_s_business(start: Starter, kafka: MockKafka) -> None:
    """Ctrl-C reaches every process of a terminal; workers go on until they are told."""
    worker = start("producer", kafka.bootstrap, rate=500)
    worker.go()
    worker.acked(10)
    worker.process.send_signal(signal.SIGINT)
    worker.acked(worker.progress.acked + 100)

    assert "stopped" == worker.stop()


def test_a_worker_ends_by_itself_at_its_limit(start: Starter, kafka: MockKafka) -> None:
    """Whatever the harness does."""
    worker = start("producer", kafka.bootstrap, rate=100, limit_s=5)
    worker.go()

    assert "time-limit" == worker.reason()


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_an_unreachable_broker_ends_a_worker_in_words(start: Starter, module: str) -> None:
    """Bounded in time, one line of its own on stderr, the same in the history, and an end."""
    worker = start(module, NOBODY, limit_s=1)

    err = worker.ended(70)
    (told,) = (line for line in err.splitlines() if line.startswith(f"{worker.name}: "))
    assert told.startswith(f"{worker.name}: {NOBODY}: not ready for topic "), err
    assert "Traceback" not in err
    assert ["fatal"] == [event["reason"] for event in worker.events("end")]
    assert "WorkerError" in [event["name"] for event in worker.events("client-error")]
    assert "_TRANSPORT" in [event["name"] for event in worker.events("client-error")]


def test_sigterm_while_connecting_ends_a_worker_in_order(start: Starter) -> None:
    """It need not wait for a broker that never answers."""
    worker = start("write_read", NOBODY)
    wait_until(
        lambda: (
            worker.progress.state == 0
            and worker.run.joinpath(f"history/{worker.name}.jsonl").exists()
        ),
        timeout_s=LONG_S,
        what="its start",
    )

    wait_until(lambda: worker.events("client-error"), timeout_s=LONG_S, what="a refused connection")
    assert "stopped" == worker.stop()


def test_an_impossible_configuration_is_told(start: Starter, kafka: MockKafka) -> None:
    """librdkafka refuses the key: no traceback on stderr, the history has the words."""
    worker = start("producer", kafka.bootstrap, config={"no.such.key": "1"})

    err = worker.ended(70)
    assert "no.such.key" in err
    assert "Traceback" not in err
    assert "no.such.key" in worker.events("client-error")[0]["text"]


def test_a_spec_that_is_no_good_is_refused(tmp_path: Path) -> None:
    """Exit 64 and one sentence."""
    (tmp_path / "SPEC.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "workloads.consumer", str(tmp_path / "SPEC.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (64, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "run_id is missing" in done.stderr


def test_a_name_that_is_taken_is_refused(start: Starter, kafka: MockKafka) -> None:
    """A second worker of the same name would write over the first one's history."""
    taken = start("producer", kafka.bootstrap)
    assert taken.said() == {"event": "ready"}
    second = subprocess.run(
        taken.process.args, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert 70 == second.returncode
    assert "cannot record" in second.stderr
    assert "stopped" == taken.stop()
