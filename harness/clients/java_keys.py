"""The Java client's keys beside librdkafka's: the tables of harness/clients/user_file.py.

Java's names and defaults are those of Kafka 3.9's own clients, librdkafka's those of 2.16; a test
compares them with the jars and the library, so none is missing or out of date.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from harness.model.client_settings import ALIASES
from harness.model.spelling import is_known

Role = Literal["producer", "consumer"]
ROLES: tuple[Role, ...] = ("producer", "consumer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One Java key that has an equal in librdkafka."""

    java: str
    librdkafka: tuple[str, ...]  # more than one where Java's key does what two do there
    java_default: str
    librdkafka_default: str  # of the last name; in Java's unit
    unit: int = 1  # librdkafka counts in units of so many of Java's


def _key(java: str, default: str, other_default: str, *names: str, unit: int = 1) -> Key:
    return Key(
        java=java,
        librdkafka=names or (java,),
        java_default=default,
        librdkafka_default=other_default,
        unit=unit,
    )


_BOTH = (
    _key("client.dns.lookup", "use_all_dns_ips", "use_all_dns_ips"),
    _key("connections.max.idle.ms", "540000", "0"),
    _key("enable.metrics.push", "true", "true"),
    _key("metadata.max.age.ms", "300000", "300000", "topic.metadata.refresh.interval.ms"),
    _key("metadata.recovery.strategy", "none", "rebootstrap"),
    _key("reconnect.backoff.max.ms", "1000", "10000"),
    _key("reconnect.backoff.ms", "50", "100"),
    _key("retry.backoff.max.ms", "1000", "1000"),
    _key("retry.backoff.ms", "100", "100"),
    _key("send.buffer.bytes", "131072", "0", "socket.send.buffer.bytes"),
    _key("socket.connection.setup.timeout.ms", "10000", "30000"),
)
KEYS: dict[Role, tuple[Key, ...]] = {
    "producer": (
        _key("acks", "all", "all"),
        _key("enable.idempotence", "true", "false"),
        _key("retries", "2147483647", "2147483647"),
        _key("max.in.flight.requests.per.connection", "5", "1000000"),
        _key("linger.ms", "0", "5"),  # Java too has 5 since 4.0 (KAFKA-14883)
        _key("delivery.timeout.ms", "120000", "300000", "message.timeout.ms"),
        # Java's key is both how long a broker may wait for the replicas, which librdkafka calls
        # by the same name, and how long the client waits for the broker.
        _key("request.timeout.ms", "30000", "60000", "request.timeout.ms", "socket.timeout.ms"),
        _key("batch.size", "16384", "1000000"),
        _key("buffer.memory", "33554432", "1073741824", "queue.buffering.max.kbytes", unit=1024),
        _key("max.request.size", "1048576", "1000000", "message.max.bytes"),
        _key("compression.type", "none", "none"),
        _key("transactional.id", "", ""),
        _key("transaction.timeout.ms", "60000", "60000"),
        _key("receive.buffer.bytes", "32768", "0", "socket.receive.buffer.bytes"),
        *_BOTH,
    ),
    "consumer": (
        _key("isolation.level", "read_uncommitted", "read_committed"),
        _key("auto.offset.reset", "latest", "latest"),
        _key("request.timeout.ms", "30000", "60000", "socket.timeout.ms"),
        _key("fetch.min.bytes", "1", "1"),
        _key("fetch.max.wait.ms", "500", "500", "fetch.wait.max.ms"),
        _key("fetch.max.bytes", "52428800", "52428800"),
        _key("max.partition.fetch.bytes", "1048576", "1048576"),
        _key("session.timeout.ms", "45000", "45000"),
        _key("heartbeat.interval.ms", "3000", "3000"),
        _key("max.poll.interval.ms", "300000", "300000"),
        _key("enable.auto.commit", "true", "true"),
        _key("auto.commit.interval.ms", "5000", "5000"),
        _key("partition.assignment.strategy", "range,cooperative-sticky", "range,roundrobin"),
        _key("group.protocol", "classic", "classic"),
        _key("group.instance.id", "", ""),
        _key("group.remote.assignor", "", ""),
        _key("client.rack", "", ""),
        _key("check.crcs", "true", "false"),
        _key("allow.auto.create.topics", "true", "false"),
        _key("receive.buffer.bytes", "65536", "0", "socket.receive.buffer.bytes"),
        *_BOTH,
    ),
}
# Java's values that librdkafka spells otherwise. (Its -1 for "the system's own" is a 0.)
VALUES: dict[str, dict[str, str]] = {
    "auto.offset.reset": {"none": "error"},
    "batch.size": {"0": "1"},
    "connections.max.idle.ms": {"-1": "0"},
    "receive.buffer.bytes": {"-1": "0"},
    "send.buffer.bytes": {"-1": "0"},
    "partition.assignment.strategy": {
        "org.apache.kafka.clients.consumer.RangeAssignor": "range",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    },
}
# Values that librdkafka alone has: a file with one of these is librdkafka's.
LIBRDKAFKAS_VALUES: dict[str, tuple[str, ...]] = {
    "auto.offset.reset": ("smallest", "beginning", "largest", "end", "error"),
    "partition.assignment.strategy": (
        *("range", "roundrobin", "cooperative-sticky"),
        *("range,roundrobin", "roundrobin,range"),
    ),
}
# The codec's own level in Java, one level in librdkafka.
COMPRESSION_LEVELS = {
    "compression.gzip.level": "gzip",
    "compression.lz4.level": "lz4",
    "compression.zstd.level": "zstd",
}

