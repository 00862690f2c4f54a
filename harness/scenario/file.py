"""The scenario: one experiment as a TOML file, checked before anything starts.

    title = "acks=1, the leader killed every 1,000 rounds"
    extends = "study-1"            # optional: start from that scenario, change what is named here
    [backend.external]             # bootstrap, client: what only one backend needs to be told
    [cluster]                      # zookeepers, brokers, [cluster.server], [cluster.zoo]
    [topic]                        # partitions, replication_factor, leader, [topic.config]
    [workload]                     # kind, rounds | rate, duration_s; [workload.producer|consumer]
    [[faults]]                     # verb, target, at_s | after_acks | after_rounds, times, for_s…
    [mixed]                        # faults drawn at random, anew each period
    [check]                        # unavailability_threshold_ms, replicas, watermarks
    [expect]                       # lost = ">= 1" or "> 50 %", produce-gap-s = ">= 8": demands

Everything unknown is refused with the nearest right name; Kafka's own keys pass through, except
those that the harness itself owns. `ScenarioError` names file, key and remedy in one sentence.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from harness.checkout import SCENARIOS
from harness.clients import defaults
from harness.cluster.client_security import is_secret
from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.model.scenario import (
    BackendPart,
    CheckPart,
    ClusterPart,
    FaultPart,
    MixedPart,
    Part,
    TopicPart,
    WorkloadPart,
)
from harness.nemesis.targets import TARGETS, Setting, impossible, is_known, role_of
from harness.nemesis.verbs import VERBS
from harness.scenario.overlaps import contradictions
from harness.scenario.timing import timing_problems


class ScenarioError(ValueError):
    """The scenario cannot be run as it stands; the message names file, key and remedy."""


class Scenario(Part):
    """One experiment, complete and possible."""

    name: str = ""
    title: str
    description: str = ""
    cluster: ClusterPart = ClusterPart()
    backend: BackendPart = BackendPart()
    topic: TopicPart = TopicPart()
    workload: WorkloadPart
    faults: tuple[FaultPart, ...] = ()
    mixed: MixedPart | None = None
    check: CheckPart = CheckPart()
    expect: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _possible(self) -> Scenario:
        for problem in (
            *_cluster_problems(self),
            *_secret_problems(self),
            *_client_problems(self),
            *_group_problems(self),
            *_check_problems(self),
            *_fault_problems(self),
        ):
            raise ValueError(problem)
        return self


# Reading


def shipped() -> dict[str, Path]:
    """Name -> file of every scenario that comes with the harness."""
    files = sorted(SCENARIOS.glob("*.toml"), key=lambda path: path.stem)
    return {path.stem: path for path in files}


def load(which: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """A shipped scenario by name or any file by path, with `overrides` ("a.b": value) laid over.

    Raises ScenarioError.
    """
    path = find(which)
    raw = read_raw(path)
    for key, value in (overrides or {}).items():
        _set(raw, key, value)
    raw.setdefault("name", path.stem)
    try:
        return Scenario.model_validate(_lists_to_tuples(raw))
    except ValidationError as error:
        raise ScenarioError(f"{path.name}: {explain(error)}") from None


def find(which: str) -> Path:
    """The file of a scenario given by name or path."""
    if which.endswith(".toml") or "/" in which:
        path = Path(which)
        if not path.is_file():
            raise ScenarioError(f"{which}: no such file; `kafka-harness scenarios` lists names")
        return path
    known = shipped()
    if which not in known:
        raise ScenarioError(
            f"unknown scenario {which!r}{nearest(which, known)}; "
            "`kafka-harness scenarios` lists them, or give the path of a .toml file"
        )
    return known[which]


def read_raw(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The file's tables with those that it extends below them; not yet checked."""
    try:
        raw = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path.name}: not a TOML file: {error}") from None
    except OSError as error:
        raise ScenarioError(f"{path.name}: cannot be read: {error.strerror}") from None
    base = raw.pop("extends", None)
    if base is None:
        return raw
    if path in seen:
        raise ScenarioError(f"{path.name}: extends itself; remove one `extends`")
    beside = path.parent / f"{base}.toml"
    below = read_raw(beside if beside.is_file() else find(str(base)), (*seen, path))
    return _merge(below, raw)


def parse_override(text: str) -> tuple[str, Any]:
    """`workload.rounds=100` -> ("workload.rounds", 100); the value is TOML, else a plain string."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise ScenarioError(f"--set {text!r}: write path=value, as in workload.rounds=1000")
    try:
        return path.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value


def nearest(word: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    """` (did you mean 'x'?)` when something like `word` is known, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def explain(error: ValidationError) -> str:
    """The first problem in one sentence that names the key and what would be right."""
    first = error.errors()[0]
    location = [str(part) for part in first["loc"]]
    key = ".".join(location)
    if first["type"] == "extra_forbidden":
        return f"unknown key {key}{nearest(location[-1], _keys_at(location[:-1]))}"
    if first["type"] == "missing":
        return f"{key} is missing"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message}, got {first['input']!r}" if key else message


