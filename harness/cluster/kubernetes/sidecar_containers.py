"""The sidecars of a run: one container in every pod, which sees the pod's network.

    the line to its `watch`    heard by the sidecar's timer, which undoes faults once it is silent
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
from harness.cluster.exec import shell
from harness.cluster.exec.shell import OpenShell
from harness.cluster.sidecar import heartbeat

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api
    from harness.cluster.kubernetes.exec_stream import PodShellStream, PodWatchStream


NO_PROCESS = NodeState(pid=None, stopped=False)


class Sidecars:
    """The sidecars of nodes, by name; `pods` tells their pods' names, `container` which of a pod's
    containers is one."""

    def __init__(self, api: Api, container: str, pods: Mapping[str, str]) -> None:
        self._api, self._container, self._pods = api, container, dict(pods)
        self._shells = {name: OpenShell(name, partial(self._shell, name)) for name in pods}
        self._streams: dict[str, PodWatchStream] = {}
        self._heartbeat: heartbeat.Heartbeat | None = None

    def open(self) -> None:
        """Have every sidecar watch, and every shell opened. Raises ClusterError."""
        from harness.cluster.kubernetes.exec_stream import PodWatchStream  # noqa: PLC0415

        for name, pod in self._pods.items():
            self._streams[name] = PodWatchStream(self._api, pod, self._container)
        self._heartbeat = heartbeat.Heartbeat(self._streams)
        self._heartbeat.start()
        shell.open_all(self._shells.values())

    def run(self, name: str, argv: Sequence[str]) -> str:
        """What a command prints there; sys.executable stands for the Python of the place. Raises
        ClusterError."""
        if argv[0] in shell.QUICK:
            return self._shells[name].run(argv)
        return self._api.run_in(self._pods[name], self._container, heartbeat.in_sidecar(argv))

    def tell(self, name: str, *words: str) -> str:
        """What sidecar.sh answers to a verb of its own. Raises ClusterError."""
        return self._api.run_in(self._pods[name], self._container, heartbeat.command(*words))

    def signal(self, name: str, number: Signals) -> None:
        """Send the node's JVM a signal. Raises ClusterError."""
        self.tell(name, "signal", number.name.removeprefix("SIG"))

    def state(self, name: str) -> NodeState:
        """The node's JVM. Raises ClusterError."""
        said = self.tell(name, "node").split()
        return NodeState(pid=int(said[0]), stopped=said[1] in "Tt") if said else NO_PROCESS

    def order(self, name: str, script: str) -> str:
        """What a line of sh prints there. Raises ClusterError."""
        return self._api.run_in(self._pods[name], self._container, ["sh", "-c", script])

    def let_go(self, name: str) -> None:
        """The node's pod is about to be deleted: until then it is watched on."""
        self._streams[name].let_go()
        self._shells[name].close()

    def hold_on(self, name: str) -> None:
        """The pod that was let go stays."""
        self._streams[name].hold_on()

    def adopt(self, name: str) -> None:
        """Go on with the pod that has come in the place of one that was let go."""
        self._shells[name].close()  # it reaches the pod that has gone
        self._streams[name].attach()

    def check(self) -> None:
        """Raise ClusterError when a sidecar has undone faults, or can no longer be told."""
        if self._heartbeat is not None:
            self._heartbeat.check()

    def close(self) -> None:
        """Tell every sidecar that this is the end; safe to call twice."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        for opened in self._shells.values():
            opened.close()

    def _shell(self, name: str) -> PodShellStream:
        from harness.cluster.kubernetes.exec_stream import PodShellStream  # noqa: PLC0415

        return PodShellStream(self._api, self._pods[name], self._container)
