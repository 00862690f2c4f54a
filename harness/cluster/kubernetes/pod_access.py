"""The harness's way into the pods of a run: its sidecars there, and the watch over the pods.

A pod goes only by our order. Whatever else happens to one, faults in force there may be gone
without having been healed: `check` raises from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.cluster.exec.host_processes import HostProcesses
from harness.cluster.kubernetes.pod_watch import Pod, PodWatch
from harness.cluster.kubernetes.sidecar_containers import Sidecars
from harness.cluster.nodes import Node


def has_rules(node: Node) -> bool:
    """Whether faults may set rules at the node. Clients live in this host's network, which is not
    ours to change."""
    return node.role != "client"


class PodAccess:
    """Sidecars of one kind or several, and what goes on in the nodes' pods; `host` starts what
    runs beside the harness, such as workers."""

    def __init__(self) -> None:
        self.host = HostProcesses()
        self._sidecars: dict[str, Sidecars] = {}
        self._watch: PodWatch | None = None

    def open(self, kind: str, sidecars: Sidecars) -> None:
        """Have these sidecars watch from now on. Raises ClusterError."""
        self._sidecars[kind] = sidecars
        sidecars.open()

    def sidecars(self, kind: str) -> Sidecars | None:
        """Those of a kind; None where there are none."""
        return self._sidecars.get(kind)

    def watch(
        self,
        known: Mapping[str, Pod],
        look: Callable[[], dict[str, Pod]],
        adopt: Callable[[str, Pod], bool],
    ) -> None:
        """Watch over the pods from now on: harness.cluster.kubernetes.pod_watch.PodWatch."""
        self._watch = PodWatch(known, look, adopt)
        self._watch.start()

    def check(self) -> None:
        """Raise ClusterError when faults in force may have gone without our doing."""
        for sidecars in self._sidecars.values():
            sidecars.check()
        if self._watch is not None:
            self._watch.check()

    def run(self, kind: str, node: Node, argv: Sequence[str]) -> str:
        """A command in the node's sidecar; what clients do is done on this host."""
        self.check()
        if node.role == "client":
            return self.host.run(argv)
        return self._sidecars[kind].run(node.name, argv)

    def uid(self, node: Node) -> str | None:
        """The uid of the node's pod; None while there is none that stays, or no sidecar in it."""
        self.check()
        assert self._watch is not None
        return self._watch.uid(node.name)

    def let_go(self, node: Node) -> None:
        """The node's pod is about to go by our order."""
        self.check()
        assert self._watch is not None
        for sidecars in self._sidecars.values():
            sidecars.let_go(node.name)
        self._watch.expect(node.name)

    def keep(self, node: Node) -> None:
        """The node's pod stays, after all."""
        assert self._watch is not None
        self._watch.expect_no_more(node.name)
        for sidecars in self._sidecars.values():
            sidecars.hold_on(node.name)

    def adopt(self, kind: str, name: str) -> None:
        """Go on with the sidecar in the pod that has come in the place of one that was let go."""
        self._sidecars[kind].adopt(name)

    def close(self) -> None:
        """Watch no more, and tell every sidecar that this is the end; safe to call twice."""
        if self._watch is not None:
            self._watch.stop()
        for sidecars in self._sidecars.values():
            sidecars.close()
        self.host.close()
