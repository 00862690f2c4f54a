"""set-config, add-partitions: what an operator changes on a running topic or broker.

    set-config       the options are Kafka's own keys with their new values; `on = "topic"` (the
                     default) sets them on the topic, "brokers" on each broker that is hit. Undone
                     key by key: a value that had been set before is set again, any other removed
    add-partitions   `count` more partitions (default 1) for the topic. Kafka cannot remove any, so
                     they stay. Without workload.use_added_partitions the workers send to and read
                     from those that the run began with: to them this is a change of metadata

Proof: a broker reports the topic's new settings, or each broker its own; a broker reports a leader
for each new partition.

Brokers with eligible leader replicas (ELR, on by default from 4.1) have no min.insync.replicas of
their own: Kafka sets it on a topic or the whole cluster only.
Source: KIP-339 (incremental changes), KIP-226 (dynamic broker settings), KIP-966 (ELR).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from harness.cluster.admin.admin import Admin, Resource, Setting
from harness.cluster.capabilities import Operated
from harness.cluster.nodes import NotInTime
from harness.cluster.view.state import BLIND
from harness.model.effects import Effects
from harness.model.kafka_text import kafka_text
from harness.model.spelling import did_you_mean
from harness.nemesis.options import Options
from harness.nemesis.target import Setting as SettingOfScenario
from harness.nemesis.target import Target
from harness.nemesis.verb import BROKERS, Injection, Verb

MINIMUM = "min.insync.replicas"
# What can be changed at run time without making the checks meaningless: no compaction.
DYNAMIC: dict[str, tuple[str, ...]] = {
    "topic": (
        "compression.type",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
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
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
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


# A broker does not list what it has no default for, such as the throttle of replication.
UNSET = Setting(value=None, own=None)


# set-config


def _keys_on(where: str) -> dict[str, Any]:
    """For the schema: Kafka's keys that can be set there, one at least."""
    return {
        "propertyNames": {"enum": ["on", *DYNAMIC[where]]},
        "anyOf": [{"required": [key]} for key in DYNAMIC[where]],
    }


class SetConfigOptions(Options):
    """Kafka's own keys with their new values, and where they are set."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "if": {"properties": {"on": {"const": "brokers"}}, "required": ["on"]},
            "then": _keys_on("brokers"),
            "else": _keys_on("topic"),
        },
    )
    __pydantic_extra__: dict[str, str | int | float | bool]

    on: Literal["topic", "brokers"] = Field(
        "topic", description="the topic, or each broker that is hit"
    )

    @property
    def changes(self) -> dict[str, str]:
        """The keys to set, with their values as Kafka spells them."""
        return {key: kafka_text(value) for key, value in self.__pydantic_extra__.items()}

    @model_validator(mode="after")
    def _can_be_changed(self) -> Self:
        if not self.changes:
            raise ValueError('name at least one Kafka key, as in "min.insync.replicas" = 2')
        keys = DYNAMIC[self.on]
        wrong = next((key for key in self.changes if key not in keys), None)
        if wrong is not None:
            hint = did_you_mean(wrong, keys)
            raise ValueError(f"{wrong!r} cannot be changed on {self.on} in a run{hint}")
        return self

    @classmethod
    def example(cls) -> dict[str, Any]:
        """Some key of Kafka's must be given."""
        return {"retention.ms": 86_400_000}


def _wanted(injection: Injection) -> dict[str, str]:
    return SetConfigOptions.of(injection.options).changes


def _resources(injection: Injection) -> list[Resource]:
    if SetConfigOptions.of(injection.options).on == "topic":
        return [Resource(kind="topic", name=injection.view.topic)]
    return [Resource(kind="broker", name=str(node.id)) for node in injection.nodes]


def _set(injection: Injection) -> None:
    injection.memo.update(before={}, set=set())
    with suppress(NotInTime):  # the proof tries again
        _set_all(injection, injection.admin())


def _set_all(injection: Injection, admin: Admin) -> None:
    """Set what is not set yet; keep the old values. Raises NotInTime where no broker sets it."""
    memo, wanted = injection.memo, _wanted(injection)
    for resource in (r for r in _resources(injection) if r not in memo["set"]):
        if resource not in memo["before"]:
            current = admin.settings(resource)
            old = {key: current.get(key, UNSET) for key in wanted}
            memo["before"][resource] = {key: setting.own for key, setting in old.items()}
            memo.setdefault("was", {key: setting.value for key, setting in old.items()})
        admin.change(resource, wanted)
        memo["set"].add(resource)


