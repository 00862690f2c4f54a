"""Evidence is kept from when the cluster is up until it is closed, and written down after that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from harness.cluster.backends import BACKENDS
from harness.cluster.capabilities import Cluster
from harness.history.recorder import Lines
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario
from harness.model.worker_kinds import has_group
from harness.run.evidence.broker_words import RunClock
from harness.run.evidence.internal_topics import OFFSETS, TRANSACTIONS
from harness.run.evidence.keeper import Keeper


def keeper_of(
    folder: RunFolder,
    scenario: Scenario,
    cluster: Cluster,
    tell: Callable[[str], None],
    closed: ExitStack,
) -> Keeper | None:
    """Who keeps the evidence of a run, where it is to be kept; `closed` is left once the cluster
    is closed, and its brokers' logs are all there."""
    if not scenario.check.evidence:
        return None
    keeper = Keeper(
        cluster=cluster,
        topic=scenario.topic.name,
        internal=_internal(scenario),
        write=Lines(folder.history / "kept.jsonl").write,
        tell=tell,
    )
    closed.callback(partial(keeper.finish, folder.logs, clock_of(folder.read())))
    return keeper


def _internal(scenario: Scenario) -> tuple[str, ...]:
    transactional = "transactional.id" in scenario.workload.producer
    offsets = (OFFSETS,) if has_group(scenario.workload) else ()
    return (*offsets, TRANSACTIONS) if transactional else offsets


def clock_of(record: RunRecord) -> RunClock:
    """The run's clock. Brokers here write the time of this host's zone, those in containers UTC."""
    assert record.clock is not None, "it is on record before anything starts"
    return RunClock(
        monotonic_ns=record.clock.monotonic_ns,
        utc=datetime.fromisoformat(record.clock.utc),
        zone=None if BACKENDS[record.backend].enclosed else UTC,
    )
