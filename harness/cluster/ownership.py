"""Ownership of clusters that outlive their harness: what may be done to which.

Everything that a backend starts bears our label with the name of its cluster (a compose project, a
namespace). A cluster without the label is not ours: nothing is done to it, unless the scenario
names it *and* the command line allows that very name (`--allow NAME`).

A run's folder, and so its run.json, may come from anywhere. A cluster in it is the run's own only
where it is named after the run and bears the run's mark; `heal` touches no other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from harness.cluster.nodes import ClusterError
from harness.model.runs.run_record import ClusterRecord, RunRecord

RUN_ID = re.compile(r"[^/]+/(\d{8}T\d{6}Z-(?:-?\d+)(?:-\d+)?)")
LABEL = "kafka-harness"  # its value is the node's name, or "holder" or "client"; see each backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A cluster that `kafka-harness heal` is to heal.

    `record` is the run's run.json, None where only `name` is known; what a backend has put there
    under "cluster" tells where to look. With `down` the cluster is removed afterwards.
    """

    record: RunRecord | None
    name: str | None  # a compose project, a namespace
    down: bool
    allowed: frozenset[str] = frozenset()  # what the command line's --allow gives

    @property
    def cluster(self) -> ClusterRecord:
        """What the backend wrote down before it started anything; empty if it did not get there."""
        return (self.record and self.record.cluster) or ClusterRecord()

    @property
    def run_id(self) -> str | None:
        """The run that run.json tells of, None where only a name is known. Raises ClusterError for
        what is no run's: clusters are named after it."""
        if self.record is None:
            return None
        if RUN_ID.fullmatch(self.record.run_id) is None:
            raise ClusterError(
                f"run.json: run_id {self.record.run_id!r} is not a run's (SCENARIO/TIME-SEED): "
                "restore the file"
            )
        return self.record.run_id


def check_own(what: str, *, own: bool, remedy: str) -> None:
    """Raise ClusterError unless what run.json names is that run's own."""
    if not own:
        raise ClusterError(f"run.json names {what}, which is not this run's: {remedy}")


def check_reached(places: Iterable[str], allowed: Collection[str]) -> None:
    """Raise ClusterError unless the command line allows every one of these places (addresses, a
    file with credentials) that run.json names, to be opened."""
    missing = [place for place in places if place not in allowed]
    if missing:
        allow = " ".join(f"--allow {shlex.quote(place)}" for place in missing)
        raise ClusterError(
            f"heal would use {', '.join(missing)}, as run.json says: if that is right, add {allow}"
        )


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
