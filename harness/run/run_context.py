"""What the steps of a run pass on: the run itself and, once it is up, its cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.cluster.admin.admin import Admin
from harness.cluster.capabilities import Cluster, Restarts
from harness.cluster.nodes import ClusterError, brokers
from harness.cluster.view.state import BLIND, ClusterView
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario
from harness.run.evidence.keeper import Keeper
from harness.run.progress import Screen
from harness.waiting import Deadline, WaitTimeout, wait_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that has begun: its folder, its record, and what is left of its time."""

    folder: RunFolder
    record: RunRecord  # as it was before the run began
    screen: Screen
    deadline: Deadline

    @classmethod
    def begin(cls, folder: RunFolder, screen: Screen) -> Run:
        """The prepared run of a folder; its time counts from now. Raises StoreError."""
        record = folder.read()
        deadline = Deadline(record.time_limit_s)
        return cls(folder=folder, record=record, screen=screen, deadline=deadline)

    def wait(
        self,
        condition: Callable[[], Any],
        what: str,
        limit_s: float | None = None,
        every_s: float = 0.05,
    ) -> None:
        """Wait, but never past the run's own time limit. Raises WaitTimeout."""
        within_s = self.deadline.within(limit_s)
        wait_until(condition, timeout_s=within_s, what=what, every_s=every_s)

    def failure_sentence(self, error: Exception) -> str:
        """Why the run ended; after the time limit, that limit is the reason whatever else fails."""
        if self.deadline.within() > 0:
            return str(error)
        return f"the time limit of {self.record.time_limit_s:g} s was exceeded: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A run whose cluster is up and has the topic."""

    run: Run
    scenario: Scenario  # with the topic's own name, where Kafka is not ours
    cluster: Cluster
    view: ClusterView
    admin: Admin
    keeper: Keeper | None = None  # None: no evidence is to be kept

    def await_full_isr(self, limit_s: float) -> None:
        """Wait until every partition has a leader and all its replicas in the ISR; no longer than
        there is a broker that runs."""
        replicas = self.scenario.topic.replication_factor

        def whole() -> bool:
            if self.view.recovered(replicas):
                return True
            if _none_runs(self.cluster, self.view):
                raise ClusterError("every broker has ended by itself")
            return False

        try:
            self.run.wait(whole, "every ISR to be full", limit_s)
        except WaitTimeout as error:
            short = self.view.look_or_last().short_of(replicas)
            raise WaitTimeout(f"{error}{short and f': {short}'}") from None


def _none_runs(cluster: Cluster, view: ClusterView) -> bool:
    """Whether no broker has a process, and nobody starts one again. Processes are asked for only
    where no broker is known to live: in containers and pods that takes a command each."""
    if not isinstance(cluster, Restarts):
        return False
    try:
        return not view.live_brokers() and all(
            cluster.state(node).pid is None for node in brokers(cluster.nodes)
        )
    except (*BLIND, ClusterError):
        return False  # nobody could be asked
