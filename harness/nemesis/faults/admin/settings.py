"""set-config, add-partitions: what an operator changes on a running topic or broker.

    set-config       the options are Kafka's own keys with their new values; `on = "topic"` (the
                     default) sets them on the topic, "brokers" on each broker that is hit. Undone
                     key by key: a value that had been set before is set again, any other removed
    add-partitions   `count` more partitions (default 1) for the topic. Kafka cannot remove any, so
                     they stay. The workers send to and read from the partitions that the run began
                     with; to them this is a change of metadata

Proof: the topic's znode, or each broker asked for its settings, says so.
Source: KIP-339 (incremental changes), KIP-226 (dynamic broker settings).
"""

from __future__ import annotations

from difflib import get_close_matches

from harness.cluster.admin import Resource
from harness.cluster.capabilities import Owned
from harness.cluster.nodes import ClusterError
from harness.cluster.view.state import BLIND
from harness.nemesis.verb import BROKERS, Injection, Options, Verb, unknown

# What can be changed at run time and leaves the checks their meaning: no compaction.
DYNAMIC: dict[str, tuple[str, ...]] = {
    "topic": (
        "compression.type",
        "flush.messages",
        "flush.ms",
        "max.message.bytes",
        "min.insync.replicas",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.ms",
        "unclean.leader.election.enable",
    ),
    "brokers": (
        "compression.type",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.retention.bytes",
        "log.retention.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "message.max.bytes",
        "min.insync.replicas",
        "num.io.threads",
        "num.network.threads",
        "num.replica.fetchers",
        "unclean.leader.election.enable",
    ),
}


# set-config


def changes(options: Options) -> dict[str, str]:
    """The keys to set, with their values as Kafka spells them."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in options.items()
        if key != "on"
    }


def _resources(injection: Injection) -> list[Resource]:
    if injection.options.get("on", "topic") == "topic":
        return [Resource(kind="topic", name=injection.view.topic)]
    return [Resource(kind="broker", name=str(node.id)) for node in injection.nodes]


def _set(injection: Injection) -> None:
    admin, wanted = injection.admin(), changes(injection.options)
    injection.memo["before"] = before = {}
    for resource in _resources(injection):
        old = admin.settings(resource)
        before[resource] = {key: old[key].own for key in wanted}
        injection.memo.setdefault("was", {key: old[key].value for key in wanted})
        admin.change(resource, wanted)


def _is_set(injection: Injection) -> str | None:
    wanted, was = changes(injection.options), injection.memo["was"]
    if any(
        _read(injection, each) | wanted != _read(injection, each)
        for each in injection.memo["before"]
    ):
        return None
    where = " and ".join(f"{each.kind} {each.name}" for each in injection.memo["before"])
    return f"{where}: " + ", ".join(f"{k} is {v}, was {was[k]}" for k, v in wanted.items())


def _read(injection: Injection, resource: Resource) -> dict[str, str]:
    """The values as they are now, or nothing where that cannot be asked."""
    if resource.kind == "topic":
        try:
            found = injection.zookeeper.znode(f"/config/topics/{resource.name}") or {}
        except BLIND:
            return {}
        return dict(found.get("config", {}))
    try:
        settings = injection.admin().settings(resource)
    except ClusterError:
        return {}
    return {key: setting.value or "" for key, setting in settings.items()}


def _restore(injection: Injection) -> None:
    admin = injection.admin()
    for resource, before in injection.memo.get("before", {}).items():
        admin.change(resource, before)


def _restored(injection: Injection) -> str | None:
    for resource, before in injection.memo.get("before", {}).items():
        now = injection.admin().settings(resource)
        if any(now[key].own != value for key, value in before.items()):
            return None
    return ", ".join(changes(injection.options)) + " as before"


def _set_problems(options: Options) -> list[str]:
    on = options.get("on", "topic")
    if on not in DYNAMIC:
        return [f"on is {on!r}, must be one of {', '.join(DYNAMIC)}"]
    keys = [key for key in options if key != "on"]
    if not keys:
        return ['name at least one key of Kafka\'s, as in "min.insync.replicas" = 2']
    found = []
    for key in keys:
        if key not in DYNAMIC[str(on)]:
            near = get_close_matches(key, DYNAMIC[str(on)], n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            found.append(f"{key!r} cannot be changed on {on} in a run{hint}")
    return found


# add-partitions


def _add(injection: Injection) -> None:
    topic = injection.view.topic
    try:
        now = len(injection.view.assignment_of(topic))
    except BLIND as error:
        raise ClusterError(f"ZooKeeper does not tell how many partitions {topic} has") from error
    injection.memo.update(was=now, total=now + int(injection.options.get("count", 1)))
    injection.admin().topics.add_partitions(topic, injection.memo["total"])


def _added(injection: Injection) -> str | None:
    topic, was, total = injection.view.topic, injection.memo["was"], injection.memo["total"]
    try:
        states = [
            injection.zookeeper.znode(f"/brokers/topics/{topic}/partitions/{number}/state")
            for number in range(was, total)
        ]
    except BLIND:
        return None
    if any(state is None or state["leader"] < 0 for state in states):
        return None
    return f"topic {topic} has {total} partitions, had {was}; each has a leader"


def _leave(_: Injection) -> None:
    """Kafka cannot remove a partition."""


def _kept(injection: Injection) -> str | None:
    return f"topic {injection.view.topic} keeps them: Kafka cannot remove a partition"


def _add_problems(options: Options) -> list[str]:
    found = unknown(options, "count")
    count = options.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100:
        found.append(f"count is {count!r}, must be a number from 1 to 100")
    return found


SET_CONFIG = Verb(
    name="set-config",
    undo="restore-config",
    needs=(Owned,),
    together=True,
    hits=BROKERS,
    inject=_set,
    bit=_is_set,
    heal=_restore,
    healed=_restored,
    problems=_set_problems,
)
ADD_PARTITIONS = Verb(
    name="add-partitions",
    undo="leave",
    needs=(Owned,),
    together=True,
    hits=BROKERS,
    inject=_add,
    bit=_added,
    heal=_leave,
    healed=_kept,
    problems=_add_problems,
)