def _is_set(injection: Injection) -> str | None:
    admin = injection.admin()
    _set_all(injection, admin)
    wanted, was = _wanted(injection), injection.memo["was"]
    for resource in injection.memo["before"]:
        now = admin.settings(resource)
        if any(now.get(key, UNSET).own != value for key, value in wanted.items()):
            return None
    where = " and ".join(
        f"{resource.kind} {resource.name}" for resource in injection.memo["before"]
    )
    return f"{where}: " + ", ".join(
        f"{k} is {v}, was {was[k] or 'unset'}" for k, v in wanted.items()
    )


def _restore(injection: Injection) -> None:
    admin = injection.admin()
    for resource, before in injection.memo.get("before", {}).items():
        admin.change(resource, before)


def _restored(injection: Injection) -> str | None:
    for resource, before in injection.memo.get("before", {}).items():
        now = injection.admin().settings(resource)
        if any(now.get(key, UNSET).own != value for key, value in before.items()):
            return None
    return ", ".join(_wanted(injection)) + " as before"


def _effects(options: Options, _: Target) -> Effects:
    changes = SetConfigOptions.of(options).changes
    return Effects(topic_settings=changes, may_change_settings=True)


def _refused(setting: SettingOfScenario, _: Target, options: Options) -> str | None:
    given = SetConfigOptions.of(options)
    if given.on != "brokers" or MINIMUM not in given.changes or not setting.elr:
        return None
    return (
        f"{MINIMUM}: brokers with eligible leader replicas (KIP-966) have none of their own: set "
        'it on = "topic", or cluster.features."eligible.leader.replicas.version" = 0'
    )


# add-partitions


class AddPartitionsOptions(Options):
    """How many partitions come."""

    count: Annotated[
        int, Field(ge=1, le=100, description="how many more partitions, a number from 1 to 100")
    ] = 1


def _adds(options: Options, _: Target) -> Effects:
    return Effects(permanent=True, adds_partitions=AddPartitionsOptions.of(options).count)


def _add(injection: Injection) -> None:
    with suppress(*BLIND, NotInTime):  # the proof tries again
        _add_all(injection)


def _add_all(injection: Injection) -> None:
    """Raises one of BLIND, or NotInTime where no broker does it."""
    topic, memo = injection.view.topic, injection.memo
    if "total" not in memo:
        memo["was"] = len(injection.view.assignment_of(topic))
        memo["total"] = memo["was"] + AddPartitionsOptions.of(injection.options).count
    if "added" not in memo:
        injection.admin().topics.add_partitions(topic, memo["total"])
        memo["added"] = True


def _added(injection: Injection) -> str | None:
    _add_all(injection)
    topic, was, total = injection.view.topic, injection.memo["was"], injection.memo["total"]
    partitions = injection.requests.metadata().topics.get(topic, {})
    if any(
        number not in partitions or partitions[number].leader is None
        for number in range(was, total)
    ):
        return None
    if injection.view.follows_added:
        injection.view.partitions = total
    return f"topic {topic} has {total} partitions, had {was}; each has a leader"


def _leave(_: Injection) -> None:
    """Kafka cannot remove a partition."""


def _kept(injection: Injection) -> str | None:
    return (
        f"topic {injection.view.topic} keeps the added partitions: Kafka cannot remove a partition"
    )


SET_CONFIG = Verb(
    name="set-config",
    undo="restore-config",
    done="reconfigured",
    effects=_effects,
    options=SetConfigOptions,
    needs=(Operated,),
    together=True,
    hits=BROKERS,
    inject=_set,
    proof_in_force=_is_set,
    heal=_restore,
    healed=_restored,
    impossible=_refused,
)
ADD_PARTITIONS = Verb(
    name="add-partitions",
    undo="leave",
    done="given more partitions",
    effects=_adds,
    options=AddPartitionsOptions,
    needs=(Operated,),
    together=True,
    hits=BROKERS,
    inject=_add,
    proof_in_force=_added,
    heal=_leave,
    healed=_kept,
)
