"""A cluster or topic that does not come up: a sentence with the cause and whose settings it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.nodes import ClusterError, NotInTime
from harness.cluster.view.state import PartitionState, View
from harness.model.runs.run_folder import RunFolder
from harness.run import run_context
from harness.run.suspects import explanation
from harness.waiting import WaitTimeout, wait_until
from tests.support.recorded_runs import run_record

SERVER = {"replica.lag.time.max.ms": 400, "num.io.threads": 3, "replica.lag.time": 1}
LOG = """[2026-11-27 12:09:32,785] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)
java.io.IOException: Connection to 10.77.0.23:9092 (id: 3 rack: kafka3) failed.
java.io.IOException: Connection to 10.77.0.23:9092 (id: 3 rack: kafka3) failed.
org.apache.kafka.common.errors.NotCoordinatorException: another one
[2026-11-27 12:09:32,785] WARN [SocketServer] Unexpected error from /10.77.0.1; closing connection
org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = 64 larger than 10)
\tat org.apache.kafka.common.network.NetworkReceive.readFrom(NetworkReceive.java:92)
[2026-11-27 12:09:32,797] WARN [SocketServer] Unexpected error from /10.77.0.1; closing connection
org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = 7 larger than 10)
\tat org.apache.kafka.common.network.NetworkReceive.readFrom(NetworkReceive.java:92)
"""

Told = Callable[..., tuple[str, str]]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """What is told of an error in a phase; `layers` are the brokers' settings'."""
    run = RunFolder(path=tmp_path)
    run.logs.mkdir()
    run.write(run_record())
    scenario = run.read().scenario
    cluster = scenario.cluster.model_copy(update={"server": SERVER})
    run.update(scenario=scenario.model_copy(update={"cluster": cluster}))

    def explain(error: Exception, phase: str = "set-up", **layers: str) -> tuple[str, str]:
        origins = {key.replace("_", "."): origin for key, origin in layers.items()}
        run.update(layers={"server": origins})
        return explanation(error, str(error), phase, run.read(), run.logs)

    return explain


def test_the_settings_that_a_cause_names_stand_beside_it_with_their_origin(told: Told) -> None:
    error = ClusterError("kafka1 did not start: at most replica.lag.time.max.ms", log="a\nb")

    sentence = (
        "kafka1 did not start: at most replica.lag.time.max.ms "
        "(replica.lag.time.max.ms = 400: server.properties, line 14)"
    )
    layers = {"replica_lag_time_max_ms": "server.properties, line 14", "num_io_threads": "--set"}
    assert told(error, **layers) == (sentence, "a\nb")
    assert told(error, "load", **layers) == (sentence, "a\nb")


@pytest.mark.parametrize("error", [NotInTime("waited 30 s"), WaitTimeout("waited 30 s")])
def test_of_a_wait_in_vain_it_is_what_brokers_say_most_often_and_what_somebody_brought(
    told: Told, tmp_path: Path, error: Exception
) -> None:
    (tmp_path / "logs" / "kafka2.log").write_text(LOG)
    (tmp_path / "logs" / "zk1.log").write_text(LOG.replace("10.77", "10.78") * 2)

    sentence, log = told(error, num_io_threads="--set", replica_lag_time="scenario")

    assert sentence == (
        "waited 30 s; kafka2 says: Invalid receive (size = 7 larger than 10) "
        "(num.io.threads = 3: --set)"
    )
    assert [line.split()[0] for line in log.splitlines()] == [
        "[2026-11-27",
        "org.apache.kafka.common.network.InvalidReceiveException:",
        "at",
    ]
    assert told(error, "load", num_io_threads="--set") == ("waited 30 s", "")
    assert told(ClusterError("refused"), num_io_threads="--set") == (
        "refused (num.io.threads = 3: --set)",
        "",
    )


def test_where_no_node_began_or_nobody_brought_anything_nothing_is_suspect(
    told: Told, tmp_path: Path
) -> None:
    assert told(ClusterError("no image"), num_io_threads="--set") == ("no image", "")
    (tmp_path / "logs" / "kafka1.log").touch()
    assert told(NotInTime("waited"), num_io_threads="harness") == ("waited", "")
    many = dict.fromkeys(("num_io_threads", "replica_lag_time", "replica_lag_time_max_ms"), "a.env")
    assert told(NotInTime("waited"), **many)[0].count("a.env") == 3


def test_what_stands_in_brackets_goes_where_a_cause_is_long(told: Told, tmp_path: Path) -> None:
    said = f"Request Request({'x' * 200}, (of a.b)) is not authorized."
    why = f"org.apache.kafka.common.errors.ClusterAuthorizationException: {said}\n"
    (tmp_path / "logs" / "kafka1.log").write_text(why)

    sentence, _ = told(NotInTime("waited"))

    assert sentence == "waited; kafka1 says: Request Request is not authorized"


def test_an_isr_that_does_not_fill_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    full = PartitionState(leader="kafka1", isr=("kafka1", "kafka2"), leader_epoch=0)
    short = PartitionState(leader="kafka1", isr=("kafka1",), leader_epoch=0)
    view = View(partitions=(full, short), controller=None)
    running: Any = SimpleNamespace(
        scenario=SimpleNamespace(topic=SimpleNamespace(replication_factor=2)),
        view=SimpleNamespace(recovered=lambda _: None, look_or_last=lambda: view),
        cluster=None,
        run=SimpleNamespace(
            wait=lambda what, why, limit_s: wait_until(what, timeout_s=limit_s, what=why)
        ),
    )

    with pytest.raises(WaitTimeout) as failed:
        run_context.Running.await_full_isr(cast(run_context.Running, running), 0.0)

    assert str(failed.value) == (
        "waited 0 s for every ISR to be full: the ISR of partition 1 is kafka1, of 2 replicas"
    )
    assert View(partitions=(full,), controller=None).short_of(2) == ""
    alone = PartitionState(leader=None, isr=(), leader_epoch=0)
    assert View(partitions=(alone,), controller=None).short_of(2) == "partition 0 has no leader"


@pytest.mark.parametrize("disk_mib", [0, 150])
def test_a_disk_of_a_size_that_became_full_is_the_cause(tmp_path: Path, disk_mib: int) -> None:
    """One that a fault had filled is none."""
    run = RunFolder(path=tmp_path)
    run.logs.mkdir()
    (run.logs / "kafka2.log").write_text(f"{LOG}java.io.IOException: No space left on device\n")
    (run.logs / "kafka1.log").write_text(LOG)
    scenario = run_record().scenario
    cluster = scenario.cluster.model_copy(update={"disk_mib": disk_mib})
    record = run_record().changed(scenario=scenario.model_copy(update={"cluster": cluster}))
    sentence, _ = explanation(WaitTimeout("waited"), "waited", "heal", record, run.logs)

    full = "waited; the disk of kafka2 became full (cluster.disk_mib = 150)"
    assert sentence == (full if disk_mib else "waited")
