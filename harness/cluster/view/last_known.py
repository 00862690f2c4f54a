"""What all views of a cluster share: the memory of the last answers, for when no node answers, and
the sentence that the cluster has recovered."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import BLIND, ClusterView, View


class Memory:
    """The last known view and coordinators."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._coordinators: dict[tuple[Coordinated, str], str | None] = {}

    def keep(self, view: View) -> View:
        """Remember a view; returns it."""
        self._view = view
        return view

    def look_or_last(self, look: Callable[[], View]) -> View:
        """The view now, or the last one marked as not known."""
        try:
            return look()
        except BLIND:
            return replace(self._view or View(partitions=(), controller=None), known=False)

    def coordinator(
        self, kind: Coordinated, name: str, ask: Callable[[], str | None] | None
    ) -> str | None:
        """The coordinator of a group.id or transactional.id; the last known one while blind, or
        when nobody is to be asked (None)."""
        if ask is not None:
            with suppress(*BLIND):
                self._coordinators[kind, name] = ask()
        return self._coordinators.get((kind, name))


def recovered(
    view: ClusterView, brokers: Collection[str], replicas: int, being_there: str
) -> str | None:
    """The sentence that says so once leaders, ISRs and these brokers are all there; else None.

    `being_there` is what a broker is then: registered, a member.
    """
    try:
        now, live = view.look(), view.live_brokers()
    except BLIND:
        return None
    whole = all(p.leader and len(p.isr) == replicas for p in now.partitions)
    if not whole or not set(brokers) <= set(live):
        return None
    return f"every broker is {being_there}, every ISR has {replicas} members"
