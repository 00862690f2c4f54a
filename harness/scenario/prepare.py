"""Turns the user's request into the first run.json: decides everything before anything starts.

Pure but for reading files: the same scenario, settings and seed give the same plan and the same
configurations. `show` prints the result, `run` stores it and carries it out.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.clients.differences import differences
from harness.clients.java_keys import ROLES
from harness.cluster.backend import Backend
from harness.cluster.backends import BACKENDS
from harness.cluster.capabilities import Disks, Dumps, Foreign
from harness.cluster.node_settings import ClusterSettings, effective, settings_of
from harness.config_files.settings import ConfigFileError
from harness.distribution import kafka_home
from harness.model.campaigns.matrix import Place
from harness.model.plan import Step
from harness.model.runs.run_record import DifferenceRecord, NodeSettings, RunRecord, problem_of
from harness.model.scenario import FaultPart, Scenario, ScenarioError, WorkloadPart
from harness.model.sections.kafka_releases import unpinned
from harness.model.worker_kinds import has_group
from harness.nemesis import plan
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS
from harness.scenario import file
from harness.scenario.client_keys import with_lines, wrong_value
from harness.scenario.kafka.keys import has_keys, other_kafka, release_on
from harness.scenario.kafka.modes import group_problem, mode_of
from harness.scenario.kafka.notes import kraft_notes
from harness.scenario.kafka.retention import retention_notes
from harness.scenario.layers.broker_files import mode_of_file
from harness.scenario.layers.lay import Files, by_layer, lay
from harness.scenario.layers.read_files import read_files
from harness.scenario.overrides import RELEASE
from harness.scenario.programs import files_of
from harness.scenario.rules import setting_of

SET_UP_S = 120.0
FINAL_READ_S = 120.0
FAULT_S = 60.0  # to bite, to heal and to recover: what a fault may cost beyond its own length
ROUND_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run as the user asked for it."""

    scenario: str
    seed: int
    backend: str = "local"
    settings: Mapping[str, Any] = field(default_factory=dict)
    producer_config: Path | None = None
    consumer_config: Path | None = None
    server_properties: Path | None = None
    topic_config: Path | None = None
    kafka_home: Path | None = None
    time_limit_s: float | None = None
    keep: bool = False
    unpinned: bool = False  # allow a release that was never tried here
    allow: tuple[str, ...] = ()  # foreign clusters that faults may hit

    def of(self, cell: Place, number: int, given: Mapping[str, Any]) -> Request:
        """The request for a cell of a matrix, in its run of that number, with further settings."""
        settings = {**given, **cell.settings}
        return replace(self, scenario=cell.scenario, seed=self.seed + number, settings=settings)

    @property
    def files(self) -> dict[str, Path]:
        """The user's own files that are given, by whose settings they have."""
        all_of = {
            "producer": self.producer_config,
            "consumer": self.consumer_config,
            "server": self.server_properties,
            "topic": self.topic_config,
        }
        return {whose: path for whose, path in all_of.items() if path is not None}