def _keys_at(location: Sequence[str]) -> list[str]:
    model: Any = Scenario
    for part in filter(lambda part: not part.isdigit(), location):
        model = model.model_fields[part].annotation if part in model.model_fields else None
        model = {"faults": FaultPart, "mixed": MixedPart}.get(part, model)
        if model is None or not hasattr(model, "model_fields"):
            return []
    return list(model.model_fields)


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(under, dict) and isinstance(value, dict)
        merged[key] = _merge(under, value) if both and isinstance(under, dict) else value
    return merged


# Sections whose keys are Kafka's own and hold dots: the rest of the path is one key.
_OPEN = (
    "cluster.server",
    "cluster.zoo",
    "topic.config",
    "workload.producer",
    "workload.consumer",
)


def _set(raw: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at a dotted path; below an open section the rest of it is one key."""
    section = next((s for s in _OPEN if path.startswith(s + ".")), None)
    parts = [*section.split("."), path[len(section) + 1 :]] if section else path.split(".")
    place: Any = raw
    for part in parts[:-1]:
        if isinstance(place, list):
            if not part.isdigit() or int(part) >= len(place):
                raise ScenarioError(f"--set {path}: there is no entry {part}")
            place = place[int(part)]
        else:
            place = place.setdefault(part, {})
        if not isinstance(place, dict | list):
            raise ScenarioError(f"--set {path}: {part} has no keys")
    if isinstance(place, list):
        raise ScenarioError(f"--set {path}: name a key below entry number")
    place[parts[-1]] = value


def _lists_to_tuples(raw: dict[str, Any]) -> dict[str, Any]:
    mixed = raw.get("mixed")
    if isinstance(mixed, dict):
        mixed = {**mixed, "faults": tuple(mixed.get("faults", ()))}
    return {**raw, "faults": tuple(raw.get("faults", ())), "mixed": mixed}


# What cannot be


def _cluster_problems(scenario: Scenario) -> list[str]:
    cluster, topic = scenario.cluster, scenario.topic
    problems = []
    if topic.replication_factor > cluster.brokers:
        problems.append(
            f"topic.replication_factor is {topic.replication_factor} but cluster.brokers is "
            f"{cluster.brokers}: lower the one or raise the other"
        )
    for where, keys in (("topic.config", topic.config), ("cluster.server", cluster.server)):
        minimum = keys.get("min.insync.replicas")
        if minimum is not None and int(minimum) > topic.replication_factor:
            problems.append(
                f"{where}.min.insync.replicas is {minimum} but topic.replication_factor is "
                f"{topic.replication_factor}: no send with acks=all could ever succeed"
            )
    for section, settings in (("server", cluster.server), ("zoo", cluster.zoo)):
        for key in settings:
            if key in OWNED_BY_HARNESS[section] or key.startswith("server."):
                problems.append(f"cluster.{section}.{key} is set by the harness: remove it")
    if topic.leader not in ("any", "controller", "not-controller") and not (
        topic.leader.startswith("kafka") and is_known(topic.leader, _setting(scenario))
    ):
        problems.append(
            f"topic.leader: {topic.leader!r} is none of any, controller, not-controller, kafkaN"
        )
    return problems


def _secret_problems(scenario: Scenario) -> list[str]:
    work = scenario.workload
    both = {"producer": work.producer, "consumer": work.consumer}
    return [
        f"workload.{role}.{key}: TLS and SASL are never kept with a run: put the key into the "
        "file that backend.external.client (or backend.kubernetes.attach.client) names"
        for role, config in both.items()
        for key in config
        if is_secret(key)
    ]


def _client_problems(scenario: Scenario) -> list[str]:
    producer = scenario.workload.producer
    if why := defaults.transaction_problem(producer):
        return [f"workload.producer: {why}"]
    if scenario.workload.transaction_abort_every and "transactional.id" not in producer:
        return [
            "workload.transaction_abort_every: set workload.producer.transactional.id, or "
            "there is no transaction to abort"
        ]
    acks = str(producer.get("acks", producer.get("request.required.acks", "all")))
    if "unacknowledged-lost" in scenario.expect and acks != "0":
        return [
            f"expect.unacknowledged-lost: set workload.producer.acks=0; with acks={acks} what "
            "is gone is lost, or was never acknowledged"
        ]
    idempotent = producer.get("enable.idempotence") is True
    if idempotent and acks not in ("all", "-1"):
        return [
            f"workload.producer: enable.idempotence=true needs acks=all, but acks is {acks}: "
            "change one of them"
        ]
    if idempotent and int(producer.get("retries", 1)) == 0:
        return ["workload.producer: enable.idempotence=true needs retries > 0"]
    return []


def _group_problems(scenario: Scenario) -> list[str]:
    work = scenario.workload
    if work.group_consumers and work.kind != "stream":
        return ['workload.group_consumers: only kind = "stream" has a group']
    if work.dies and not work.group_consumers:
        return ["workload.dies: set workload.group_consumers, or nobody is there to die"]
    if work.dies and work.dies_after * len(work.dies) >= work.stream_sends:
        return [
            f"workload.dies_after: {len(work.dies)} deaths after {work.dies_after:,} records "
            f"each, but the workload sends only {work.stream_sends:,.0f}"
        ]
    asked = sorted({"skipped", "reprocessed"} & scenario.expect.keys())
    if asked and not work.group_consumers:
        return [f"expect.{asked[0]}: set workload.group_consumers, or there is no group to judge"]
    return []


def _check_problems(scenario: Scenario) -> list[str]:
    """Demands on what nobody would look at."""
    check, expect = scenario.check, scenario.expect
    if "diverged" in expect and not check.replicas:
        return ["expect.diverged: set check.replicas=true, or nobody compares them"]
    watched = (
        "watermark-ahead",
        "early-read",
        "isr-leave-s",
        "isr-return-s",
        "kept-past-log-end",
        "lost-within-log-end",
    )
    return [
        f"expect.{name}: set check.watermarks=true, or nobody looks at the replicas"
        for name in watched
        if name in expect and not check.watermarks
    ]


def _fault_problems(scenario: Scenario) -> list[str]:
    problems = []
    drawn = scenario.mixed.faults if scenario.mixed else ()
    named = [(f"faults.{number}", fault) for number, fault in enumerate(scenario.faults)]
    named += [(f"mixed.faults.{number}", fault) for number, fault in enumerate(drawn)]
    for where, fault in named:
        if fault.verb not in VERBS:
            problems.append(f"{where}.verb: {fault.verb!r} is unknown{nearest(fault.verb, VERBS)}")
            continue
        verb = VERBS[fault.verb]
        problems += [
            f"{where}.options: {key} takes one value, not a list"
            for key, value in fault.options.items()
            if isinstance(value, list) and key not in verb.lists
        ]
        if not problems:
            problems += [f"{where}.options: {p}" for p in verb.problems(fault.options)]
        problems += [f"{where}.{p}" for p in target_problems(fault, scenario)]
        if where.startswith("faults"):
            problems += timing_problems(where, fault, scenario.workload)
    if not problems:
        problems += contradictions(scenario.faults, _setting(scenario))
    return [*problems, *_mixed_problems(scenario)]


def target_problems(fault: FaultPart, scenario: Scenario) -> list[str]:
    """Why the verb cannot hit that target, here or anywhere: at most one reason."""
    verb, target, setting = VERBS[fault.verb], fault.target, _setting(scenario)
    if not is_known(target, setting):
        return [f"target: {target!r} is unknown{nearest(target, TARGETS)}"]
    if why := impossible(target, setting):
        return [f"target: {target}: {why}"]
    if verb.targets and target not in verb.targets:
        return [f"target: {verb.name} takes {', '.join(verb.targets)}, not {target}"]
    if role_of(target) not in verb.hits:
        kinds = ", ".join(f"a {role}" for role in sorted(verb.hits))
        return [f"target: {verb.name} cannot be done to {target}, only to {kinds}"]
    why = verb.impossible(setting, fault.options, target)
    return [f"verb: {verb.name}: {why}"] if why else []


def _setting(scenario: Scenario) -> Setting:
    """What targets and verbs ask of a scenario."""
    work, cluster, topic = scenario.workload, scenario.cluster, scenario.topic
    streams = work.kind == "stream"
    return Setting(
        brokers=cluster.brokers,
        zookeepers=cluster.zookeepers,
        partitions=topic.partitions,
        replicas=topic.replication_factor,
        producers=work.producers if streams else 0,
        consumers=work.consumers if streams else 0,
        members=work.group_consumers,
        transactions="transactional.id" in work.producer,
        any_broker=bool(
            scenario.backend.external.bootstrap or scenario.backend.kubernetes.attach.bootstrap
        ),
    )


def _mixed_problems(scenario: Scenario) -> list[str]:
    mixed, work = scenario.mixed, scenario.workload
    if mixed is None:
        return []
    if not mixed.faults:
        return ["mixed.faults: name at least one fault to draw from"]
    if mixed.until_s < mixed.period_s:
        return [f"mixed.until_s is {mixed.until_s:g}, shorter than mixed.period_s"]
    if work.kind == "stream" and mixed.until_s > work.duration_s:
        return [
            f"mixed.until_s is {mixed.until_s:g}, but workload.duration_s is "
            f"{work.duration_s:g}: raise the one or lower the other"
        ]
    return []


def with_clients(
    chosen: Scenario, producer: Mapping[str, Any], consumer: Mapping[str, Any]
) -> Scenario:
    """The scenario with the clients' complete configurations in place; checked again."""
    work = chosen.workload.model_copy(
        update={"producer": dict(producer), "consumer": dict(consumer)}
    )
    try:
        return Scenario.model_validate({**dict(chosen), "workload": work})
    except ValidationError as error:
        raise ScenarioError(f"{chosen.name}: {explain(error)}") from None
