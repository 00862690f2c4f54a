"""run.json as a model: what was to be run, how far it got, and how it ended.

It is written before anything starts, replaced as the run goes on, and read by the check, the
export, `heal`. Only harness.model.runs.run_folder reads and writes it.

    schema 2    the plan's steps have their `effects`, and how reports describe them (`telling`)
    schema 1    they do not

`upgrade` makes the newest schema of an older one. A run.json can come from anybody: one sentence
refuses whatever breaks what the checks and the reports rely on.
"""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import to_jsonable_python

from harness.model.bounds import (
    Address,
    Measure,
    Name,
    Number,
    RunId,
    Time,
    Utc,
    problem_of_producer,
    problem_of_settings,
)
from harness.model.plan import NodeKind, Step
from harness.model.runs import json_text
from harness.model.runs.old_runs import complete_steps
from harness.model.scenario import Scenario

SCHEMA: Final = 2
State = Literal["running", "complete", "incomplete"]


class RecordError(ValueError):
    """It is no record of a run; the message names the key, and needs its file before it."""


class Record(BaseModel):
    """A part of run.json: nothing unknown, nothing changed after reading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, allow_inf_nan=False
    )


class ClockRecord(Record):
    """One moment by two clocks: what turns the history's times into wall-clock time."""

    monotonic_ns: Time
    utc: Utc


class StarvationRecord(Record):
    """How starved of CPU the host was while the run went on (harness.host.machine)."""

    steal_percent: Measure
    pressure_some_percent: Measure
    cgroup_throttled_s: Measure


class HostRecord(Record):
    """The machine of the harness and the workers."""

    cpus: Number
    memory_bytes: Number
    kernel: str
    cpu_starvation: StarvationRecord | None = Field(
        default=None, description="null until the run has ended in order"
    )


class NodeSettings(Record):
    """The nodes' settings, complete: of an external cluster, what decides the promises."""

    server: dict[str, str] = {}
    zoo: dict[str, str] = {}
    controller: dict[str, str] = Field(default={}, description="KRaft's controllers'")


class NodeRecord(Record):
    """One node of the cluster."""

    address: Address = Field(description="host:port, where clients reach it")
    role: NodeKind
    id: int = Field(ge=0, le=2**31 - 1, description="broker.id, node.id, or ZooKeeper's myid")
    rack: Name | Literal[""] = Field(
        default="", description="broker.rack, where several brokers are in one"
    )


class WorkerRecord(Record):
    """One worker, a successor of another one included."""

    process: Name = Field(description="its name in the history")
    role: str = Field(description="its kind, by its name in harness.model.worker_kinds")
    exit: int | None = Field(
        ge=-64, le=255, description="exit code; -N: ended by signal N; null: not ended"
    )
    config: dict[str, Any] = Field(default={}, description="its client's, in librdkafka's keys")
    dies: str = Field(default="", description="where the scenario lets it end itself")


class ProgramRecord(Record):
    """One process of a program of the user's, from its start to its end."""

    process: Name = Field(description="NAME-0, and its successors NAME-0-2, …")
    started_ns: Time
    ended_ns: Time | None = Field(default=None, description="null: it ran to the end")
    exit: int | None = Field(
        default=None, ge=-64, le=255, description="exit code; -N: ended by signal N"
    )
    unordered: bool = Field(default=False, description="whether it ended though nothing ended it")


class PhaseRecord(Record):
    """A stage of the run that has ended."""

    name: str
    start_ns: Time
    end_ns: Time
    cpu_starvation: StarvationRecord | None = Field(
        default=None, description="of the host, meanwhile"
    )


class FailureRecord(Record):
    """Why a run ended before its end."""

    phase: str
    error: str
    log: str = ""  # what a node wrote last, where that is why


class DifferenceRecord(Record):
    """A client setting whose default is another one in Java than in librdkafka."""

    client: str
    key: str
    java_default: str
    librdkafka_default: str
    used: str


