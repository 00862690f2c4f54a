"""A user's own client files: translated, or refused with file, line and remedy."""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.defaults import consumer_config, producer_config
from harness.clients.java_keys import (
    COMPRESSION_LEVELS,
    KEYS,
    LEFT_OUT,
    LIBRDKAFKA_ONLY,
    PRIVATE,
    ROLES,
    Role,
)
from harness.clients.properties import PropertiesError
from harness.clients.user_file import ClientConfigError, complaint_of_librdkafka, differences, read
from harness.distribution import kafka_home
from harness.host.java import find_java
from harness.model.client_settings import ALIASES
from tests.support.mock_kafka import librdkafka

Write = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Write a file of the user's and return its path."""

    def write(text: str) -> Path:
        path = tmp_path / "user.properties"
        path.write_text(text)
        return path

    return write


# --- Java's names


def test_java_names_become_librdkafkas_in_librdkafkas_units(written: Write) -> None:
    file = written("buffer.memory=33554432\nmax.request.size=2000000\ndelivery.timeout.ms=9000\n")

    expected = {
        "queue.buffering.max.kbytes": "32768",
        "message.max.bytes": "2000000",
        "message.timeout.ms": "9000",
    }
    assert expected == read(file, "producer").config


def test_javas_request_timeout_is_the_brokers_and_the_clients(written: Write) -> None:
    """One key in Java; in librdkafka the broker's wait and the client's are two."""
    producer = read(written("request.timeout.ms=15000"), "producer")
    consumer = read(written("request.timeout.ms=15000"), "consumer")

    assert {"request.timeout.ms": "15000", "socket.timeout.ms": "15000"} == producer.config
    assert {"socket.timeout.ms": "15000"} == consumer.config
    assert "socket.timeout.ms=15000" in producer.notes[0]


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ("auto.offset.reset=none", {"auto.offset.reset": "error"}),
        ("connections.max.idle.ms=-1", {"connections.max.idle.ms": "0"}),
        ("check.crcs=TRUE", {"check.crcs": "true"}),
        ("metadata.recovery.strategy=NONE", {"metadata.recovery.strategy": "none"}),
        (
            "partition.assignment.strategy="
            "org.apache.kafka.clients.consumer.RangeAssignor,"
            "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            {"partition.assignment.strategy": "range,roundrobin"},
        ),
    ],
)
def test_values_are_spelled_as_librdkafka_does(
    written: Write, java: str, librdkafka: dict[str, str]
) -> None:
    assert librdkafka == read(written(java), "consumer").config


def test_a_compression_level_counts_for_its_own_codec_only(written: Write) -> None:
    text = "compression.type=zstd\ncompression.zstd.level=5\ncompression.gzip.level=9\n"
    read_back = read(written(text), "producer")

    assert {"compression.type": "zstd", "compression.level": "5"} == read_back.config
    assert "left out: compression.gzip.level (compression.type is zstd)" in read_back.notes[0]


# --- what a file has in vain


def test_all_that_a_java_team_s_file_has_in_vain_is_one_note_with_the_reasons(
    written: Write,
) -> None:
    """Never a value: one of them is a password."""
    text = (
        "bootstrap.servers=prod:9092\nclient.id=shop\nacks=1\nmax.block.ms=60000\n"
        "key.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
        "schema.registry.url=http://registry:8081\ninterceptor.classes=com.acme.Spy\n"
        "basic.auth.user.info=shop:hunter2\nssl.key.password=hunter2\n"
        'sasl.jaas.config=PlainLoginModule required username="shop" password="hunter2";\n'
    )
    read_back = read(written(text), "producer")

    assert {"acks": "1"} == read_back.config
    (note,) = read_back.notes
    assert "user.properties: left out: bootstrap.servers (the run's cluster gives the addre" in note
    assert "; key.serializer, schema.registry.url, basic.auth.user.info (the harness wri" in note
    assert "; max.block.ms (librdkafka does not block: a full queue fails the send at once" in note
    assert "; ssl.key.password, sasl.jaas.config (TLS and SASL: the harness's own clus" in note
    assert "; interceptor.classes (Java code cannot run" in note
    assert "hunter2" not in note


def test_a_file_without_such_keys_gets_no_note(written: Write) -> None:
    assert () == read(written("acks=1\n"), "producer").notes


def test_on_somebody_s_cluster_tls_and_sasl_have_a_file_of_their_own(written: Write) -> None:
    file = written(
        "bootstrap.servers=prod:9092\nsasl.password=hunter2\nacks=1\nmetric.reporters=my.Own\n"
    )

    with pytest.raises(ClientConfigError) as refused:
        read(file, "producer", foreign=True)

    assert "line 2: sasl.password cannot be used here" in str(refused.value)
    assert "backend.external.client" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert {"acks": "1"} == read(file, "producer").config