BLOCKS = "max.block.ms"  # of a Java producer's file it is used
_VALUES_ARE_OURS = "the harness writes its own keys and values"
_PARTITION_IS_OURS = "workload.partitioner chooses the partition of each record"
_METRICS = "it changes the client's metrics, not its behaviour"
_ADDRESSES = "the run's cluster gives the addresses"
_OWN_SETTING = "the harness needs its own value to record the history"
_JAVA_CODE = "Java code cannot run in the harness's client"
_PLAINTEXT = "TLS and SASL: the harness's own clusters use plaintext"
_CALLBACKS = (
    *("consume_cb", "dr_cb", "dr_msg_cb", "error_cb", "event_cb", "log_cb", "offset_commit_cb"),
    *("oauthbearer_token_refresh_cb", "rebalance_cb", "stats_cb", "throttle_cb"),
)
_INTERNAL = (
    *("internal.auto.downgrade.txn.commit", "internal.leave.group.on.close"),
    "throw.on.fetch.stable.offset.unsupported",
)
_WITHOUT_WEIGHT = (
    *("api.version.fallback.ms", "api.version.request", "api.version.request.timeout.ms"),
    *("broker.version.fallback", "builtin.features", "enable.random.seed"),
    *("internal.termination.signal", "log.queue", "log.thread.name", "produce.offset.report"),
    *("socket.blocking.max.ms", "topic.metadata.refresh.fast.cnt"),
)
# Keys without effect in a user's file, each with the reason; a final dot stands for all keys that
# begin so. One note names them.
LEFT_OUT = {
    "client.id": "the harness names its clients",
    "group.id": "the harness names its groups",
    "bootstrap.servers": _ADDRESSES,
    "metadata.broker.list": _ADDRESSES,
    "key.serializer": _VALUES_ARE_OURS,
    "value.serializer": _VALUES_ARE_OURS,
    "key.deserializer": _VALUES_ARE_OURS,
    "value.deserializer": _VALUES_ARE_OURS,
    # Confluent's serializers (AbstractKafkaSchemaSerDeConfig).
    "schema.registry.": _VALUES_ARE_OURS,
    "auto.register.schemas": _VALUES_ARE_OURS,
    "use.latest.version": _VALUES_ARE_OURS,
    "use.latest.with.metadata": _VALUES_ARE_OURS,
    "latest.compatibility.strict": _VALUES_ARE_OURS,
    "id.compatibility.strict": _VALUES_ARE_OURS,
    "normalize.schemas": _VALUES_ARE_OURS,
    "max.schemas.per.subject": _VALUES_ARE_OURS,
    "specific.avro.reader": _VALUES_ARE_OURS,
    "avro.": _VALUES_ARE_OURS,
    **dict.fromkeys(
        (
            *("key.serializer.encoding", "value.serializer.encoding", "serializer.encoding"),
            *("key.deserializer.encoding", "value.deserializer.encoding", "deserializer.encoding"),
            *("spring.json.", "spring.deserializer."),
        ),
        _VALUES_ARE_OURS,
    ),
    **dict.fromkeys(("go.", "dotnet."), "it is of a library that is built on librdkafka"),
    "basic.auth.": _VALUES_ARE_OURS,
    "bearer.auth.": _VALUES_ARE_OURS,
    "key.subject.name.strategy": _VALUES_ARE_OURS,
    "value.subject.name.strategy": _VALUES_ARE_OURS,
    "partitioner.class": _PARTITION_IS_OURS,
    "partitioner.ignore.keys": _PARTITION_IS_OURS,
    "partitioner.adaptive.partitioning.enable": _PARTITION_IS_OURS,
    "partitioner.availability.timeout.ms": _PARTITION_IS_OURS,
    "partitioner": _PARTITION_IS_OURS,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "auto.include.jmx.reporter": _METRICS,
    "metadata.max.idle.ms": "the one topic of a run is never idle that long",
    "exclude.internal.topics": "no worker subscribes by pattern",
    "default.api.timeout.ms": "it limits calls that no worker makes",
    "max.poll.records": "workers take records one by one",
    BLOCKS: "librdkafka does not block; what a send does when the queue is full is "
    "workload.when_full, and for how long workload.max_block_ms",
    "socket.connection.setup.timeout.max.ms": "librdkafka has no second, growing timeout",
    "interceptor.classes": _JAVA_CODE,
    "config.providers": _JAVA_CODE,
    "config.providers.": _JAVA_CODE,
    "statistics.interval.ms": _OWN_SETTING,
    "enable.partition.eof": _OWN_SETTING,
    "delivery.report.only.error": _OWN_SETTING,
    "enable.auto.offset.store": _OWN_SETTING,
    "interceptors": _OWN_SETTING,
    "plugin.library.paths": _OWN_SETTING,
    "auto.commit.enable": "it is that of librdkafka's simple consumer, and a group has "
    "enable.auto.commit",
    **dict.fromkeys(_CALLBACKS, "it is a function of the application's"),
    **dict.fromkeys(_INTERNAL, "it is internal to Kafka's own clients"),
    **dict.fromkeys(_WITHOUT_WEIGHT, "it changes nothing in what is recorded"),
}
# Left out too where the cluster is the harness's own; refused where it is somebody's.
PRIVATE = dict.fromkeys(("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl."), _PLAINTEXT)

