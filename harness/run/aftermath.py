"""After the load: waits until the cluster has recovered, reads every partition, dumps the replicas'
logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from harness.cluster.capabilities import Dumps
from harness.cluster.nodes import ClusterError, brokers
from harness.model.scenario import Scenario
from harness.model.worker_kinds import FINAL_READ
from harness.run import replica_dumps
from harness.run.load.start import Load
from harness.run.load.workers import READY_LIMIT_S
from harness.run.run_context import Running
from harness.waiting import WaitTimeout

RECOVERY_LIMIT_S = 120.0
STABLE_LOOKS = 3
LOOK_EVERY_S = 0.1
TIMEOUT_MS = 60_000  # transaction.timeout.ms, of librdkafka
LOOKED_FOR = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
LOOKED_FOR_MS = 10_000  # of Kafka
SLACK_S = 20.0  # a coordinator reads its log first, and markers are written late


def await_recovery(running: Running) -> None:
    """Wait for a leader and a full ISR everywhere, log ends that no longer move, no open
    transaction.

    Earlier than that the high watermark can lag, and acked records would look lost. A transaction
    that outlives its timeout may never end (KIP-664): then the final read begins, and shows it.
    """
    running.await_full_isr(RECOVERY_LIMIT_S)
    open_limit_s = longest_open_s(running.scenario) or RECOVERY_LIMIT_S
    try:
        what = "log ends to be stable and no transaction open"
        running.run.wait(_stable(running), what, open_limit_s, every_s=LOOK_EVERY_S)
    except WaitTimeout:
        stable = _stable(running, though_open=True)
        running.run.wait(stable, "log ends to be stable", RECOVERY_LIMIT_S, every_s=LOOK_EVERY_S)
        running.run.screen.say("a transaction does not end; reading on without it", style="yellow")


def longest_open_s(scenario: Scenario) -> float:
    """How long a transaction may stay open after the load: twice its timeout, because a coordinator
    counts from the first record, and then until the coordinator looks for it and ends it."""
    producer, server = scenario.workload.producer, scenario.cluster.of_brokers
    if "transactional.id" not in producer:
        return 0.0
    timeout_ms = float(producer.get("transaction.timeout.ms", TIMEOUT_MS))
    looked_for_ms = float(server.get(LOOKED_FOR, LOOKED_FOR_MS))
    return (2 * timeout_ms + looked_for_ms) / 1000 + SLACK_S


def _stable(running: Running, *, though_open: bool = False) -> Callable[[], bool]:
    """A condition that holds once the log ends have not moved for some looks."""
    name, ends = running.scenario.topic.name, list[object]()

    def stable() -> bool:
        ends_now = running.admin.log_ends(name, running.view.partitions, though_open=though_open)
        ends.append(ends_now)
        newest = ends[-STABLE_LOOKS:]
        return len(newest) == STABLE_LOOKS and None not in newest and len(set(newest)) == 1

    return stable


def drain(load: Load) -> None:
    """Wait until the programs have made what they make of the inputs, and read all of it."""
    run, outputs = load.running.run, load.running.scenario.outputs
    assert outputs is not None
    (reader,) = load.workers.beside
    reader.tell("drain")
    run.wait(reader.ended, "the outputs to be drained and read")
    run.folder.update(workers=load.workers.as_records())
    load.raise_if_died()


def final_read(load: Load) -> None:
    """Read every partition from log start to log end with a fresh consumer."""
    running, run = load.running, load.running.run
    reader = load.start(
        FINAL_READ, load.specs.of_final_read(run.deadline.within(), running.view.partitions)
    )
    run.wait(reader.is_ready, "the final read to begin", READY_LIMIT_S)
    reader.go()
    run.wait(reader.ended, "the final read to end")
    run.folder.update(workers=[*load.workers.as_records(), reader.as_record()])
    if reader.process.returncode != 0:
        raise ClusterError(f"the final read ended unexpectedly (exit {reader.process.returncode})")
    if running.keeper is not None:
        running.keeper.at_end()
    if running.scenario.check.replicas:
        replica_dumps.record(
            cast(Dumps, running.cluster),
            brokers(running.cluster.nodes),
            running.view.topic,
            running.view.partitions,
            run.folder.history,
        )
