"""zoo.cfg and server.properties as pure functions of the nodes and of the scenario's settings.

Three layers, the later one wins: what a small test cluster needs, what the scenario sets, and what
the harness owns (identities and addresses). A scenario may not set the keys of the last layer.

    [cluster.server]        brokers and KRaft's controllers
    [cluster.broker]        brokers alone
    [cluster.controller]    controllers alone; in a combined node it wins over the brokers'
    [cluster.zoo]           ZooKeepers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.cluster.nodes import Node, brokers, controllers, zookeepers
from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.sections.kafka_releases import ZOOKEEPERS_SESSION, Metadata

STARTED = "] started (kafka.server.KafkaServer)"  # a broker's word, once it is registered
KRAFT_STARTED = "Kafka Server started (kafka.server.KafkaRaftServer)"  # of any node of KRaft's
# What a node logs once it is up, by its role: one of these.
UP: Mapping[str, tuple[str, ...]] = {
    "broker": (STARTED, KRAFT_STARTED),
    "controller": (KRAFT_STARTED,),
    "zookeeper": ("binding to port",),
}

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

Settings = Mapping[str, str | int | float | bool]

OWNED_BY_HARNESS = {
    "server": ("broker.id", "listeners", "advertised.listeners", "log.dirs", "zookeeper.connect"),
    "zoo": ("dataDir", "dataLogDir", "clientPort"),
    "kraft": (
        *("process.roles", "node.id", "controller.listener.names"),
        *("controller.quorum.voters", "controller.quorum.bootstrap.servers"),
        *("broker.id", "listeners", "advertised.listeners", "listener.security.protocol.map"),
        *("log.dirs", "metadata.log.dir"),
    ),
}

ZOO_DEFAULTS: Settings = {
    "tickTime": 2000,
    "initLimit": 10,
    "syncLimit": 5,
    "maxClientCnxns": 0,
    "admin.enableServer": False,
    "4lw.commands.whitelist": "*",
}

SERVER_DEFAULTS: Settings = {
    # Leadership moves only when a fault or the scenario moves it.
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    # Nothing may be deleted behind the checker's back.
    "log.retention.ms": -1,
    ZOOKEEPERS_SESSION: 6000,
    "zookeeper.connection.timeout.ms": 30000,
    "controlled.shutdown.enable": True,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.min.isr": 2,
    "group.initial.rebalance.delay.ms": 0,
    # Six JVMs on two cores: small pools, small cleaner.
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 4,
    "log.cleaner.dedupe.buffer.size": 2097152,
}
_ZOOKEEPERS = (
    *(ZOOKEEPERS_SESSION, "zookeeper.connection.timeout.ms"),
    "controlled.shutdown.enable",  # on by default; a key that later releases do not have
)
_KRAFT_DEFAULTS = {key: value for key, value in SERVER_DEFAULTS.items() if key not in _ZOOKEEPERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What a scenario sets of its nodes, by who gets it, and where the metadata are kept."""

    metadata: Metadata = "zookeeper"
    dynamic: bool = False  # whether the quorum's own log says who votes
    features: Mapping[str, int] = field(default_factory=dict)  # that disks are formatted with
    server: Settings = field(default_factory=dict)
    broker: Settings = field(default_factory=dict)
    controller: Settings = field(default_factory=dict)
    zoo: Settings = field(default_factory=dict)


def defaults_of(metadata: Metadata | None) -> Settings:
    """What the brokers of a small cluster need beside Kafka's own defaults."""
    return SERVER_DEFAULTS if metadata in (None, "zookeeper") else _KRAFT_DEFAULTS


def zoo_cfg(node: Node, nodes: Sequence[Node], data: str, settings: Settings) -> dict[str, str]:
    """The zoo.cfg of one member; `data` is its directory."""
    servers = {f"server.{n.id}": f"{n.address}:2888:3888" for n in zookeepers(nodes)}
    own: Settings = {"dataDir": data, "clientPort": node.port, **servers}
    return _text({**ZOO_DEFAULTS, **settings, **own})


