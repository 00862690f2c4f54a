"""Watches the nodes' pods: which were replaced by our order, and which were not.

A thread looks at the pods of the nodes. A pod that the harness has had deleted is followed by
another one: it is adopted (its address, its sidecar), and restarts of its containers are its own
affair until it is ready for the first time. Anything else, a pod that was replaced or a container
that was started again unordered, makes `check` raise from then on: faults that were in force there
are gone without having been healed, so that the run must not be judged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from harness.cluster.nodes import ClusterError
from harness.waiting import Every

LOOK_EVERY_S = 0.5
LASTING_DATA = "lasting-data"  # a way: the nodes' data outlive their pods


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralContainer:
    """An ephemeral container of a pod: put into it while it runs, and never taken out again."""

    image: str
    running: bool = False
    code: int | None = None  # with which it ended; None before
    trouble: str | None = None  # why it cannot be begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod at one moment."""

    name: str
    uid: str
    ip: str | None
    host_ip: str | None
    leaving: bool  # it has been told to end
    ready: bool
    restarts: int  # of all its containers
    trouble: str | None  # why a container cannot be begun
    machine: str | None = None  # its node, in Kubernetes' word
    containers: tuple[str, ...] = ()
    ephemeral: Mapping[str, EphemeralContainer] = field(default_factory=dict)
    volatile: tuple[str, ...] = ()  # the volumes that go with it


class PodWatch:
    """Looks at the nodes' pods (`look`: by node, those that are about to go left out) from `start`
    to `stop`; `adopt(node, pod)` is told of each successor that was ordered, at every look until it
    returns True: then it is gone on with."""

    def __init__(
        self,
        known: Mapping[str, Pod],
        look: Callable[[], dict[str, Pod]],
        adopt: Callable[[str, Pod], bool],
    ) -> None:
        self._known = dict(known)
        self._look = look
        self._adopt = adopt
        self._ordered: set[str] = set()
        self._coming: set[str] = set()  # those whose successor has come and was never ready yet
        self._failure: str | None = None
        self._lock = threading.Lock()
        self._looks = Every(LOOK_EVERY_S, self._look_if_changed, name="pods")

    def start(self) -> None:
        """Begin to look; returns at once."""
        self._looks.start()

    def stop(self) -> None:
        """Look no more; safe to call twice."""
        self._looks.close(within_s=10)

    def uid(self, node: str) -> str | None:
        """Of the node's pod, once it is adopted; None while there is none that stays."""
        now = self._look().get(node)
        return now.uid if now and now.uid == self._known[node].uid else None

    def expect(self, node: str) -> None:
        """The node's pod is about to be deleted, by our order."""
        with self._lock:
            self._coming.discard(node)
            self._ordered.add(node)

    def expect_no_more(self, node: str) -> None:
        """The node's pod is not deleted, after all."""
        with self._lock:
            self._coming.discard(node)
            self._ordered.discard(node)

    def check(self) -> None:
        """Raise ClusterError when something was not ordered."""
        if self._failure:
            raise ClusterError(self._failure)

    def look_once(self) -> None:
        """One look, with all that follows from it."""
        now = self._look()
        with self._lock:
            for node, old in self._known.items():
                self._compare(node, old, now.get(node))

    def _look_if_changed(self) -> None:
        with suppress(ClusterError):  # no answer now; what happened is seen later
            self.look_once()

    def _compare(self, node: str, old: Pod, new: Pod | None) -> None:
        ordered = node in self._ordered
        if new is None or new.uid != old.uid:
            if not ordered:
                self._fail(f"the pod of {node} was replaced, and not by this run")
            elif new is not None and new.ip and new.host_ip and self._adopt(node, new):
                self._known[node] = new
                self._coming.add(node)
        elif node in self._coming and new.ready:
            self._coming.discard(node)
            self._ordered.discard(node)
            self._known[node] = new
        elif new.restarts != old.restarts and not ordered:
            self._fail(
                f"a container of {node} was restarted ({old.restarts} -> {new.restarts} "
                "times), and not by this run"
            )

    def _fail(self, what: str) -> None:
        self._failure = self._failure or what