FILE_OPTIONS = {
    "producer": "--producer-config",
    "consumer": "--consumer-config",
    "server": "--server-properties",
    "topic": "--topic-config",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All decisions before a run begins; run.json starts with `record`."""

    record: RunRecord
    notes: tuple[str, ...]
    set_demands: frozenset[str]  # the demands of --set: judged whatever files are given

    @property
    def scenario(self) -> Scenario:
        """The scenario, resolved."""
        return self.record.scenario

    @property
    def layers(self) -> list[str]:
        """The origin of each client setting, a line for each kind of client."""
        work = self.scenario.workload
        return [
            f"{role}: {by_layer(self.record.layers.get(role, {}), config)}"
            for role, config in (("producer", work.producer), ("consumer", work.consumer))
        ]

    def without_demand(self, name: str, why: str) -> Prepared:
        """The same with one demand shown instead of judged."""
        demands = dict(self.scenario.expect)
        shown = {**self.record.shown_demands, name: demands.pop(name)}
        scenario = self.scenario.model_copy(update={"expect": demands})
        record = self.record.model_copy(update={"scenario": scenario, "shown_demands": shown})
        note = f"{name} is demanded of the scenario's own configuration: {why}, so it is shown"
        return replace(self, record=record, notes=(*self.notes, note))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The plan."""
        return self.record.plan


def prepare(request: Request) -> Prepared:
    """Resolve a request. Raises ScenarioError."""
    if request.backend not in BACKENDS:
        raise ScenarioError(
            f"--backend {request.backend}: unknown; choose one of {', '.join(BACKENDS)}"
        )
    settings, picked = _settings_with_home(request)
    own = file.open_scenario(request.scenario, settings)
    _check_release(request, own)
    files, of_files = _files(request, own)
    laid = lay(own, files)
    resolved = laid.scenario
    producer, consumer = resolved.workload.producer, resolved.workload.consumer
    _check_capabilities(request, resolved)
    grouped = has_group(resolved.workload) and not _foreign(request, resolved)
    if grouped and (why := group_problem(consumer, mode_of(resolved.cluster))):
        why = with_lines(why, "workload.consumer", consumer, laid.origins["consumer"])
        raise ScenarioError(f"{request.scenario}: workload.consumer: {why}")
    for role in ROLES:
        config = producer if role == "producer" else consumer
        if why := wrong_value(role, config, laid.origins[role]):
            raise ScenarioError(f"{request.scenario}: {why}")
    for number, member in enumerate(resolved.workload.members):
        if why := wrong_value("consumer", {**consumer, **member.consumer}, {}):
            raise ScenarioError(f"{request.scenario}: workload.members.{number}: {why}")
    setting = setting_of(resolved)
    steps = plan.make(resolved.faults, request.seed, resolved.mixed, setting=setting)
    backend = BACKENDS[request.backend]
    if why := backend.refuses(resolved) or other_kafka(backend, resolved):
        raise ScenarioError(f"{request.scenario}: --backend {request.backend}: {why}")
    of_kafka = (*kraft_notes(resolved, laid.origins), *retention_notes(resolved))
    try:
        record = RunRecord(
            scenario=resolved,
            seed=request.seed,
            backend=request.backend,
            command=command_line(request),
            plan=steps,
            node_settings=NodeSettings(**effective(_own_node_settings(resolved))),
            differences=_differences(resolved.workload),
            layers=laid.origins,
            files=files_of(resolved),
            shown_demands=dict(laid.shown_demands),
            notes=tuple(dict.fromkeys((*picked, *own.notes, *of_files, *laid.notes, *of_kafka))),
            time_limit_s=request.time_limit_s or time_limit_s(resolved, steps),
            kafka_home=str(request.kafka_home) if request.kafka_home else None,
            keep=request.keep,
            allow=request.allow,
        )
    except ValidationError as error:
        raise ScenarioError(f"{request.scenario}: {problem_of(error)}") from None
    return Prepared(
        record=record,
        notes=(*record.notes, *_length_notes(resolved, steps)),
        set_demands=frozenset(own.own_and_set("expect")[1]),
    )


def _own_node_settings(scenario: Scenario) -> ClusterSettings:
    """The scenario's settings of its nodes, without those that the workload's reads need."""
    return replace(settings_of(scenario), server=scenario.cluster.server)


def _length_notes(chosen: Scenario, steps: Sequence[Step]) -> list[str]:
    """A note if the plan makes the load longer."""
    work = chosen.workload
    lasts_s = plan.lasts_s(steps, work.rate * work.producers)
    if work.kind != "stream" or lasts_s <= work.duration_s:
        return []
    return [
        f"the plan takes at least {lasts_s:g} s, longer than workload.duration_s = "
        f"{work.duration_s:g}: the load continues until the last fault is healed"
    ]


def _files(request: Request, own: file.Source) -> tuple[Files, tuple[str, ...]]:
    """The user's own files, and notes on them. Raises ScenarioError."""
    shape, backend = own.shape(), BACKENDS[request.backend]
    own_jars = request.kafka_home if backend.image is None else None
    home = partial(kafka_home.find_kafka, own_jars, shape.cluster.release)
    release = release_on(
        backend,
        shape,
        home,
        needed=bool(request.files or has_keys(shape)),
    )
    return read_files(own, request.files, release, foreign=_foreign(request, shape))


def _foreign(request: Request, shape: Scenario) -> bool:
    """Whether the cluster belongs to somebody else."""
    return Foreign in BACKENDS[request.backend].capabilities(shape)


def _settings_with_home(request: Request) -> tuple[Mapping[str, Any], list[str]]:
    """The settings, with the release of the user's own build if there is one and, if the scenario
    names no mode, the mode of the brokers' file; notes. Raises ScenarioError for a folder that is
    no Kafka, but not for a Kafka that was not fetched."""
    if request.kafka_home is None:
        return request.settings, []
    try:
        home = kafka_home.find_kafka(request.kafka_home)
    except kafka_home.KafkaHomeError as error:
        raise ScenarioError(f"--kafka-home: {error}") from None
    settings = {**request.settings, RELEASE: home.version}
    if file.names_its_kafka(request.scenario, request.settings):
        return settings, []
    try:
        mode = mode_of_file(request.server_properties, home.version)
    except ConfigFileError:  # reported later, with all that is wrong
        mode = None
    if mode is None:
        return settings, []
    note = f"cluster.metadata is {mode}, as process.roles of {request.server_properties} says"
    return {**settings, "cluster.metadata": mode}, [note]


def _check_release(request: Request, own: file.Source) -> None:
    """Refuse a release that nobody tried here and nobody allowed."""
    allowed = request.kafka_home is not None or request.unpinned
    if not allowed and (why := unpinned(own.shape().cluster.release)):
        raise ScenarioError(f"{request.scenario}: cluster.kafka: {why}")


def _differences(work: WorkloadPart) -> tuple[DifferenceRecord, ...]:
    blocks_ms = work.max_block_ms if work.when_full == "wait" else None
    rows = [
        *differences(work.producer, "producer", blocks_ms),
        *differences(work.consumer, "consumer"),
    ]
    return tuple(DifferenceRecord(**row) for row in rows)


def time_limit_s(chosen: Scenario, steps: Sequence[Step]) -> float:
    """How long a run may take in all: generous, but finite."""
    work = chosen.workload
    load = work.rounds * ROUND_S if work.kind == "write-read" else work.duration_s
    faults = sum(step.for_s + FAULT_S for step in steps)
    send = float(chosen.workload.producer.get("message.timeout.ms", 0)) / 1000
    drain = chosen.outputs.drain_s + FINAL_READ_S if chosen.outputs else 0
    return SET_UP_S + load + faults + send + drain + FINAL_READ_S


# What `[check]` needs of a backend.
_CHECK_NEEDS = {"replicas": Dumps, "watermarks": Disks}


def _check_capabilities(request: Request, chosen: Scenario) -> None:
    """Refuse, before a node starts, what the backend's cluster cannot do."""
    backend, where = BACKENDS[request.backend], f"the backend {request.backend}"
    able = backend.capabilities(chosen)
    for key, need in _CHECK_NEEDS.items():
        if getattr(chosen.check, key) and need not in able:
            raise ScenarioError(
                f"{request.scenario}: check.{key} is not available on {where}: set it to false "
                "or choose another backend"
            )
    if chosen.cluster.disk_mib and Disks not in able:
        raise ScenarioError(
            f"{request.scenario}: cluster.disk_mib is not available on {where}: remove it or "
            "choose the backend local"
        )
    if "metadata-back" in chosen.expect and (chosen.cluster.has_zookeeper or Disks not in able):
        raise ScenarioError(
            f"{request.scenario}: expect.metadata-back: is read from the disks of KRaft's "
            'controllers: set cluster.metadata = "kraft" and the backend local, or remove it'
        )
    drawn = chosen.mixed.faults if chosen.mixed else ()
    for fault in (*chosen.faults, *drawn):
        if why := unavailable(fault, chosen, backend, where):
            raise ScenarioError(f"{request.scenario}: {why}")
    if why := _exclusion((*chosen.faults, *drawn), chosen, backend, where):
        raise ScenarioError(f"{request.scenario}: {why}")


def unavailable(
    fault: FaultPart, chosen: Scenario, backend: Backend, where: str = "this backend"
) -> str | None:
    """Why an entry cannot be carried out there: its verb needs more, or its target does not exist.
    Faults at workers need nothing of the cluster."""
    target, hits = target_of(fault.target, setting_of(chosen)), backend.hits(chosen)
    if target is None or target.kind not in hits:
        return f"{fault.target} cannot be a target on {where}, only a {' or a '.join(sorted(hits))}"
    able = backend.capabilities(chosen)
    missing = sorted(set(VERBS[fault.verb].needs) - able, key=lambda need: need.__name__)
    if target.kind == "client" or not missing:
        return None
    others = [v.name for v in VERBS.values() if set(v.needs) <= able and v.hits & hits]
    return (
        f"{fault.verb} is not available on {where}{backend.because(chosen, missing[0])}: choose "
        f"another backend, or one of {', '.join(others)}"
    )


def _exclusion(
    faults: Sequence[FaultPart], chosen: Scenario, backend: Backend, where: str
) -> str | None:
    """Why these faults cannot be in one scenario there: they need nodes started in different ways.
    Counts all that may be drawn, with any seed."""
    first: dict[str, str] = {}  # the verb that asks for a way first
    for verb, _ in plan.hitting_nodes(faults, setting_of(chosen)):
        if verb.prepares in backend.exclusive:
            first.setdefault(str(verb.prepares), verb.name)
    if len(first) < 2:
        return None
    return (
        f"{' and '.join(first.values())} cannot be in one scenario on {where}: its nodes are "
        f"started for one launch mode of {', '.join(first)} only: use each in a scenario of its own"
    )


def command_line(request: Request) -> str:
    """The command that runs this again, exactly."""
    words = ["kafka-harness", "run", request.scenario, "--seed", str(request.seed)]
    if request.backend != "local":
        words += ["--backend", request.backend]
    for name in request.allow:
        words += ["--allow", name]
    for key, value in request.settings.items():
        words += ["--set", f"{key}={_toml(value)}"]
    for whose, given in request.files.items():
        words += [FILE_OPTIONS[whose], str(given)]
    if request.unpinned:
        words.append("--unpinned")
    if request.kafka_home is not None:
        words += ["--kafka-home", str(request.kafka_home)]
    if request.time_limit_s is not None:
        words += ["--time-limit", f"{request.time_limit_s:g}"]
    return shlex.join(words)


def _toml(value: Any) -> str:
    """The text that `overrides.parse_override` reads back; plain text needs no quotes."""
    return str(value) if isinstance(value, str) else _inline(value)


def _inline(value: Any) -> str:
    """A TOML value in one line; JSON's texts, numbers and booleans are TOML too."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_inline(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)