class ClusterRecord(Record):
    """Where to look for a cluster that may outlive its harness; each backend sets its own keys."""

    project: str | None = Field(default=None, description="docker: the compose project")
    namespace: str | None = Field(default=None, description="kubernetes")
    context: str | None = Field(default=None, description="kubernetes: of the kubeconfig")
    topic: str | None = Field(default=None, description="the run's, where Kafka is not ours")
    group: str | None = Field(default=None, description="the run's, where Kafka is not ours")
    outputs: str | None = Field(
        default=None, description="the topic of programs' outputs, where Kafka is not ours"
    )


class RunRecord(Record):
    """run.json. What has a default is not known before the run begins, or before that moment."""

    version: Literal[2] = Field(default=SCHEMA, alias="schema")
    scenario: Scenario = Field(description="resolved, with the clients' whole configurations")
    seed: int = Field(
        ge=json_text.LEAST, le=json_text.MOST, description="of all randomness of the run"
    )
    backend: str = Field(description="where the cluster lives: local, docker, kubernetes, external")
    state: State = "running"
    command: str = Field(default="", description="runs it again, exactly")
    plan: tuple[Step, ...] = ()
    node_settings: NodeSettings | None = Field(default=None, description="null: as the scenario's")
    differences: tuple[DifferenceRecord, ...] = ()
    layers: dict[str, dict[str, str]] = Field(
        default={},
        description="where each setting of producer, consumer, server, topic and zoo comes from: a "
        "client's default, the harness, the scenario, a file and line, --set",
    )
    shown_demands: dict[str, str] = Field(
        default={},
        description="what the scenario demands of its own configuration, where it was replaced: "
        "shown, not judged",
    )
    notes: tuple[str, ...] = Field(
        default=(),
        description="on the settings that were brought: what was left out, does nothing, or was "
        "made to fit; of an import, what it passed over",
    )
    time_limit_s: Measure = Field(default=0.0, description="what the run may take in all")
    kafka_home: str | None = Field(default=None, description="null: the harness's own Kafka")
    keep: bool = Field(default=False, description="whether data and topic outlive the run")
    allow: tuple[str, ...] = Field(default=(), description="clusters not ours that may be hit")
    failure: FailureRecord | None = None
    run_id: RunId = Field(default="", description="<scenario>/<UTC time>-<seed>")
    started_utc: Utc | None = None
    ended_utc: Utc | None = None
    clock: ClockRecord | None = None
    versions: dict[str, str] = Field(default={}, description="of the harness, Kafka, Java, ...")
    features: dict[str, int] = Field(
        default={},
        description="levels of KRaft's finalized features, as the brokers told them when the load "
        "began; empty: nobody asked",
    )
    host: HostRecord | None = None
    workers: tuple[WorkerRecord, ...] = ()
    programs: tuple[ProgramRecord, ...] = ()
    files: dict[str, str] = Field(
        default={}, description="those that programs' commands and the records name: their SHA-256"
    )
    phases: tuple[PhaseRecord, ...] = ()
    nodes: dict[Name, NodeRecord] = Field(default={}, description="by name")
    replicas: tuple[tuple[Name, ...], ...] = Field(
        default=(), description="each partition's when the load began, preferred leader first"
    )
    cluster: ClusterRecord | None = None
    untold: tuple[str, ...] = Field(
        default=(), description="what an imported history does not tell (harness.model.untold)"
    )
    defaults_of: str = Field(
        default="",
        description="the client whose defaults an imported history has where nobody says otherwise",
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Refuse parts that contradict each other or are there twice."""
        for problem in _problems(self):
            raise ValueError(problem)
        return self

    @property
    def hits_nodes(self) -> bool:
        """Whether a fault is planned of anything but workers and programs."""
        return any(not step.telling or step.telling.kind != "client" for step in self.plan)

    def changed(self, **changes: Any) -> RunRecord:
        """The record with other values of these keys, checked. Raises RecordError."""
        return _validated({**self.model_dump(mode="json"), **to_jsonable_python(changes)})

    def as_json(self) -> str:
        """The text of run.json."""
        return self.model_dump_json(indent=1) + "\n"


def parse(text: str | bytes) -> RunRecord:
    """The record in run.json's text, of whichever schema. Raises RecordError."""
    try:
        raw = json_text.loads(text)
    except ValueError as error:
        raise RecordError(f"cannot be read ({error}): restore the file") from None
    if not isinstance(raw, dict) or raw.get("schema") not in (SCHEMA, *UPGRADES):
        known = " or ".join(str(number) for number in (*UPGRADES, SCHEMA))
        raise RecordError(f"not a run of this version (schema {known} expected)")
    return _validated(upgrade(raw))


# Older schemas


def upgrade(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The newest schema of an older record; what is new stays as it is."""
    record = dict(raw)
    while upgrade := UPGRADES.get(record["schema"]):
        record = upgrade(record)
    return record


def _from_1(record: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 had no effects and no telling in its plan's steps."""
    plan = record.get("plan", [])
    return {**record, "schema": 2, "plan": complete_steps(plan) if isinstance(plan, list) else plan}


UPGRADES: Final[dict[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {1: _from_1}


# What no single value can be wrong in


def _problems(record: RunRecord) -> Iterator[str]:
    """A sentence with its key for each problem; none for a record of ours."""
    chosen = record.scenario
    producer, cluster = chosen.workload.producer, chosen.cluster
    yield from _named("scenario.workload.producer", problem_of_producer(producer))
    yield from _named("scenario.topic.config", problem_of_settings(chosen.topic.config))
    for section in ("server", "broker", "controller"):
        problem = problem_of_settings(getattr(cluster, section))
        yield from _named(f"scenario.cluster.{section}", problem)
    if record.node_settings:
        yield from _named("node_settings.server", problem_of_settings(record.node_settings.server))
        controllers = record.node_settings.controller
        yield from _named("node_settings.controller", problem_of_settings(controllers))
    for number, step in enumerate(record.plan):
        settings = step.effects.topic_settings if step.effects else {}
        yield from _named(f"plan.{number}.effects.topic_settings", problem_of_settings(settings))
    for phase in record.phases:
        if phase.end_ns < phase.start_ns:
            yield f"phases: {phase.name[:80]!r} ends before it starts"
    for earlier, later in pairwise(record.phases):
        if later.start_ns < earlier.end_ns:
            yield f"phases: {later.name[:80]!r} starts before {earlier.name[:80]!r} has ended"
    yield from _twice("phases", [phase.name for phase in record.phases])
    for number, names in enumerate(record.replicas):
        yield from _twice(f"replicas.{number}: broker", list(names))
        if not names:
            yield f"replicas.{number} names no broker"
    yield from _twice("plan: step", [step.step for step in record.plan])
    yield from _twice("nodes: the id of", [(node.role, node.id) for node in record.nodes.values()])


def _named(where: str, problem: str | None) -> Iterator[str]:
    if problem:
        yield f"{where}.{problem}"


def _twice(what: str, values: list[Any]) -> Iterator[str]:
    for value, times in Counter(values).items():
        if times > 1:
            yield f"{what} {reprlib.repr(value)} is there {times} times"


# Errors


def _validated(raw: Mapping[str, Any]) -> RunRecord:
    try:
        return RunRecord.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        raise RecordError(_sentence(error)) from None


def _sentence(error: ValidationError) -> str:
    """The first problem, with its key and the remedy."""
    first = error.errors()[0]
    if first["type"] == "extra_forbidden":
        return f"{problem_of(error)}: restore the file, or use the harness that wrote it"
    return f"{problem_of(error)}: restore the file"


def problem_of(error: ValidationError) -> str:
    """The first problem, with its key."""
    first = error.errors()[0]
    key = _shown(".".join(str(part) for part in first["loc"]))
    if first["type"] == "missing":
        return f"{key} is missing"
    if first["type"] == "extra_forbidden":
        return f"unknown key {key}"
    if first["type"] == "value_error" and not key:
        return str(first["ctx"]["error"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message}, got {reprlib.repr(first['input'])}"


def _shown(key: str) -> str:
    """A key as one line: it can be anybody's text."""
    plain = key if key.isprintable() else repr(key)
    return plain if len(plain) <= 200 else f"{plain[:197]}…"