def server_properties(
    node: Node, nodes: Sequence[Node], data: str, settings: Settings
) -> dict[str, str]:
    """The server.properties of one broker beside ZooKeeper; `data` is its log directory."""
    own: Settings = {
        "broker.id": node.id,
        "listeners": f"PLAINTEXT://{node.endpoint}",
        "log.dirs": data,
        "zookeeper.connect": ",".join(n.endpoint for n in zookeepers(nodes)),
    }
    return _text({**SERVER_DEFAULTS, **_sized(node, nodes), **settings, **own})


def kraft_properties(
    node: Node, nodes: Sequence[Node], data: str, settings: ClusterSettings
) -> dict[str, str]:
    """The server.properties of one broker, controller or combined node; `data` is its log
    directory."""
    of_quorum, leads = controllers(nodes), node.role == "controller" or node.combined
    serves = node.role == "broker"
    listeners = [f"PLAINTEXT://{node.endpoint}"] * serves
    listeners += [f"CONTROLLER://{node.quorum_endpoint}"] * leads
    own: Settings = {
        "process.roles": ",".join(["broker"] * serves + ["controller"] * leads),
        "node.id": node.id,
        "listeners": ",".join(listeners),
        "log.dirs": data,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    voters = ",".join(f"{n.id}@{n.quorum_endpoint}" for n in of_quorum)
    servers = ",".join(n.quorum_endpoint for n in of_quorum)
    quorum = {"bootstrap.servers": servers} if settings.dynamic else {"voters": voters}
    return _text(
        {
            **_KRAFT_DEFAULTS,
            **_sized(node, nodes),
            **settings.server,
            **(settings.broker if serves else {}),
            **(settings.controller if leads else {}),
            **own,
            **{f"controller.quorum.{key}": value for key, value in quorum.items()},
        }
    )


def _sized(node: Node, nodes: Sequence[Node]) -> Settings:
    """What depends on how many brokers there are, and on which one it is."""
    replicas = min(3, len(brokers(nodes)))
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(2, replicas),
        **({"broker.rack": node.rack or node.name} if node.role == "broker" else {}),
    }


def properties_of(
    node: Node, nodes: Sequence[Node], data: str, settings: ClusterSettings
) -> dict[str, str]:
    """The configuration file of any node; `data` is its directory."""
    if node.role == "zookeeper":
        return zoo_cfg(node, nodes, data, settings.zoo)
    if settings.metadata == "zookeeper":
        return server_properties(node, nodes, data, {**settings.server, **settings.broker})
    return kraft_properties(node, nodes, data, settings)


def effective(settings: ClusterSettings) -> dict[str, dict[str, str]]:
    """What the nodes run with beyond Kafka's own defaults, identities and addresses left out."""
    if settings.metadata == "zookeeper":
        server = {**settings.server, **settings.broker}
        return {
            "server": _text({**SERVER_DEFAULTS, **server}),
            "zoo": _text({**ZOO_DEFAULTS, **settings.zoo}),
        }
    both = {**_KRAFT_DEFAULTS, **settings.server}
    combined = settings.metadata == "kraft-combined"
    brokers_own = {**settings.broker, **(settings.controller if combined else {})}
    controllers_own = {**(settings.broker if combined else {}), **settings.controller}
    return {
        "server": _text({**both, **brokers_own}),
        "controller": _text({**both, **controllers_own}),
    }


def settings_of(scenario: Scenario) -> ClusterSettings:
    """What a scenario sets of its nodes."""
    cluster = scenario.cluster
    return ClusterSettings(
        metadata=cluster.kept_by,
        dynamic=cluster.voters == "dynamic",
        features=cluster.features,
        server=server_settings(scenario),
        broker=cluster.broker,
        controller=cluster.controller,
        zoo=cluster.zoo,
    )


def server_settings(scenario: Scenario) -> dict[str, str | int | float | bool]:
    """The settings of all nodes but ZooKeepers: the scenario's, and what lets a follower serve
    reads (KIP-392) where the workload asks for it.

    With the default fetch wait a follower learns of a new watermark up to half a second late.
    """
    own: Settings = {"replica.selector.class": RACK_AWARE, "replica.fetch.wait.max.ms": 10}
    wanted = scenario.workload.read_via == "follower"
    return {**(own if wanted else {}), **scenario.cluster.server}


def render(properties: Mapping[str, str]) -> str:
    """The text of a .properties file."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())


LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.request.logger=WARN
"""


def _text(properties: Settings) -> dict[str, str]:
    return {key: kafka_text(value) for key, value in properties.items()}
