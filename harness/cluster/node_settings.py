"""zoo.cfg and server.properties as pure functions of the nodes and of the scenario's settings.

Three layers, the later one wins: what a small test cluster needs, what the scenario sets, and what
the harness owns (identities and addresses). A scenario may not set the keys of the last layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.cluster.nodes import Node, brokers, zookeepers
from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario

STARTED = "] started (kafka.server.KafkaServer)"  # a broker's word, once it is registered

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

Settings = Mapping[str, str | int | float | bool]

OWNED_BY_HARNESS = {
    "server": ("broker.id", "listeners", "advertised.listeners", "log.dirs", "zookeeper.connect"),
    "zoo": ("dataDir", "dataLogDir", "clientPort"),
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
    "zookeeper.session.timeout.ms": 6000,
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


def zoo_cfg(node: Node, nodes: Sequence[Node], data: str, settings: Settings) -> dict[str, str]:
    """The zoo.cfg of one member; `data` is its directory."""
    servers = {f"server.{n.id}": f"{n.address}:2888:3888" for n in zookeepers(nodes)}
    own: Settings = {"dataDir": data, "clientPort": node.port, **servers}
    return _text({**ZOO_DEFAULTS, **settings, **own})


def server_properties(
    node: Node, nodes: Sequence[Node], data: str, settings: Settings
) -> dict[str, str]:
    """The server.properties of one broker; `data` is its log directory."""
    replicas = min(3, len(brokers(nodes)))
    sized: Settings = {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(2, replicas),
        "broker.rack": node.rack or node.name,
    }
    own: Settings = {
        "broker.id": node.id,
        "listeners": f"PLAINTEXT://{node.endpoint}",
        "log.dirs": data,
        "zookeeper.connect": ",".join(n.endpoint for n in zookeepers(nodes)),
    }
    return _text({**SERVER_DEFAULTS, **sized, **settings, **own})


def effective(server: Settings, zoo: Settings) -> dict[str, dict[str, str]]:
    """What the nodes run with beyond Kafka's own defaults, identities and addresses left out."""
    return {
        "server": _text({**SERVER_DEFAULTS, **server}),
        "zoo": _text({**ZOO_DEFAULTS, **zoo}),
    }


def server_settings(scenario: Scenario) -> dict[str, str | int | float | bool]:
    """The brokers' settings: the scenario's, and what lets a follower serve reads (KIP-392) where
    the workload asks for it.

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