_LIBRDKAFKA_BOTH = (
    "broker.address.family",
    "broker.address.ttl",
    "debug",
    "log.connection.close",
    "log_level",
    "max.in.flight",
    "message.copy.max.bytes",
    "message.max.bytes",
    "metadata.recovery.rebootstrap.trigger.ms",
    "receive.message.max.bytes",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
)
# Keys that only librdkafka knows: a file with one of these is librdkafka's.
LIBRDKAFKA_ONLY: dict[Role, tuple[str, ...]] = {
    "producer": (
        *_LIBRDKAFKA_BOTH,
        "batch.num.messages",
        "compression.codec",
        "compression.level",
        "enable.gapless.guarantee",
        "message.send.max.retries",
        "message.timeout.ms",
        "queue.buffering.backpressure.threshold",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "queue.buffering.max.ms",
        "queuing.strategy",
        "request.required.acks",
        "sticky.partitioning.linger.ms",
    ),
    "consumer": (
        *_LIBRDKAFKA_BOTH,
        "coordinator.query.interval.ms",
        "fetch.error.backoff.ms",
        "fetch.message.max.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "group.protocol.type",
        "queued.max.messages.kbytes",
        "queued.min.messages",
    ),
}


# Of these, the keys that Java's clients have since Kafka 4.0 (KIP-1102).
JAVAS_LATER = ("metadata.recovery.rebootstrap.trigger.ms",)
# Keys that are left out, but still show whether a file is librdkafka's or Java's.
_LEFT_OUT_OF_LIBRDKAFKA = (
    *_CALLBACKS,
    *_WITHOUT_WEIGHT,
    *("auto.commit.enable", "dotnet.", "go."),
    "delivery.report.only.error",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "interceptors",
    "metadata.broker.list",
    "partitioner",
    "plugin.library.paths",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "statistics.interval.ms",
)
_PRIVATE_OF_JAVA = (
    "sasl.client.callback.handler.class",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
_LEFT_OUT_OF_BOTH = ("client.id", "group.id", "bootstrap.servers")


def of_librdkafka_alone(keys: Collection[str], *, left_out: bool) -> list[str]:
    """The keys of these that librdkafka has and Java's clients have not; compares with the keys
    that are left out, or with the others."""
    names = _LEFT_OUT_OF_LIBRDKAFKA if left_out else [k for r in ROLES for k in LIBRDKAFKA_ONLY[r]]
    return [key for key in keys if is_known(key, names) and key not in JAVAS_LATER]


def of_java_alone(keys: Collection[str], *, left_out: bool) -> list[str]:
    """The keys of these that Java's clients have and librdkafka has not."""
    if left_out:
        not_javas = {*_LEFT_OUT_OF_LIBRDKAFKA, *_LEFT_OUT_OF_BOTH}
        javas = ({*LEFT_OUT} - not_javas) | {*_PRIVATE_OF_JAVA}
        return [key for key in keys if key in javas]
    javas = {key.java for role in ROLES for key in KEYS[role]} | {*COMPRESSION_LEVELS}
    return [k for k in keys if k in javas and not any(k in librdkafkas_names(r) for r in ROLES)]


def clients_keys() -> set[str]:
    """The names of all keys of both kinds of client, in either dialect."""
    return {*COMPRESSION_LEVELS}.union(*map(keys_of, ROLES))


def keys_of(role: Role) -> set[str]:
    """The names of a role's keys, in either dialect."""
    return {key.java for key in KEYS[role]} | librdkafkas_names(role)


def librdkafkas_names(role: Role) -> set[str]:
    """The names of a role's keys in librdkafka."""
    names = {name for key in KEYS[role] for name in key.librdkafka} | set(LIBRDKAFKA_ONLY[role])
    return names | set(ALIASES) if role == "producer" else names


def other_role_of(key: str, role: Role) -> Role | None:
    """The other role, if the key is that role's and not this one's in either client."""
    other: Role = "consumer" if role == "producer" else "producer"
    return other if key in keys_of(other) - keys_of(role) else None
