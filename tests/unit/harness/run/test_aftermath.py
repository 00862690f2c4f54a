"""After the load: what is waited for before the final read, and what its end is worth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from harness.cluster.nodes import ClusterError
from harness.cluster.view import last_known
from harness.cluster.view.state import Blind, PartitionState, View
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import Scenario, TopicPart, WorkloadPart
from harness.run import aftermath, phases
from harness.run.aftermath import LOOKED_FOR, await_recovery, final_read, longest_open_s
from harness.run.load.start import Load
from harness.run.load.worker_specs import Specs
from harness.run.load.workers import Workers
from harness.run.progress import Screen
from harness.run.run_context import Run, Running
from harness.waiting import WaitTimeout
from tests.support.labs.small_cluster import Small
from tests.support.recorded_runs import run_record

SCENARIO = Scenario(
    title="told",
    topic=TopicPart(partitions=2, replication_factor=3),
    workload=WorkloadPart(kind="write-read"),
)
BROKERS = ("kafka1", "kafka2", "kafka3")
FULL = PartitionState(leader="kafka1", isr=BROKERS, leader_epoch=1)
SHORT = PartitionState(leader="kafka1", isr=BROKERS[:2], leader_epoch=1)
LEADERLESS = PartitionState(leader=None, isr=BROKERS, leader_epoch=1)


class Looks:
    """A cluster that is seen as told, look by look; the last look holds from then on."""

    partitions = SCENARIO.topic.partitions

    def __init__(self, *looks: tuple[tuple[PartitionState, ...], Sequence[str]] | None) -> None:
        self.looks, self.number = looks, 0

    def look(self) -> View:
        self.number += 1
        if self._now is None:
            raise Blind("nobody answers")
        return View(partitions=self._now[0], controller="kafka1")

    def live_brokers(self) -> Sequence[str]:
        assert self._now is not None
        return self._now[1]

    def recovered(self, replicas: int) -> str | None:
        return last_known.recovered(cast(Any, self), BROKERS, replicas, "there")

    @property
    def _now(self) -> tuple[tuple[PartitionState, ...], Sequence[str]] | None:
        return self.looks[min(self.number, len(self.looks)) - 1]


class LogEnds:
    """Log ends as told, look by look, and how often the cluster had been looked at before."""

    def __init__(self, view: Looks, *ends: tuple[int, ...] | None) -> None:
        self.view, self.ends, self.left = view, ends, list(ends)
        self.looks_before: int | None = None
        self.hangs = False  # a transaction stays open
        self.though_open: list[bool] = []

    def log_ends(
        self, topic: str, partitions: int, *, though_open: bool = False
    ) -> tuple[int, ...] | None:
        assert (topic, partitions) == (SCENARIO.topic.name, 2)
        self.though_open.append(though_open)
        if self.hangs:
            return self.ends[-1] if though_open else None
        if self.looks_before is None:
            self.looks_before = self.view.number
        return self.left.pop(0)


def running(folder: Path, *, cluster: Any = None, view: Any = None, admin: Any = None) -> Running:
    RunFolder(path=folder).write(run_record(time_limit_s=60))
    return Running(
        run=Run.begin(RunFolder(path=folder), Screen(Console(quiet=True))),
        scenario=SCENARIO,
        cluster=cluster,
        view=view,
        admin=admin,
    )


# --- recovery


@pytest.mark.parametrize(
    "lacking",
    [
        ((FULL, SHORT), BROKERS),
        ((SHORT, FULL), BROKERS),
        ((FULL, LEADERLESS), BROKERS),
        ((FULL, FULL), BROKERS[:2]),
        None,
    ],
    ids=["an ISR", "another ISR", "a leader", "a broker", "an answer"],
)
def test_log_ends_are_asked_for_once_every_leader_replica_and_broker_is_there(
    tmp_path: Path, lacking: Any
) -> None:
    view = Looks(lacking, lacking, ((FULL, FULL), BROKERS))
    admin = LogEnds(view, *[(5, 7)] * 3)
    await_recovery(running(tmp_path, view=view, admin=admin))

    assert 3 == admin.looks_before


def test_a_cluster_whose_brokers_have_all_ended_is_not_waited_for(tmp_path: Path) -> None:
    cluster = Small()
    cluster.pids |= dict.fromkeys(BROKERS)
    with pytest.raises(ClusterError, match="every broker has ended by itself"):
        await_recovery(running(tmp_path, cluster=cluster, view=Looks(((LEADERLESS, FULL), ()))))


@pytest.mark.parametrize(
    "ends",
    [
        [(5, 7), (5, 7), (5, 7)],
        [(5, 6), (5, 7), (5, 7), (5, 7)],
        [(5, 7), (5, 7), None, (5, 7), (5, 7), (5, 7)],
        [None, None, None, (5, 7), (5, 7), (5, 7)],
    ],
)
def test_log_ends_have_to_be_told_and_stay_for_three_looks(
    tmp_path: Path, ends: list[tuple[int, ...] | None]
) -> None:
    """None: a broker cannot tell, or a transaction is open."""
    view = Looks(((FULL, FULL), BROKERS))
    admin = LogEnds(view, *ends)
    await_recovery(running(tmp_path, view=view, admin=admin))

    assert [] == admin.left


def test_a_transaction_that_does_not_end_keeps_nobody_from_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must have timed out by its settings, and no more is waited for."""
    monkeypatch.setattr(aftermath, "longest_open_s", lambda _: 0.5)
    view = Looks(((FULL, FULL), BROKERS))
    admin = LogEnds(view, (5, 7))
    admin.hangs = True
    await_recovery(running(tmp_path, view=view, admin=admin))

    assert [False, True, True, True] == admin.though_open[-4:]


