"""Lays a scenario, the user's own files and `--set` over each other: what the run really has.

    clients    the defaults of one client, the scenario's section (beside a file only its times),
               the file, --set            harness.clients.defaults
    brokers    the harness's defaults, the scenario's, the file, --set; a KRaft file of one role
               goes into [cluster.broker] or [cluster.controller]
    topic      the scenario's, the topic's file, --set; unclean elections and min.insync.replicas of
               a broker's file win over the scenario's

`origins` says where the value of each key comes from. Notes say what of the scenario was replaced,
which of its times were kept, and which lines of a broker's file do nothing. Once a file has
replaced something, the scenario's demands on its own clients are only shown
(harness.model.sections.expect).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.clients.defaults import (
    CLIENTS,
    HARNESS,
    INDEX,
    JAVA,
    SCENARIO,
    SET,
    Asked,
    ClientName,
    Layered,
    client_default,
    layer_config,
)
from harness.clients.java_keys import ROLES, Role
from harness.clients.user_file import ClientConfig
from harness.cluster.broker_limits import fitted
from harness.cluster.node_settings import defaults_of
from harness.model.bounds import problem_of_producer
from harness.model.kafka_text import kafka_text, same_text
from harness.model.scenario import Scenario, ScenarioError, TopicPart, WorkloadPart
from harness.model.sections.expect import split_demands
from harness.model.worker_kinds import KINDS, asked_for
from harness.scenario import file
from harness.scenario.client_keys import with_lines
from harness.scenario.kafka.modes import counts_in
from harness.scenario.layers.broker_files import BrokerFile, numbers_of
from harness.scenario.layers.topic_synonyms import DECISIVE, reasons_in_vain
from harness.scenario.rules import OF_TRANSACTIONS, problems

_INSTANCE, _TRANSACTIONAL = "group.instance.id", "transactional.id"
_NEW_TOPIC = {
    key: TopicPart.model_fields[key].default for key in ("partitions", "replication_factor")
}
Origins = dict[str, dict[str, str]]  # section -> key -> where its value comes from


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The user's own files, read."""

    clients: Mapping[Role, ClientConfig] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)  # producer, consumer, server, topic
    server: BrokerFile = field(default_factory=BrokerFile)
    topic: BrokerFile = field(default_factory=BrokerFile)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """The settings of a run, after all layers."""

    scenario: Scenario
    origins: Origins
    shown_demands: Mapping[str, str]
    notes: tuple[str, ...]


def lay(own: file.Source, files: Files) -> Laid:
    """The settings of a run of that scenario with these files. Raises ScenarioError."""
    tables, notes, replaced = with_broker_files(own, files)
    shape = own.shape(tables)
    clients = {role: _client(role, own, files, shape) for role in ROLES}
    notes += [
        note for role in ROLES for note in _client_notes(role, clients[role], files, own.which)
    ]
    config = {role: dict(clients[role].config) for role in ROLES}
    notes += _waits_when_full(tables["workload"], files)
    notes += _give_instances(config["consumer"], shape.workload)
    notes += _commits(clients["consumer"], files.clients.get("consumer"), shape.workload)
    tables["workload"] = {**tables["workload"], **config}
    shown: dict[str, str] = {}
    replaced = replaced or any(client.replaced for client in clients.values())
    if files.paths:
        _, given = own.own_and_set("expect")
        tables["expect"], shown = _demands(tables, given, replaced=replaced)
        notes += _demand_notes(shown, own.which)
    origins: Origins = {
        **{role: dict(sorted(clients[role].layers.items())) for role in ROLES},
        **_origins_of_nodes(own, files, tables),
    }
    try:
        scenario = file.checked_scenario(tables, own.path.name)
    except ScenarioError as error:
        message = str(error)
        for role in ROLES:
            message = with_lines(message, f"workload.{role}", config[role], origins[str(role)])
        sections = ("cluster.server", f"cluster.{files.server.section}", "topic.config")
        for section in dict.fromkeys(sections):
            part, name = section.split(".")
            whose = "topic" if part == "topic" else name
            message = with_lines(message, section, tables[part][name], origins[whose])
        raise ScenarioError(message) from None
    return Laid(
        scenario=scenario,
        origins=origins,
        shown_demands=shown,
        notes=tuple(notes),
    )


