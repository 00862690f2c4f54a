"""Lines into one pod's sidecar, by the API server's exec: its `watch`, and a shell kept open."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from websocket import WebSocketException

from harness.cluster.exec import shell
from harness.cluster.kubernetes.api import Api
from harness.cluster.nodes import ClusterError
from harness.cluster.sidecar import heartbeat
from harness.waiting import WaitTimeout, wait_until

READY_LIMIT_S = 30.0
BROKEN = (WebSocketException, OSError)


class PodWatchStream:
    """An ExecStream (harness.cluster.sidecar.heartbeat) to a node's pod: `let_go` when one goes by
    our order, `attach` to the one that comes in its place."""

    def __init__(self, api: Api, pod: str, container: str) -> None:
        self._api = api
        self._pod = pod
        self._container = container
        self._said = ""
        self._leaving = False  # the line may break: its pod goes by our order
        self._lock = threading.Lock()
        self._line: Any = None
        self.attach()

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when the connection is broken unordered."""
        with self._lock:
            try:
                self._line.write_stdin(f"{line}\n")
            except BROKEN as error:
                if not self._leaving:
                    raise OSError(str(error)) from None

    def said(self) -> str:
        """All that it has said so far; nothing of a pod that is leaving."""
        with self._lock:
            self._said += _heard(self._line)
            return "" if self._leaving else self._said

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock, suppress(*BROKEN):
            self._line.close()

    def let_go(self) -> None:
        """The pod is about to go: until then it is watched on."""
        self._leaving = True

    def hold_on(self) -> None:
        """It is not to go, after all."""
        self._leaving = False

    def attach(self) -> None:
        """Watch in the pod that is there now. Raises ClusterError."""
        # The container may be a moment behind its pod's address.
        line = wait_until(
            self._begun,
            timeout_s=READY_LIMIT_S,
            what=f"the sidecar of {self._pod}",
            every_s=0.2,
            ignoring=(ClusterError,),
        )

        heard = ""

        def ready() -> bool:
            nonlocal heard
            heard += _heard(line)
            if not line.is_open():
                raise ClusterError(f"the sidecar of {self._pod} cannot receive keepalives: {heard}")
            return "ready" in heard

        try:  # unlocked: the beats of other sidecars must go on meanwhile
            wait_until(ready, timeout_s=READY_LIMIT_S, what=f"{self._pod}'s sidecar to start")
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None
        with self._lock:
            self._line, self._said, self._leaving = line, heard, False

    def _begun(self) -> Any:
        command = heartbeat.command("watch", str(heartbeat.LIMIT_S))
        return self._api.line_to(self._pod, self._container, command)


class PodShellStream:
    """A harness.cluster.exec.shell.Line to a shell in a pod's sidecar."""

    def __init__(self, api: Api, pod: str, container: str) -> None:
        self._line = api.line_to(pod, container, shell.SHELL)
        self._said = ""

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when the connection is broken."""
        try:
            self._line.write_stdin(f"{line}\n")
        except BROKEN as error:
            raise OSError(str(error)) from None

    def said(self) -> str:
        """All that it has said so far."""
        self._said += _heard(self._line)
        return self._said

    def over(self) -> bool:
        """Whether it has ended, as far as `said` has seen."""
        return not self._line.is_open()

    def close(self) -> None:
        """Let go of the connection."""
        with suppress(*BROKEN):
            self._line.close()


def _heard(line: Any) -> str:
    """What came along a line since it was asked last; sending tells whether it is broken."""
    with suppress(*BROKEN):
        return str(line.read_stdout(timeout=0) + line.read_stderr(timeout=0))
    return ""
