"""The order in which a load's parts close: faults are healed first, then every worker is ended,
successors included."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from harness.cluster.nodes import ClusterError, Node
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import Scenario, WorkloadPart
from harness.run.load import load_phase, start
from harness.run.load.start import Load, start_workers
from harness.run.load.workers import Workers
from harness.run.progress import Screen
from harness.run.run_context import Run, Running
from tests.support.recorded_runs import run_record

SCENARIO = Scenario(title="told", workload=WorkloadPart(kind="stream", producers=1, consumers=1))


class Events(list[str]):
    """What happened, in order."""


class FakeWorker:
    """A worker without a process."""

    def __init__(self, events: Events, kind: Any, spec: Any) -> None:
        self.events, self.kind, self.spec = events, kind, spec
        self.name = self.first = spec["process"]

    def kill(self) -> None:
        self.events.append(f"kill {self.name}")


class FakeCluster:
    """Two addresses."""

    client_address = "10.0.0.9"
    nodes = (Node(name="kafka1", role="broker", id=1, address="10.0.0.2", port=9092),)


class FakeView:
    """A cluster whose leader is kafka1."""

    def look_or_last(self) -> Any:
        partition = type("Partition", (), {"leader": "kafka1"})
        return type("View", (), {"partitions": (partition,)})


class FakeConductor:
    """A plan that fails as soon as it begins."""

    def __init__(self, events: Events, load: Load) -> None:
        self.events, self.load = events, load

    def start(self, _: int) -> None:
        first = self.load.workers.ever[0]
        self.load.succeed(first, {"process": "producer-0-2", "first": "producer-0"})
        raise ClusterError("the cluster is gone")

    def stop(self) -> None:
        self.events.append("heal")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    told = Events()

    def spawn(_: Any, *, kind: Any, spec: Any, folder: Path) -> FakeWorker:
        return FakeWorker(told, kind, spec)

    monkeypatch.setattr(start, "spawn", spawn)
    monkeypatch.setattr(Workers, "hold_after", lambda *_: None)
    monkeypatch.setattr(Workers, "await_ready", lambda _: told.append("ready"))
    monkeypatch.setattr(Workers, "end", lambda *_: told.append("end all"))
    monkeypatch.setattr(load_phase, "_conductor", lambda load: FakeConductor(told, load))
    return told


def running(folder: Path) -> Running:
    RunFolder(path=folder).write(run_record(time_limit_s=60))
    return Running(
        run=Run.begin(RunFolder(path=folder), Screen(Console(quiet=True))),
        scenario=SCENARIO,
        cluster=cast(Any, FakeCluster()),
        view=cast(Any, FakeView()),
        admin=cast(Any, None),
    )


def test_faults_are_healed_before_workers_end_and_these_before_the_cluster(
    events: Events, tmp_path: Path
) -> None:
    closing = ExitStack()
    closing.callback(events.append, "close the cluster")
    load = start_workers(running(tmp_path), closing)
    with pytest.raises(ClusterError, match="gone"), closing:
        load_phase.conduct(load, closing)

    assert [
        "ready",
        "heal",
        "end all",
        "kill producer-0-2",
        "kill consumer-0",
        "kill producer-0",
        "close the cluster",
    ] == events


def test_a_worker_that_is_never_ready_leaves_none_behind(
    events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_: Any) -> None:
        raise ClusterError("worker consumer-0 died before it began")

    monkeypatch.setattr(Workers, "await_ready", dies)

    with pytest.raises(ClusterError, match="died"), ExitStack() as closing:
        start_workers(running(tmp_path), closing)

    assert ["end all", "kill consumer-0", "kill producer-0"] == events