def by_layer(origins: Mapping[str, str], config: Mapping[str, Any]) -> str:
    """A section's settings, grouped by layer: `scenario: acks = 1; --set: …`."""
    groups: dict[str, dict[str, Any]] = {}
    for key, origin in origins.items():
        groups.setdefault(origin, {})[key] = config[key]
    return "; ".join(f"{origin}: {_settings_text(values)}" for origin, values in groups.items())


# Brokers and topic


def with_broker_files(own: file.Source, files: Files) -> tuple[dict[str, Any], list[str], bool]:
    """A scenario's tables with a broker's and a topic's file between it and what is set; notes; and
    whether something of the scenario was replaced."""
    whose, cluster = files.server.section, own.shape().cluster
    sections = ("cluster.server", f"cluster.{whose}", "topic.config")
    (server, set_server), (part, set_part), (config, set_config) = map(own.own_and_set, sections)
    topic, set_topic = own.own_and_set("topic")
    given = {**set_server, **set_part}
    of_server, of_topic = files.server.settings, dict(files.topic.settings)
    counting = {k: value for k, value in of_server.items() if counts_in(whose, k, cluster)}
    fit = fitted({**server, **part}, of_server, given)
    numbers = {key: of_topic.pop(name) for key, name in numbers_of(files.topic).items()}
    decisive: dict[str, str] = {
        key: given.get(key, counting[key])
        for key in DECISIVE
        if key in counting and key in config and key not in of_topic and key not in set_config
    }
    notes = [
        f"{'--set: ' + key if key in given else files.server.labels[key]} = "
        f"{kafka_text(value)} is the run's topic's, in place of the "
        f"scenario's topic.config.{key} = {kafka_text(config[key])}"
        for key, value in decisive.items()
    ]
    gone = {
        "server": {
            **_changed({**server, **part}, counting),
            **{k: value for k, value in {**server, **part}.items() if k not in fit.own},
        },
        "topic": {**_changed(config, of_topic), **_changed(topic, numbers)},
    }
    notes += [
        f"{files.paths[whose]} replaces the scenario's {_settings_text(values)}"
        for whose, values in gone.items()
        if values
    ]
    whole = {**of_server, **given}
    notes += [
        f"{key} is {value} here, to fit {other} = {kafka_text(whole[other])}"
        for key, (value, other) in fit.added.items()
    ]
    tables = own.tables()
    added = {key: value for key, (value, _) in fit.added.items()}
    of_both = {**{k: server[k] for k in server if k in fit.own}, **added, **set_server}
    of_one = of_both if whose == "server" else {k: part[k] for k in part if k in fit.own}
    of_file = {k: value for k, value in of_server.items() if k not in given}
    nodes = {"server": of_both, whose: {**of_one, **of_file, **set_part}}
    topics = {**config, **decisive, **of_topic, **set_config}
    of_topic_itself = {
        **dict(tables.get("topic") or {}),
        **{key: _number(text) for key, text in numbers.items() if key not in set_topic},
    }
    tables["cluster"] = {**dict(tables.get("cluster") or {}), **nodes}
    tables["topic"] = {**of_topic_itself, "config": topics}
    has = {**_NEW_TOPIC, **of_topic_itself, **topics}
    brokers = {**_harness_defaults(own), **nodes["server"], **nodes[whose]}
    notes += _no_effect_notes(replace(files.server, settings=counting), has, brokers, decisive)
    return tables, notes, bool(decisive or any(gone.values()))


def _no_effect_notes(
    server: BrokerFile,
    topic: Mapping[str, Any],
    brokers: Mapping[str, Any],
    decisive: Mapping[str, str],
) -> Iterator[str]:
    for key, value in server.settings.items():
        if key in DECISIVE and key in topic and key not in decisive:
            yield (
                f"{server.labels[key]} does nothing to the run's topic, which has "
                f"{kafka_text(topic[key])} by the topic's file or --set"
            )
        for why in reasons_in_vain(key, value, topic, brokers):
            yield f"{server.labels[key]} does nothing: {why}"