def test_a_key_of_a_class_of_the_user_s_own_is_left_out_and_a_slip_is_not(written: Write) -> None:
    plugin = "metric.reporters=com.acme.Reporter\nacme.reporter.host=graphite\n"
    (note,) = read(written(plugin), "producer").notes

    assert "; acme.reporter.host (taken for a key of com.acme.Reporter" in note
    with pytest.raises(ClientConfigError, match=r"line 3: lingr\.ms .* did you mean linger\.ms\?"):
        read(written(plugin + "lingr.ms=5\n"), "producer")
    own = plugin.replace("com.acme.", "org.apache.kafka.common.metrics.")
    with pytest.raises(ClientConfigError, match=r"line 2: acme\.reporter\.host is not a producer"):
        read(written(own), "producer")


# --- librdkafka's names


def test_a_file_with_a_name_that_only_librdkafka_has_is_taken_as_it_is(written: Write) -> None:
    """request.timeout.ms means the broker's wait alone here, so socket.timeout.ms stays out."""
    file = written("queue.buffering.max.ms=3\nrequest.timeout.ms=4000\ndelivery.timeout.ms=9000\n")

    expected = {"linger.ms": "3", "request.timeout.ms": "4000", "message.timeout.ms": "9000"}
    assert expected == read(file, "producer").config


def test_the_two_clients_names_are_not_mixed(written: Write) -> None:
    file = written("queue.buffering.max.ms=3\nbuffer.memory=1000000\n")

    with pytest.raises(ClientConfigError, match=r"mixes .*max\.ms, line 1.*buffer\.memory, line 2"):
        read(file, "producer")


# --- refusals


@pytest.mark.parametrize(
    ("role", "text", "complaint"),
    [
        ("producer", "# ours\nlinger.mss=5", r"line 2: linger\.mss .* did you mean linger\.ms\?"),
        (
            "producer",
            "acme.host=x",
            r"acme\.host is not a producer key .*: remove the line",
        ),
        ("producer", "transactional.id=t\nacks=1", "do not go together"),
        ("producer", "transaction.timeout.ms=soon", r"line 1: transaction\.timeout\.ms=soon"),
        ("producer", "bootstrap.server=prod:9092", r"did you mean bootstrap\.servers\?"),
        ("producer", "fetch.min.bytes=1", r"is a consumer's key.*--consumer-config"),
        ("producer", "acks=1\nlinger.ms=abc", r"line 2: linger\.ms=abc: Invalid value"),
        ("producer", "buffer.memory=32MB", r"line 1: buffer\.memory=32MB is not a whole number"),
        ("producer", "acks=1\nenable.idempotence=true", "do not go together: `acks` must be"),
        ("consumer", "isolation.level=serializable", r"line 1: isolation\.level=serializable"),
        ("producer", "acks=1\n\nacks=all", r"line 3: acks is set in line 1 already"),
        ("producer", "acks=\\u12", r"line 1: \\u12 is no"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    written: Write, role: Role, text: str, complaint: str
) -> None:
    with pytest.raises(PropertiesError, match=complaint) as refused:
        read(written(text), role)

    assert "user.properties" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_that_is_wrong_with_a_file_is_told_at_once_with_a_line_each(written: Write) -> None:
    text = (
        "acks=1\nlinger.mss=3\nbatch.size=abc\nretries=xx\nfetch.min.bytes=3\nacks=all\n"
        "buffer.memory=32MB\nenable.idempotence=true\n"
    )

    with pytest.raises(ClientConfigError) as refused:
        read(written(text), "producer")

    first, *lines = str(refused.value).splitlines()
    assert "7 errors:" == first
    for told in (
        "line 2: linger.mss is not a producer key",
        'line 3: batch.size=abc: Invalid value for configuration property "batch.size"',
        "line 4: retries=xx: Invalid value",
        "line 5: fetch.min.bytes is a consumer's key",
        "line 6: acks is set in line 1 already",
        "line 7: buffer.memory=32MB is not a whole number",
        "these settings do not go together: `acks` must be",
    ):
        assert 1 == sum(told in line and line.startswith("  ") for line in lines), told


def test_settings_that_only_fit_together_are_not_refused_alone(written: Write) -> None:
    """session.timeout.ms above the default max.poll.interval.ms is right with a larger one."""
    file = written("session.timeout.ms=400000\nmax.poll.interval.ms=500000\n")

    expected = {"session.timeout.ms": "400000", "max.poll.interval.ms": "500000"}
    assert expected == read(file, "consumer").config


def test_a_byte_order_mark_is_no_part_of_the_first_key(written: Write) -> None:
    file = written("")
    file.write_bytes("acks=1\n".encode("utf-8-sig"))

    assert {"acks": "1"} == read(file, "producer").config


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "keystore.jks"
    binary.write_bytes(b"\xfe\xed\xfe\xed")

    with pytest.raises(PropertiesError, match="nowhere cannot be read: No such file"):
        read(tmp_path / "nowhere", "producer")
    with pytest.raises(PropertiesError, match=r"keystore\.jks is not a text file"):
        read(binary, "producer")


# --- the two clients' defaults


def test_differences_show_both_defaults_and_what_was_used() -> None:
    used = producer_config({"acks": "all", "linger.ms": 20, "enable.idempotence": False}, {})
    rows = {row["key"]: row for row in differences(used, "producer")}

    expected = {"java_default": "0", "librdkafka_default": "5", "used": "20"}
    assert {"client": "producer", "key": "linger.ms", **expected} == rows["linger.ms"]
    assert rows["enable.idempotence"]["used"] == "false"
    assert "acks" not in rows  # the same in both: no difference to show


def test_differences_are_in_javas_units_and_under_any_alias() -> None:
    used = {"queue.buffering.max.kbytes": 1024, "delivery.timeout.ms": 7, "max.in.flight": 2}
    rows = {row["key"]: row["used"] for row in differences(used, "producer")}

    assert rows["buffer.memory"] == "1048576"
    assert rows["delivery.timeout.ms"] == "7"
    assert rows["max.in.flight.requests.per.connection"] == "2"


def test_the_isolation_level_is_among_the_consumers_differences() -> None:
    rows = {row["key"]: row for row in differences(consumer_config({}, {}), "consumer")}

    assert rows["isolation.level"]["java_default"] == "read_uncommitted"
    assert rows["isolation.level"]["librdkafka_default"] == "read_committed"


def test_the_harness_s_own_configurations_are_accepted_by_librdkafka() -> None:
    assert complaint_of_librdkafka(producer_config({}, {}), "producer") is None
    assert complaint_of_librdkafka(consumer_config({}, {}), "consumer") is None


# --- the tables, held against the clients themselves


@functools.cache
def java_defaults(role: Role) -> dict[str, str]:
    """Key -> default, as Kafka's own jars document it; class names shortened to librdkafka's."""
    home = kafka_home.find_kafka()
    main = f"org.apache.kafka.clients.{role}.{role.capitalize()}Config"
    command = [str(find_java().path), "-cp", home.class_path, main]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r'<h4><a id="([^"]+)".*?<th>Default:</th><td>(.*?)</td>', page, re.DOTALL)
    for java, short in (("Range", "range"), ("CooperativeSticky", "cooperative-sticky")):
        name = f"class org.apache.kafka.clients.consumer.{java}Assignor"
        rows = [(key, value.replace(name, short)) for key, value in rows]
    plain = {"null": "", '""': "", "&quot;&quot;": ""}
    return {key: plain.get(value, value.split(" (")[0]) for key, value in rows}


@functools.cache
def librdkafka_properties() -> dict[str, tuple[str, str]]:
    """Name -> (C, P or *; default), from the table that the library prints of itself."""
    library = librdkafka()
    libc = ctypes.CDLL(None)
    libc.tmpfile.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.tmpfile())
    library.rd_kafka_conf_properties_show(file)
    size = libc.ftell(file)
    libc.rewind(file)
    text = ctypes.create_string_buffer(size)
    libc.fread(text, 1, size, file)
    libc.fclose(file)
    rows = re.findall(
        r"^([\w.]+)\s*\|\s*([CP*])\s*\|[^|]*\|\s*([^|]*?)\s*\|", text.raw.decode(), re.MULTILINE
    )
    return {name: (role, default) for name, role, default in reversed(rows)}


