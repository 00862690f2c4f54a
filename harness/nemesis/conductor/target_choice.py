"""Chooses a step's nodes: those that play the target's role now and that the verb would affect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from harness.cluster.capabilities import Clients, Cluster
from harness.cluster.nodes import Node
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import ClusterView
from harness.cluster.view.zookeeper import ensemble_leader
from harness.model.plan import Step
from harness.nemesis.target import NoTarget, Roles
from harness.nemesis.targets import resolve
from harness.nemesis.verbs import VERBS


@dataclass(frozen=True, kw_only=True)
class Chooser:
    """Chooses the nodes that a step hits. `clients` are the workers, where faults may hit them;
    `coordinated` has the group.id and the like by which coordinators are found."""

    cluster: Cluster
    view: ClusterView
    clients: Clients | None
    coordinated: Mapping[Coordinated, str]

    def choose(self, step: Step) -> tuple[tuple[Node, ...], Roles]:
        """The nodes that the target means now, and the roles. Raises NoTarget while no node plays
        the role, or the verb would do nothing to those that do."""
        roles = self._roles(step)
        nodes = resolve(step.target, roles)
        _refuse_idle(step, nodes, roles)
        return nodes, roles

    def _roles(self, step: Step) -> Roles:
        view = self.view.look_or_last()

        @cache
        def coordinator(kind: Coordinated) -> str | None:
            name = self.coordinated.get(kind)
            # Do not wait again for a ZooKeeper without a quorum.
            return self.view.coordinator(kind, name, ask=view.known) if name else None

        roles = Roles(
            nodes=self.cluster.nodes,
            view=view,
            ensemble_leader=cache(lambda: ensemble_leader(self.cluster.nodes)),
            random=Random(step.seed),  # noqa: S311
            clients=self.clients.living() if self.clients else (),
            coordinator=coordinator,
        )
        if VERBS[step.verb].idle is None:
            return roles
        names = [node.name for node in self.cluster.nodes]
        able = frozenset(name for name in names if not _idle(step, roles, {name}))
        return replace(roles, able=able)


def _refuse_idle(step: Step, nodes: Sequence[Node], roles: Roles) -> None:
    """Raises NoTarget where the verb would do nothing to these nodes now."""
    if why := _idle(step, roles, {node.name for node in nodes}):
        raise NoTarget(why)


def _idle(step: Step, roles: Roles, names: Collection[str]) -> str | None:
    verb = VERBS[step.verb]
    if verb.idle is None:
        return None
    return verb.idle(roles, frozenset(names), verb.options.of(step.options))