def _harness_defaults(own: file.Source) -> Mapping[str, Any]:
    """The settings that the harness gives brokers of this cluster."""
    return defaults_of(own.shape().cluster.metadata)


def _origins_of_nodes(opened: file.Source, files: Files, tables: Mapping[str, Any]) -> Origins:
    """Where the settings of the nodes and the topic come from."""
    by_section: Origins = {}
    section, cluster = files.server.section, opened.shape().cluster
    given = [opened.own_and_set(f"cluster.{name}")[1] for name in ("server", section)]
    decisive = {
        key: SET if any(key in settings for settings in given) else Path(line).name
        for key, line in files.server.lines.items()
        if key in DECISIVE and counts_in(section, key, cluster)
    }
    for whose in ("server", "broker", "controller", "zoo", "topic"):
        path = "topic.config" if whose == "topic" else f"cluster.{whose}"
        own, set_ = opened.own_and_set(path)
        now = tables["topic"]["config"] if whose == "topic" else tables["cluster"].get(whose, own)
        of_file = {"topic": files.topic.lines, section: files.server.lines}.get(whose, {})
        ours = _harness_defaults(opened) if whose == "server" else {}
        origins = {
            **dict.fromkeys(ours, HARNESS),
            **dict.fromkeys((key for key in own if key in now), SCENARIO),
            **{key: "to fit others" for key in now if key in ours and key not in own},
            **{key: o for key, o in decisive.items() if whose == "topic" and key in now},
            **{key: Path(line).name for key, line in of_file.items() if key in now},
            **dict.fromkeys(set_, SET),
        }
        by_section[whose] = dict(sorted(origins.items()))
    return {
        whose: of for whose, of in by_section.items() if of or whose in ("server", "topic", "zoo")
    }


# Clients


def _client(role: Role, opened: file.Source, files: Files, shape: Scenario) -> Layered:
    """A client's configuration from all its layers. Raises ScenarioError for unclear settings that
    promises depend on."""
    own, given = opened.own_and_set(f"workload.{role}")
    of_file = files.clients.get(role)
    client_name: ClientName = shape.workload.client_defaults or JAVA
    asked = {**own, **given} if of_file is None else given
    if role == "producer" and (why := problem_of_producer(asked)):
        raise ScenarioError(f"{shape.name}: workload.producer.{why}")
    return layer_config(
        role,
        Asked(
            scenario=own,
            file=None if of_file is None else of_file.config,
            lines={} if of_file is None else of_file.lines,
            set=given,
            client=client_name if of_file is None else of_file.client,
            transactional=_needs_transactions(shape),
        ),
    )


def _needs_transactions(scenario: Scenario) -> bool:
    """Whether a demand, the group's commits, or an abort needs a transactional.id."""
    work = scenario.workload
    aborts = work.transaction_abort_every or work.transaction_abort_share
    return bool(OF_TRANSACTIONS & scenario.expect.keys() or work.commit == "transaction" or aborts)


def _client_notes(role: Role, client: Layered, files: Files, which: str) -> Iterator[str]:
    """What of the scenario a client's file replaced, and what was kept."""
    of_file = files.clients.get(role)
    if of_file is None:
        return
    parts = []
    if client.replaced:
        parts.append(f"replaced are {_settings_text(client.replaced)}")
    kept = [
        f"{key} = {kafka_text(value)} ({CLIENTS[of_file.client]}: "
        f"{client_default(role, key, of_file.client)})"
        for key, value in client.kept.items()
        if key != _TRANSACTIONAL
    ]
    if kept:
        parts.append(f"kept, so that the run stays as short as it was made, are {', '.join(kept)}")
    if _TRANSACTIONAL in client.kept:
        parts.append(f"{_TRANSACTIONAL} stays, since the scenario needs transactions")
    if parts:
        place = f"[workload.{role}] of {which}"
        yield f"{files.paths[role]} takes the place of {place}: {'; '.join(parts)}"
    for key, other in client.fitted.items():
        asked = of_file.config.get(key, "")
        yield (
            f"{of_file.lines.get(key, files.paths[role])}: {key}{f' = {asked}' if asked else ''} "
            f"is {client.config[key]} here: in librdkafka it has to fit {other} = "
            f"{client.config[other]}"
        )


