"""The scenario as a model: its sections, each with its keys, their types and their defaults.

What makes sense together is another matter: harness.scenario.rules.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.model.bounds import LONGEST_S, MOST
from harness.model.plan import Unit, Until, When

Value = str | int | float | bool
Count = Annotated[int, Field(ge=1, le=MOST)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_S)]
DeathPoint = Literal["before-process", "before-commit"]


class Part(BaseModel):
    """A section of the scenario: nothing unknown, nothing changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ClusterPart(Part):
    """How many nodes, and their server.properties and zoo.cfg."""

    zookeepers: Annotated[int, Field(ge=1, le=9)] = 3
    brokers: Annotated[int, Field(ge=1, le=9)] = 3
    server: dict[str, Value] = {}
    zoo: dict[str, Value] = {}
    # Keys of brokers, ZooKeepers and the topic that pass though this Kafka does not know them.
    allow_keys: Annotated[tuple[str, ...], Field(strict=False)] = ()


class DockerPart(Part):
    """What the docker backend's containers are made of."""

    image: str = ""  # one for every container, as `make image` builds; else docker-compose.yml's


class SelectorsPart(Part):
    """By which labels the pods of a Kafka that is there are found (kubectl get -l)."""

    brokers: str = ""
    zookeepers: str = ""  # only as other ends of cuts


class AttachPart(Part):
    """A Kafka in pods that the harness did not make (harness.cluster.kubernetes.attach.cluster)."""

    namespace: str = ""  # where it is; empty: the harness makes a cluster of its own
    bootstrap: Annotated[tuple[str, ...], Field(strict=False)] = ()  # host:port, as for external
    client: str = ""  # a .properties file with TLS and SASL
    selectors: SelectorsPart = SelectorsPart()
    container: str = ""  # Kafka's in a broker's pod; else the pod's first
    image: str = ""  # of the containers that faults need: sh, iptables, ip, ss, tc, python3


class KubernetesPart(Part):
    """Where the Kubernetes backend goes, and what it makes there."""

    context: str = ""  # of the kubeconfig; its current one, or the pod's own identity
    namespace: str = ""  # one of ours that is there and stays; else one of the run's own
    manifests: str = ""  # a kustomization's folder, or a file it was rendered to; else k8s/minikube
    attach: AttachPart = AttachPart()


class ExternalPart(Part):
    """A Kafka that is there: where, and by which client settings
    (harness.cluster.external.backend)."""

    bootstrap: Annotated[tuple[str, ...], Field(strict=False)] = ()  # host:port
    client: str = ""  # a .properties file with TLS and SASL, from where the command is given


class BackendPart(Part):
    """Settings of one backend each."""

    docker: DockerPart = DockerPart()
    kubernetes: KubernetesPart = KubernetesPart()
    external: ExternalPart = ExternalPart()


class TopicPart(Part):
    """The one topic; `leader` says where the first partition's leader is placed."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,200}$")] = "harness"
    partitions: Annotated[int, Field(ge=1, le=1000)] = 1
    replication_factor: Annotated[int, Field(ge=1, le=1000)] = 3
    leader: str = "any"  # any | controller | not-controller | kafkaN
    config: dict[str, Value] = {}


class WorkloadPart(Part):
    """What the workers do."""

    kind: Literal["write-read", "stream"]
    rounds: Count = 10_000
    read_via: Literal["bootstrap", "follower"] = "bootstrap"
    read_deadline_ms: Count = 1000
    producers: Count = 1
    consumers: Annotated[int, Field(ge=0, le=MOST)] = 1
    rate: Annotated[float, Field(gt=0, le=1_000_000)] = 1000.0
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = 20.0
    value_bytes: Annotated[int, Field(ge=20, le=1_000_000)] = 100
    longest_outage_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = 30.0
    # With workload.producer.transactional.id (workloads/client/transactions.py): sends in a
    # transaction, and how many transactions until one is aborted on purpose (0: none is).
    transaction_sends: Count = 100
    transaction_abort_every: Annotated[int, Field(ge=0, le=MOST)] = 0
    # Members of one group beside the consumers that follow the log (workloads/group_consumer.py).
    group_consumers: Annotated[int, Field(ge=0, le=MOST)] = 0
    commit: Literal["auto", "before", "after"] = "after"  # as the client does, or by processing
    batch: Count = 50  # records that a member takes at a time
    process_ms: Annotated[float, Field(ge=0, le=MOST)] = 0.0  # what processing one record takes
    # Where the first member ends itself by SIGKILL, then its successor, …; each once it has polled
    # `dies_after` records.
    dies: Annotated[tuple[DeathPoint, ...], Field(strict=False)] = ()
    dies_after: Count = 1000
    producer: dict[str, Value] = {}
    consumer: dict[str, Value] = {}

    @property
    def stream_sends(self) -> float:
        """How many records `stream` means to send."""
        return self.rate * self.producers * self.duration_s


class FaultPart(Part):
    """One line of the plan: a verb at a target, at a time or after N acks, once or repeatedly."""

    verb: str
    target: str
    at_s: Seconds | None = None
    after_acks: Count | None = None
    after_rounds: Count | None = None  # a round is one send
    every_s: Annotated[float, Field(gt=0, le=LONGEST_S)] | None = None
    every_acks: Count | None = None
    every_rounds: Count | None = None
    times: Count = 1
    for_s: Seconds = 0.0
    when: When | None = None
    until: Until | None = None
    options: dict[str, Value | list[str]] = {}

    @property
    def first(self) -> tuple[Unit, float]:
        """When the first of the series is due: unit and amount."""
        if self.at_s is not None:
            return "seconds", self.at_s
        if self.after_acks is not None:
            return "acks", float(self.after_acks)
        if self.after_rounds is not None:
            return "rounds", float(self.after_rounds)
        return "seconds", 0.0  # at once when `when` comes true

    @property
    def period(self) -> float:
        """From one of the series to the next, in the unit of `first`."""
        return float(self.every_s or self.every_acks or self.every_rounds or 0)

    @property
    def last(self) -> float:
        """When the last of the series is due, in the unit of `first`."""
        return self.first[1] + self.period * (self.times - 1)


class MixedPart(Part):
    """Faults drawn at random: each period some of `faults`, begun and healed within it.

    Only verb, target, options, until and for_s of an entry count. for_s = 0: drawn as well.
    """

    faults: tuple[FaultPart, ...]
    period_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = 30.0
    most: Count = 2  # faults in one period
    quiet: Annotated[float, Field(ge=0, lt=1)] = 0.25  # share of the periods without any
    until_s: Annotated[float, Field(gt=0, le=LONGEST_S)]  # no period begins that would end later


class CheckPart(Part):
    """What the checkers are to measure."""

    unavailability_threshold_ms: Count = 500
    replicas: bool = False  # compare at the end what every replica's log holds
    watermarks: bool = False  # follow each replica's log end and high watermark


class ScenarioError(ValueError):
    """The scenario cannot be run as it stands; the message names file, key and remedy."""


class Scenario(Part):
    """One experiment, complete."""

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
    expect: dict[str, Annotated[str, Field(max_length=100)]] = Field(default={})
