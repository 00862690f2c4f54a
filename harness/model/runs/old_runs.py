"""Completes steps of old plans, whose run.json has neither effects nor descriptions.

    {"verb": "kill", "target": "leader", "options": {}}
    =>  + "effects": {"leadership": "where-it-hits", "ends_processes": true, …}
        + "telling": {"done": "killed", "who": "the leader", "many": false}

A step with the key `effects` stays as it is, even where they are null (unknown), except a clock's,
which once did not say how far it was off. The tables are frozen: today's verbs and targets say all
this themselves, and new ones are not added here. The effects of a verb that is not in the table are
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.model.effects import Effects
from harness.model.kafka_text import kafka_text
from harness.model.plan import NodeKind, Telling

_HITS = Effects(leadership="where-it-hits")
_ENDS = Effects(leadership="where-it-hits", ends_processes=True)
_RESTARTS = _ENDS.model_copy(update={"starts_again": True})
_PAUSES = Effects(leadership="where-it-hits", halts_processes=True)
_LINKS = Effects(leadership="anywhere")
_MOVES = Effects(leadership="anywhere")
_NOTHING = Effects()

# Verb -> what it can do, whatever its options and target are, and its past participle.
_VERBS: dict[str, tuple[Effects, str]] = {
    "kill": (_ENDS, "killed"),
    "stop": (_ENDS, "shut down"),
    "pause": (_PAUSES, "paused"),
    "cut": (_LINKS, "cut off"),
    "lose": (_LINKS, "hit by packet loss"),
    "delay": (_LINKS, "slowed by network delay"),
    "throttle": (_LINKS, "limited in network bandwidth"),
    "reorder": (_LINKS, "hit by packet reordering"),
    "duplicate": (_LINKS, "hit by packet duplication"),
    "corrupt": (_LINKS, "hit by packet corruption"),
    "cut-answers": (_NOTHING, "kept from answering clients"),
    "roll": (_RESTARTS, "restarted one by one"),
    "crash-loop": (_RESTARTS, "put into a crash loop"),
    "elect": (Effects(leadership="anywhere", permanent=True), "elected as preferred leader"),
    "move-leader": (_MOVES, "replaced as leader"),
    "reassign": (_MOVES, "affected by a partition reassignment"),
    "raise-replication": (_NOTHING, "affected by a raised replication factor"),
    "decommission": (
        Effects(leadership="anywhere", ends_processes=True),
        "decommissioned and replaced",
    ),
    "set-config": (_NOTHING, "reconfigured"),
    "add-partitions": (Effects(permanent=True), "given more partitions"),
    "dump-log": (_NOTHING, ""),
    "freeze-disk": (_ENDS, "hit by a read-only disk"),
    "fill-disk": (_ENDS, "hit by a full disk"),
    "slow-disk": (_HITS, "slowed by slow disk writes"),
    "fail-disk": (_ENDS, "hit by disk write errors"),
    "lose-power": (
        Effects(leadership="anywhere", takes="unsynced", ends_processes=True),
        "hit by a power loss",
    ),
    "lose-disk": (
        Effects(leadership="anywhere", takes="all", ends_processes=True),
        "hit by disk loss",
    ),
    "flip-bit": (Effects(alters_stored_bytes=True), "hit by a flipped bit on disk"),
    "skew-clock": (_HITS, "hit by clock skew"),
    "delete-pod": (_RESTARTS, "shut down by pod deletion"),
    "delete-pod-now": (_RESTARTS, "shut down by forced pod deletion"),
    "drain": (_RESTARTS, "evicted by a Kubernetes node drain"),
    "command": (Effects(leadership="anywhere"), "hit by a custom command"),
}
# Links may be bad between the target and `from` alone.
_FROM = frozenset({"cut", "lose", "delay"})

# Target -> whom it means. What is not here is a node's or a worker's own name.
_TARGETS: dict[str, str] = {
    "leader": "the leader",
    "follower": "a follower",
    "controller": "the controller",
    "leader-and-controller": "the leader, also the controller,",
    "leader-not-controller": "the leader, not the controller,",
    "preferred-leader": "the preferred leader",
    "last-isr": "the last in-sync replica",
    "group-coordinator": "the group coordinator",
    "transaction-coordinator": "the transaction coordinator",
    "one": "a random broker",
    "random": "a random broker",
    "zk-leader": "the ZooKeeper leader",
    "zk-follower": "a ZooKeeper follower",
    "zk-followers": "the ZooKeeper followers",
    "zk-one": "a random ZooKeeper member",
    "zk-minority": "a minority of the ZooKeeper members",
    "zk-majority": "a majority of the ZooKeeper members",
    "zk-all": "every ZooKeeper member",
    "producer": "a producer",
    "producers": "all producers",
    "consumer": "a consumer",
    "consumers": "all consumers",
    "group-consumer": "a member of the consumer group",
    "group-consumers": "all members of the consumer group",
    "followers": "all followers",
    "minority": "a minority of the brokers",
    "majority": "a majority of the brokers",
    "all": "every broker",
}
_MANY = frozenset({"followers", "zk-followers", "producers", "consumers", "group-consumers"})
_WORKERS = ("producer", "consumer", "group-consumer", "client")


def complete_steps(plan: Iterable[Any]) -> list[Any]:
    """The steps of a plan as run.json holds it, each with `effects` and `telling`.

    What is no step stays as it is: the validation of the record reports it.
    """
    return [_completed(step) if _is_old(step) else _with_skew(step) for step in plan]


def _with_skew(step: Any) -> Any:
    effects = step.get("effects") if isinstance(step, Mapping) else None
    if not isinstance(effects, Mapping) or "skews_clock_s" in effects:
        return step
    if step.get("verb") != "skew-clock":
        return step
    return {**step, "effects": {**effects, "skews_clock_s": _skewed_s(step)}}


def _skewed_s(step: Mapping[str, Any]) -> float:
    options = _options(step)
    offset_s = options.get("offset_s") if isinstance(options, Mapping) else None
    return float(offset_s) if isinstance(offset_s, int | float) else 0.0


def _is_old(step: Any) -> bool:
    """Whether it is a step without effects."""
    known = isinstance(step, Mapping) and "effects" not in step
    return known and {"verb", "target"} <= step.keys() and isinstance(_options(step), Mapping)


def _options(step: Mapping[str, Any]) -> Any:
    return step.get("options") or {}


def _completed(step: Mapping[str, Any]) -> dict[str, Any]:
    verb, target = str(step["verb"]), str(step["target"])
    effects = effects_of(verb, target, _options(step))
    return {
        **step,
        "effects": None if effects is None else effects.model_dump(mode="json"),
        "telling": telling_of(verb, target).model_dump(mode="json"),
    }


def effects_of(verb: str, target: str, options: Mapping[str, Any]) -> Effects | None:
    """The possible effects of an old step; None: unknown."""
    if verb not in _VERBS:
        return None
    effects, _ = _VERBS[verb]
    if target.startswith(_WORKERS):
        return effects.at_worker()
    changes: dict[str, Any] = {}
    if verb in _FROM and _from_clients_alone(options):
        changes["leadership"] = "if-seen"
    if verb == "set-config":
        # Brokers' settings count as the topic's where they have its names.
        changes["topic_settings"] = {
            key: kafka_text(value) for key, value in options.items() if key != "on"
        }
    if verb == "skew-clock":
        changes["skews_clock_s"] = _skewed_s({"options": options})
    return effects.model_copy(update=changes)


def telling_of(verb: str, target: str) -> Telling:
    """How reports describe an old step."""
    done = _VERBS[verb][1] if verb in _VERBS else f"hit by {verb}"
    return Telling(
        done=done, who=_TARGETS.get(target, target), many=target in _MANY, kind=_kind(target)
    )


def _kind(target: str) -> NodeKind:
    """The kind of nodes that an old target meant, by their names."""
    if target.startswith(_WORKERS):
        return "client"
    return "zookeeper" if target.startswith("zk") else "broker"


def _from_clients_alone(options: Mapping[str, Any]) -> bool:
    return {word.strip() for word in str(options.get("from", "")).split(",")} == {"clients"}
