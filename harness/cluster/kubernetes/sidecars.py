"""The sidecars in the pods of a run: one container each that sees the pod's network.

    an attached `watch`        resets the sidecar's timer, which undoes faults once it is silent
    an open shell              quick commands (harness.cluster.exec.shell)
    an exec of its own         whatever may take its time

When a pod is deleted by our order it is let go; `adopt` goes on with the pod in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from signal import Signals
from typing import TYPE_CHECKING

from harness.cluster.capabilities import NodeState
from harness.cluster.exec import shell, sidecar
from harness.cluster.exec.shell import OpenShell

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api
    from harness.cluster.kubernetes.exec_stream import PodConnection, PodShell


NO_PROCESS = NodeState(pid=None, stopped=False)


class Sidecars:
    """The sidecars of nodes, by name; `pods` has their pods' names, `container` is the sidecar's
    name in each pod."""

    def __init__(self, api: Api, container: str, pods: Mapping[str, str]) -> None:
        self._api, self._container, self._pods = api, container, dict(pods)
        self._shells = {name: OpenShell(name, partial(self._shell, name)) for name in pods}
        self._connections: dict[str, PodConnection] = {}
        self._keepalive: sidecar.Keepalive | None = None

    def open(self) -> None:
        """Have every sidecar watch, and open every shell. Raises ClusterError."""
        from harness.cluster.kubernetes.exec_stream import PodConnection  # noqa: PLC0415

        for name, pod in self._pods.items():
            self._connections[name] = PodConnection(self._api, pod, self._container)
        self._keepalive = sidecar.Keepalive(self._connections)
        self._keepalive.start()
        shell.open_all(self._shells.values())

    def run(self, name: str, argv: Sequence[str]) -> str:
        """What a command prints there; sys.executable becomes the container's python3. Raises
        ClusterError."""
        if argv[0] in shell.QUICK:
            return self._shells[name].run(argv)
        return self._api.run_in(self._pods[name], self._container, sidecar.there(argv))

    def call(self, name: str, *words: str) -> str:
        """What sidecar.sh answers to a verb of its own. Raises ClusterError."""
        return self._api.run_in(self._pods[name], self._container, sidecar.command(*words))

    def signal(self, name: str, number: Signals) -> None:
        """Send the node's JVM a signal. Raises ClusterError."""
        self.call(name, "signal", number.name.removeprefix("SIG"))

    def state(self, name: str) -> NodeState:
        """The node's JVM. Raises ClusterError."""
        state = self.call(name, "node").split()
        return NodeState(pid=int(state[0]), stopped=state[1] in "Tt") if state else NO_PROCESS

    def run_script(self, name: str, script: str) -> str:
        """What a shell script prints there. Raises ClusterError."""
        return self._api.run_in(self._pods[name], self._container, ["sh", "-c", script])

    def let_go(self, name: str) -> None:
        """The node's pod is about to be deleted: until then it is watched on."""
        self._connections[name].let_go()
        self._shells[name].close()

    def hold_on(self, name: str) -> None:
        """The pod that was let go stays."""
        self._connections[name].hold_on()

    def adopt(self, name: str) -> None:
        """Go on with the pod that has come in the place of one that was let go."""
        self._shells[name].close()  # it reaches the pod that has gone
        self._connections[name].attach()

    def check(self) -> None:
        """Raise ClusterError when a sidecar has undone faults, or can no longer be reached."""
        if self._keepalive is not None:
            self._keepalive.check()

    def close(self) -> None:
        """End every watch; safe to call twice."""
        if self._keepalive is not None:
            self._keepalive.stop()
        for each in self._shells.values():
            each.close()

    def _shell(self, name: str) -> PodShell:
        from harness.cluster.kubernetes.exec_stream import PodShell  # noqa: PLC0415

        return PodShell(self._api, self._pods[name], self._container)
