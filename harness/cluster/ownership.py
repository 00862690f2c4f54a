"""Clusters that outlive their harness: which is whose, and what may be done to it.

Everything that a backend starts bears our label with the name of its cluster (a compose project, a
namespace). A cluster without the label is somebody's: nothing is done to it, unless the scenario
names it *and* the command line allows that very name (`--allow NAME`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.cluster.nodes import ClusterError
from harness.model.run_record import ClusterRecord, RunRecord

LABEL = "kafka-harness"  # its value is the node's name, or "holder" or "client"; see each backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """What `kafka-harness heal` was asked to look after.

    `record` is the run's run.json, None where only `name` is known; what a backend has put there
    under "cluster" tells where to look. With `down` the cluster is removed afterwards.
    """

    record: RunRecord | None
    name: str | None  # a compose project, a namespace
    down: bool

    @property
    def cluster(self) -> ClusterRecord:
        """What the backend wrote down before it started anything; empty if it did not get there."""
        return (self.record and self.record.cluster) or ClusterRecord()


def guard(name: str, *, ours: bool, named: str | None, allowed: Collection[str]) -> None:
    """Raise ClusterError unless the cluster `name` is ours, or is both named and allowed.

    `named` is what the scenario gives, `allowed` what the command line's --allow gives.
    """
    if ours or (name == named and name in allowed):
        return
    if name == named:
        raise ClusterError(
            f"{name} has no label {LABEL}, so the harness did not make it: add --allow {name} if "
            "faults may hit it"
        )
    raise ClusterError(
        f"{name} has no label {LABEL}, so the harness did not make it: if faults may hit it, name "
        f"it in the scenario's [backend] section and add --allow {name}"
    )