def _demands(
    tables: Mapping[str, Any], given: Mapping[str, str], *, replaced: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """The demands that are judged, and those that are only shown: those that these clients cannot
    meet and, once something was replaced, those that something must happen."""
    own = file.parse_tables({**tables, "expect": tables.get("expect", {})}).expect
    stay, shown = {key: text for key, text in own.items() if key not in given}, dict[str, str]()
    if replaced:
        stay, shown = split_demands(stay)
    without = problems(file.parse_tables({**tables, "expect": {}}))
    for name, text in list(stay.items()):
        alone = file.parse_tables({**tables, "expect": {name: text}})
        if set(problems(alone)) - {*without}:
            shown[name] = stay.pop(name)
    return {**stay, **given}, shown


def _demand_notes(shown: Mapping[str, str], which: str) -> Iterator[str]:
    if shown:
        demands = ", ".join(f'{name} = "{text}"' for name, text in shown.items())
        yield (
            f"{which} demands {demands} of its own configuration, and this one is yours: that is "
            "shown, not judged; --set expect.NAME=… demands it of yours"
        )


def _waits_when_full(work: dict[str, Any], files: Files) -> Iterator[str]:
    """Let sends wait for room in the queue where a Java producer's file is brought, unless the
    scenario says what they do."""
    brought = files.clients.get("producer")
    if brought is None or brought.client != JAVA or "when_full" in work:
        return
    work["when_full"] = "wait"
    usual = WorkloadPart.model_fields["max_block_ms"].default
    told = usual if brought.max_block_ms is None else brought.max_block_ms
    waits_ms = work.setdefault("max_block_ms", told)
    yield (
        f"{files.paths['producer']}: a send waits for room in the client's queue, up to "
        f"max.block.ms = {waits_ms}, as in the Java client (else: --set workload.when_full=fail)"
    )


def _give_instances(consumer: dict[str, Any], work: WorkloadPart) -> Iterator[str]:
    """Give each of several members a group.instance.id of its own (KIP-345)."""
    members = max((n for name, n in asked_for(work).items() if KINDS[name].member), default=0)
    instance = str(consumer.get(_INSTANCE) or "")
    if members > 1 and instance and INDEX not in instance:
        consumer[_INSTANCE] = f"{instance}-{INDEX}"
        yield (
            f"{_INSTANCE} = {instance} would be that of all {members} members, and the brokers let "
            f"in one of that name: each has its own, {instance}-0 and so on"
        )


def _commits(client: Layered, of_file: ClientConfig | None, work: WorkloadPart) -> Iterator[str]:
    """A note that workload.commit decides how the group commits. Raises ScenarioError where a file
    or --set contradicts it."""
    key, grouped = "enable.auto.commit", any(KINDS[name].member for name in asked_for(work))
    if not grouped:
        return
    origin, by_itself = client.layers.get(key), work.commit == "auto"
    if origin in (HARNESS, None):
        if of_file is not None:
            by_client = (
                "Spring's containers turn that off"
                if of_file.spring
                else f"{CLIENTS[of_file.client]} by itself has it on (workload.commit=auto)"
            )
            yield (
                f"{key} is not named, and how the group commits is workload.commit "
                f"({work.commit}): {by_client}"
            )
        return
    asked = str(client.config[key]).lower() == "true"
    if asked != by_itself:
        wanted = "auto" if asked else "after"
        raise ScenarioError(
            f"{origin}: {key}={str(asked).lower()}, but workload.commit is {work.commit}: add "
            f"--set workload.commit={wanted}"
        )


# Tables


def _changed(own: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of `own` that have another value in `above`."""
    return {k: v for k, v in own.items() if k in above and not same_text(v, above[k])}


def _settings_text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {kafka_text(value)}" for key, value in settings.items())


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
