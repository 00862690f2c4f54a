"""A verb: four functions, its words and effects, what it needs, what it can hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from harness.cluster.admin.admin import Admin
from harness.cluster.capabilities import Clients, Cluster, client_settings
from harness.cluster.nodes import Node, Role
from harness.cluster.view.state import ClusterView
from harness.model.effects import Effects
from harness.model.plan import Telling
from harness.model.scenario import FaultPart
from harness.nemesis import options
from harness.nemesis.options import Options
from harness.nemesis.target import Roles, Setting, Target

if TYPE_CHECKING:
    from harness.cluster.admin.requests import Requests


def keep_nothing(_: Sequence[Node]) -> None:
    """Keep nothing of what brokers have on disk."""


class DoesNothing(RuntimeError):
    """The fault is in place, and measurably has no effect; the message is a sentence.

    Raised instead of returning a proof: waiting longer is useless.
    """


@dataclass(kw_only=True)
class Injection:
    """One verb at one node, or at a group of them: what the four functions of a verb work on.

    `roles` are those of the moment when the fault was begun. In `memo` the verb keeps what it needs
    later, such as the pid that was killed.
    """

    fault: int
    nodes: tuple[Node, ...]  # one, unless the verb takes its nodes `together`
    roles: Roles
    cluster: Cluster
    view: ClusterView
    options: Options
    seed: int  # of the verb's own choices
    clients: Clients | None = None  # the workers, where faults may hit them
    keep: Callable[[Sequence[Node]], None] = keep_nothing  # what nodes have on disk
    memo: dict[str, Any] = field(default_factory=dict)

    @property
    def node(self) -> Node:
        """The node that is hit; the first one of a group."""
        return self.nodes[0]

    @property
    def requests(self) -> Requests:
        """Requests of Kafka's protocol that the client library lacks; one for the injection, which
        remembers the broker that takes them."""
        # Takes a tenth of a second to import, and few faults need it.
        from harness.cluster.admin.requests import Requests  # noqa: PLC0415

        if "requests" not in self.memo:
            given = client_settings(self.cluster)
            self.memo["requests"] = Requests(self.cluster.nodes, given)
        return cast(Requests, self.memo["requests"])

    def admin(self) -> Admin:
        """A new client: an old one may know an old controller."""
        return Admin(self.cluster.nodes, client_settings(self.cluster))


def always_possible(_: Setting, __: Target, ___: Options) -> str | None:
    """Of a verb that needs nothing of the scenario."""
    return None


def named_in_from(given: Mapping[str, Any]) -> frozenset[str]:
    """The groups and nodes that the option `from` names as other ends of links."""
    words = str(given.get("from", "")).split(",")
    return frozenset(word.strip() for word in words) - {""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a verb is tried at each of its targets, one after the other (`make nemesis-table`).

    `options` replace those of its examples; a ZooKeeper, which sends little, has its own. `before`
    are the faults that come first, so that the verb has something to do; `before_at` has those of
    single targets. Each fault begins when the one before is healed, except that the verb's own
    begins at the targets `amid` while the others are in force.
    """

    options: Mapping[str, Any] | None = None
    options_at_zookeeper: Mapping[str, Any] | None = None
    partitions: int = 1
    replicas: int = 3  # one less where a broker without a replica is needed
    leader: str = "controller"  # who leads at first, where the target's roles must be brought about
    before: tuple[FaultPart, ...] = ()
    before_at: Mapping[str, tuple[FaultPart, ...]] = field(default_factory=dict)
    amid: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftCommand:
    """A program of the user's that heals a node."""

    node: str
    argv: tuple[str, ...]
    limit_s: float


LeftFault = Mapping[str, Any]  # of harness.nemesis.undo_record
LeftCommands = Callable[[LeftFault, Mapping[str, Mapping[str, Any]]], list[LeftCommand]]
NODES: frozenset[Role] = frozenset({"broker", "zookeeper", "controller"})
BROKERS: frozenset[Role] = frozenset({"broker"})
KAFKAS: frozenset[Role] = BROKERS | {"controller"}
PROCESSES: frozenset[Role] = NODES | {"client"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A fault's verb and its undo.

    `done` is the past participle in reports, after "the leader was"; empty for one that breaks
    nothing. `effects` are what it can do to the cluster at a node, or a function of its options and
    its target; None where that is not known. `options` is the model of its options.

    `holds` names what a fault uses alone at each node while it is in force: two faults that hold
    the same thing ("process", "disk", "clock") wait for each other. None: any number at once.
    `hits` are the kinds of nodes that it can hit; `targets`, where given, the only target names.
    `impossible` says why it cannot be done to a target in a scenario, with the remedy; `idle`, why
    it would do nothing to certain nodes now, which then are no target. `during` is called again and
    again while it is in force. `left_commands` gives the programs that undo a fault that a killed
    harness left in force, from its entry in the undo record and the run's nodes: `heal` runs them
    where it is allowed to. None where the backend can undo it alone. `host` are the probes of
    harness.setup.doctor that a local node's host must pass, each with the options that need it
    ('how = "reset"'), or "" for any.
    """

    name: str
    undo: str
    done: str
    effects: Effects | Callable[[Options, Target], Effects | None]
    needs: tuple[type, ...]
    inject: Callable[[Injection], None]
    proof_in_force: Callable[[Injection], str | None]
    heal: Callable[[Injection], None]
    healed: Callable[[Injection], str | None]
    options: type[Options] = Options
    holds: str | None = None
    together: bool = False  # one injection for all nodes of the target, not one each
    prepares: str | None = (
        None  # how nodes must be started for it: harness.cluster.capabilities.Preparable
    )
    alone: bool = False  # one at a time in the cluster, of all verbs that say so: reassignments
    hits: frozenset[Role] = NODES
    targets: tuple[str, ...] = ()  # empty: any that means a kind of node in `hits`
    impossible: Callable[[Setting, Target, Options], str | None] = always_possible
    idle: Callable[[Roles, frozenset[str], Options], str | None] | None = None
    during: Callable[[Injection], object] | None = None
    # Other ends of links that it names, by its options as the scenario has them.
    ends: Callable[[Mapping[str, Any]], frozenset[str]] = named_in_from
    patience: float = 1.0  # how many times as long as usual its proofs may take
    left_commands: LeftCommands | None = None
    host: Mapping[str, str] = field(default_factory=dict)
    trial: Trial | None = Trial()  # None: it is not tried

    def problems(self, given: Mapping[str, Any]) -> list[str]:
        """A sentence for each wrong option."""
        return options.problems(self.options, given)

    def telling(self, target: Target) -> Telling:
        """Its words in reports at that target."""
        return Telling(done=self.done, who=target.who, many=target.many, kind=target.kind)

    def effects_at(self, target: Target, given: Mapping[str, Any]) -> Effects | None:
        """What a fault with these options can do; None: not known.

        Effects that are no function are those at a node, from which those at a worker follow. What
        a controller loses are no records, but who may lead (`quorum_strikes` of analysis.causes).
        """
        if callable(self.effects):
            return self.effects(self.options.of(given), target)
        if target.kind == "client":
            return self.effects.at_worker()
        return self.effects