def test_log_ends_that_move_do_though_a_transaction_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aftermath, "RECOVERY_LIMIT_S", 0.3)
    view = Looks(((FULL, FULL), BROKERS))
    admin = LogEnds(view, *((5, end) for end in range(1000)))

    with pytest.raises(WaitTimeout, match=r"log ends to be stable$"):
        await_recovery(running(tmp_path, view=view, admin=admin))


@pytest.mark.parametrize(
    ("producer", "server", "seconds"),
    [
        ({}, {}, 0),
        ({"transactional.id": "t"}, {}, 150),
        ({"transactional.id": "t", "transaction.timeout.ms": 3000}, {LOOKED_FOR: 500}, 26.5),
    ],
)
def test_a_transaction_may_be_open_for_twice_its_timeout_and_until_it_is_looked_for(
    producer: dict[str, Any], server: dict[str, Any], seconds: float
) -> None:
    work = SCENARIO.workload.model_copy(update={"producer": producer})
    cluster = SCENARIO.cluster.model_copy(update={"server": server})

    told = SCENARIO.model_copy(update={"workload": work, "cluster": cluster})
    assert longest_open_s(told) == seconds


# --- the final read


READ_NOTHING = """
import sys
print('{"event": "ready"}', flush=True)
sys.stdin.readline()
sys.exit(int(sys.argv[1]))
"""


class Reading:
    """A cluster whose final read is a process that reads nothing and ends with a code of choice."""

    def __init__(self, code: int) -> None:
        self.nodes = ()
        self._code = code

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        assert "workloads.final_read" in argv
        return subprocess.Popen(
            [sys.executable, "-c", READ_NOTHING, str(self._code)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )


def load(folder: Path, code: int, closing: ExitStack) -> Load:
    context = running(folder, cluster=Reading(code), view=Looks())
    run_folder = context.run.folder
    for each in (run_folder.history, run_folder.logs):
        each.mkdir(exist_ok=True)
    specs = Specs(scenario=SCENARIO, seed=1, folder=run_folder, nodes=(), leader=None)
    return Load(running=context, workers=Workers(), specs=specs, killing=closing)


@pytest.mark.parametrize("code", [1, 70, 64])
def test_a_final_read_that_ends_with_an_error_is_a_failure_of_the_run(
    tmp_path: Path, code: int
) -> None:
    with (
        ExitStack() as closing,
        pytest.raises(ClusterError, match=rf"final read .*exit {code}\b"),
    ):
        final_read(load(tmp_path, code, closing))

    (reader,) = RunFolder(path=tmp_path).read().workers
    assert ("final-read-0", code) == (reader.process, reader.exit)


def test_a_final_read_that_ends_in_order_is_none(tmp_path: Path) -> None:
    with ExitStack() as closing:
        final_read(load(tmp_path, 0, closing))

    (reader,) = RunFolder(path=tmp_path).read().workers
    assert ("final-read-0", 0) == (reader.process, reader.exit)


# --- their order


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a run's story, as they are taken; none of them does anything."""
    taken: list[str] = []
    names = ("set_up", "start_workers", "warm_up", "conduct", "await_recovery", "final_read")
    for name in names:
        monkeypatch.setattr(phases, name, lambda *_, name=name: taken.append(name))
    return taken


def tell(folder: Path) -> None:
    RunFolder(path=folder).write(run_record(time_limit_s=60))
    run = Run.begin(RunFolder(path=folder), Screen(Console(quiet=True)))
    with ExitStack() as closing:
        phases.story(run, lambda *_: nullcontext(), closing)


def test_the_final_read_begins_when_the_cluster_has_recovered(
    tmp_path: Path, steps: list[str]
) -> None:
    tell(tmp_path)

    assert ["conduct", "await_recovery", "final_read"] == steps[-3:]


def test_where_the_cluster_does_not_recover_nothing_is_read(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Running) -> None:
        raise WaitTimeout("waited 120 s for every ISR to be full")

    monkeypatch.setattr(phases, "await_recovery", never)

    with pytest.raises(WaitTimeout, match="ISR"):
        tell(tmp_path)
    assert "conduct" == steps[-1]
