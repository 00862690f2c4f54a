"""Replicas that were to be compared and were not dumped: what they hold is not known.

    3 replicas    dumped: kafka1, kafka2    =>  the replica of partition 0 on kafka3 was not dumped
    3 replicas    dumped: all three         =>  nothing

A dump of an empty log is one. Runs that did not write down their dumps (docs/history.md, `dumped`)
are not judged by them. A pure rule.
"""

from __future__ import annotations

from analysis.stored.stored_run import Run


def undumped(run: Run) -> list[str]:
    """Why not every replica is known at the end; empty where all are."""
    if not run.compared or not run.dumps:
        return []
    topic = run.scenario["topic"]
    wanted = int(topic["replication_factor"])
    brokers = sorted(name for name, node in run.nodes.items() if node["role"] == "broker")
    reasons = []
    for partition in range(int(topic["partitions"])):
        known = {
            dump["name"]
            for dump in run.dumps
            if dump["partition"] == partition and dump["log_start"] is not None
        }
        if len(known) >= wanted:
            continue
        missing = [name for name in brokers if name not in known]
        if len(brokers) == wanted:
            where = " and ".join(missing)
            reasons.append(f"the replica of partition {partition} on {where} was not dumped")
        else:
            reasons.append(
                f"{len(known)} of {wanted} replicas of partition {partition} were dumped"
            )
    return reasons