@pytest.mark.jvm
@pytest.mark.parametrize("role", ROLES)
def test_every_key_of_the_java_client_has_its_place(role: Role) -> None:
    """Translated or left out: none is merely unknown."""
    placed = {key.java for key in KEYS[role]} | {*LEFT_OUT, *COMPRESSION_LEVELS}

    forgotten = [key for key in java_defaults(role) if key not in placed]
    assert [] == [key for key in forgotten if not key.startswith(tuple(PRIVATE))]


@pytest.mark.jvm
@pytest.mark.parametrize("role", ROLES)
def test_javas_defaults_are_what_the_jars_say(role: Role) -> None:
    table = {key.java: key.java_default for key in KEYS[role]}

    assert {key: java_defaults(role).get(key) for key in table} == table


@pytest.mark.parametrize("role", ROLES)
def test_librdkafkas_defaults_are_what_the_library_says(role: Role) -> None:
    said = librdkafka_properties()
    spelled = {"-1": "all", "largest": "latest"}
    actual, table = {}, {}
    for key in KEYS[role]:
        default = said[key.librdkafka[-1]][1]
        default = str(int(default) * key.unit) if key.unit > 1 else spelled.get(default, default)
        actual[key.java], table[key.java] = default, key.librdkafka_default

    assert actual == table


@pytest.mark.jvm
@pytest.mark.parametrize("role", ROLES)
def test_librdkafkas_names_exist_and_are_the_roles(role: Role) -> None:
    said, letters = librdkafka_properties(), {"producer": "P*", "consumer": "C*"}[role]
    names = {*LIBRDKAFKA_ONLY[role], *(name for key in KEYS[role] for name in key.librdkafka)}

    assert set() == {name for name in names if said.get(name, " ")[0] not in letters}
    assert set() == set(LIBRDKAFKA_ONLY[role]) & java_defaults(role).keys()
    assert ALIASES.keys() <= said.keys()
