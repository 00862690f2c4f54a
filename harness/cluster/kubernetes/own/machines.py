"""Cordons and uncordons machines, which Kubernetes calls nodes.

A cordon bears the namespace of the run that has set it, so that no other one is removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.cluster.nodes import ClusterError

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

CORDONED = "kafka-harness/cordoned"  # an annotation: by the run in which namespace


class CordonedMachines:
    """What a run does to machines, in its namespace's name."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def cordoned(self, machine: str) -> bool:
        """Whether it takes no pods."""
        return bool(self._api.machine(machine).spec.unschedulable)

    def cordon(self, machine: str) -> None:
        """Let it take no pods. Raises ClusterError when it takes none already."""
        if self.cordoned(machine):
            raise ClusterError(f"Kubernetes node {machine} is already cordoned, not by this run")
        self._set(machine, by=self._api.namespace)

    def uncordon(self, machine: str) -> None:
        """Let it take pods again, if this namespace's run has cordoned it."""
        if machine in self.ours():
            self._set(machine, by=None)

    def ours(self) -> list[str]:
        """The machines that were cordoned in this namespace's name; none where we may not look."""
        return [
            machine.metadata.name
            for machine in self._api.machines()
            if (machine.metadata.annotations or {}).get(CORDONED) == self._api.namespace
        ]

    def _set(self, machine: str, *, by: str | None) -> None:
        patch: dict[str, Any] = {
            "spec": {"unschedulable": by is not None or None},
            "metadata": {"annotations": {CORDONED: by}},
        }
        self._api.change_machine(machine, patch)
