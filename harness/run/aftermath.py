"""After the load: the cluster recovers, every partition is read, the replicas' logs are dumped."""

from __future__ import annotations

from typing import cast

from harness.cluster.capabilities import Dumps
from harness.cluster.nodes import ClusterError, brokers
from harness.model.worker_kinds import FINAL_READ
from harness.run import replica_dumps
from harness.run.load.start import Load
from harness.run.load.workers import READY_LIMIT_S
from harness.run.run_context import Running

RECOVERY_LIMIT_S = 120.0
STABLE_LOOKS = 3
LOOK_EVERY_S = 0.1


def await_recovery(running: Running) -> None:
    """A leader and a full ISR everywhere, log ends that no longer move, no open transaction.

    Earlier the high watermark can lag, and acked records would look lost that are not.
    """
    running.await_full_isr(RECOVERY_LIMIT_S)
    topic, ends = running.scenario.topic, list[object]()

    def stable() -> bool:
        ends.append(running.admin.log_ends(topic.name, topic.partitions))
        newest = ends[-STABLE_LOOKS:]
        return len(newest) == STABLE_LOOKS and None not in newest and len(set(newest)) == 1

    what = "log ends to be stable and no transaction open"
    running.run.wait(stable, what, RECOVERY_LIMIT_S, every_s=LOOK_EVERY_S)


def final_read(load: Load) -> None:
    """Read every partition from log start to log end by a fresh consumer."""
    running, run = load.running, load.running.run
    reader = load.start(FINAL_READ, load.specs.of_final_read(run.deadline.within()))
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
