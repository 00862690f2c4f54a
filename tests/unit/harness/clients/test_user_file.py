"""A user's own client files: translated, or refused with file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.clients.defaults import ClientName
from harness.clients.java_keys import (
    Role,
)
from harness.clients.user_file import Beside, read
from harness.config_files.settings import ConfigFileError
from tests.support.config_files import Write

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
    assert "socket.timeout.ms=15000" in producer.notes[-1]


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
        "bootstrap.servers=prod:9092\nclient.id=shop\nacks=1\nmax.poll.records=500\n"
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
    assert "; max.poll.records (workers take records one by one" in note
    assert "; ssl.key.password, sasl.jaas.config (TLS and SASL: the harness's own clus" in note
    assert "; interceptor.classes (Java code cannot run" in note
    assert "hunter2" not in note


def test_a_file_without_such_keys_gets_no_note(written: Write) -> None:
    assert () == read(written("acks=1\nmax.request.size=1000\n"), "producer").notes[1:]


def test_on_somebody_s_cluster_tls_and_sasl_have_a_file_of_their_own(written: Write) -> None:
    file = written(
        "bootstrap.servers=prod:9092\nsasl.password=hunter2\nacks=1\nmetric.reporters=my.Own\n"
    )

    with pytest.raises(ConfigFileError) as refused:
        read(file, "producer", Beside(foreign=True))

    assert "line 2: sasl.password cannot be used here" in str(refused.value)
    assert "backend.external.client" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert {"acks": "1"} == read(file, "producer").config


PLUGIN = "metric.reporters=com.acme.Reporter\n"


@pytest.mark.parametrize("key", ["acme.reporter.host", "acme.reporter.bootstrap.servers"])
def test_a_key_of_a_class_of_the_user_s_own_is_left_out_with_its_line(
    written: Write, key: str
) -> None:
    notes = read(written(f"{PLUGIN}max.request.size=9000\n{key}=x\n"), "producer").notes
    own = PLUGIN.replace("com.acme.", "org.apache.kafka.common.metrics.")

    assert f"user.properties, line 3: {key}: taken for a key of com.acme.Reporter, wh" in notes[1]
    with pytest.raises(ConfigFileError, match=r"line 2: acme\.reporter\..* is not a producer key"):
        read(written(f"{own}{key}=x\n"), "producer")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("lingr.ms", "did you mean linger.ms?"),
        ("spring.kafka.producer.aks", "did you mean spring.kafka.producer.acks?"),
        ("KAFKA_ACKS", "did you mean acks?"),
        ("min.insync.replicas", "is a broker's or a topic's key"),
        ("my.min.insync.replica", "did you mean min.insync.replicas?"),
    ],
)
def test_a_class_excuses_no_key_that_kafka_knows_nor_a_slip_of_one(
    written: Write, key: str, hint: str
) -> None:
    beside = Beside(others=("min.insync.replicas",))

    with pytest.raises(ConfigFileError) as refused:
        read(written(f"{PLUGIN}{key}=1\n"), "producer", beside)

    assert f"line 2: {key} is " in str(refused.value)
    assert hint in str(refused.value)


def test_keys_of_the_other_kind_of_client_are_left_out_with_a_note(written: Write) -> None:
    """One file may be given for both."""
    file = written("acks=all\nmax.request.size=9000\nsession.timeout.ms=45000\n")
    producer, consumer = read(file, "producer"), read(file, "consumer")

    assert "session.timeout.ms" not in producer.config
    assert "left out: session.timeout.ms (a consumer's key)" in producer.notes[0]
    assert {"session.timeout.ms": "45000"} == consumer.config
    assert "left out: acks, max.request.size (a producer's key)" in consumer.notes[0]


def test_a_file_that_sets_nothing_says_so(written: Write) -> None:
    assert "sets nothing of a consumer: its client's defaults hold" in str(
        read(written("max.request.size=9000\n"), "consumer").notes
    )


# --- whose defaults


@pytest.mark.parametrize(
    ("text", "told", "client"),
    [
        ("acks=all\nmax.request.size=9000\n", None, "java"),
        ("acks=all\nqueue.buffering.max.ms=9\n", None, "librdkafka"),
        ("acks=all\nsasl.mechanisms=PLAIN\n", None, "librdkafka"),
        ("acks=all\nsasl.jaas.config=x\n", None, "java"),
        ("acks=all\nqueued.min.messages=9\n", None, "librdkafka"),  # the consumer's, in one file
        ("acks=all\n", "librdkafka", "librdkafka"),
        ("acks=all\n", "java", "java"),
        ("acks=all\n", None, "java"),
    ],
)
def test_a_file_s_names_tell_whose_defaults_lie_below_it(
    written: Write, text: str, told: ClientName | None, client: str
) -> None:
    found = read(written(text), "producer", Beside(client=told))

    assert client == found.client
    said = [note for note in found.notes if "its names are both clients'" in note]
    assert bool(said) == (text == "acks=all\n" and told is None)


@pytest.mark.parametrize(
    ("text", "told"), [("max.request.size=9000\n", "librdkafka"), ("max.in.flight=1\n", "java")]
)
def test_names_of_another_client_than_was_told_are_refused(
    written: Write, text: str, told: ClientName
) -> None:
    with pytest.raises(ConfigFileError, match=r"line 1: .* is a name of .* --client-defaults"):
        read(written(text), "producer", Beside(client=told))


# --- librdkafka's names


def test_a_file_with_a_name_that_only_librdkafka_has_is_taken_as_it_is(written: Write) -> None:
    """request.timeout.ms means the broker's wait alone here, so socket.timeout.ms stays out."""
    file = written("queue.buffering.max.ms=3\nrequest.timeout.ms=4000\ndelivery.timeout.ms=9000\n")

    expected = {"linger.ms": "3", "request.timeout.ms": "4000", "message.timeout.ms": "9000"}
    assert expected == read(file, "producer").config


def test_the_two_clients_names_are_not_mixed(written: Write) -> None:
    file = written("queue.buffering.max.ms=3\nbuffer.memory=1000000\n")

    with pytest.raises(ConfigFileError, match=r"mixes .*max\.ms, line 1.*buffer\.memory, line 2"):
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
        ("producer", "transaction.timeout.ms=soon", r"line 1: transaction\.timeout\.ms=soon"),
        ("producer", "bootstrap.server=prod:9092", r"did you mean bootstrap\.servers\?"),
        ("producer", "acks=1\nlinger.ms=abc", r"line 2: linger\.ms=abc: Invalid value"),
        ("producer", "buffer.memory=32MB", r"line 1: buffer\.memory=32MB: not a number"),
        ("producer", "delivery.timeout.ms=0", r"line 1: delivery.* is for ever in librdkafka"),
        ("producer", "acks=${A:1}", r"line 1: acks=\$\{A:1\}: .* is a template's"),
        ("consumer", "partition.assignment.strategy=org.apache.S", "librdkafka has range, round"),
        ("consumer", "debug=nothing", "line 1: debug=nothing: Invalid value"),
        ("producer", "message.timeout.ms=30s", r"line 1: message\.timeout\.ms=30s: not a number"),
        ("consumer", "isolation.level=serializable", r"line 1: isolation\.level=serializable"),
        ("producer", "acks=2", r"line 1: acks=2: give one of 0, 1, -1, all"),
        ("producer", "request.required.acks=3", r"line 1: request\.required\.acks=3: give one"),
        ("producer", "linger.ms={{ l }}", r"line 1: .*: \{\{ l \}\} is a template's"),
        ("producer", "acks=\\u12", r"line 1: \\u12 is no"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    written: Write, role: Role, text: str, complaint: str
) -> None:
    with pytest.raises(ConfigFileError, match=complaint) as refused:
        read(written(text), role)

    assert "user.properties" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_that_is_wrong_with_a_file_is_told_at_once_with_a_line_each(written: Write) -> None:
    text = (
        "acks=1\nlinger.mss=3\nbatch.size=abc\nretries=xx\nfetch.min.bytes=3\nacme.key=all\n"
        "buffer.memory=32MB\n"
    )

    with pytest.raises(ConfigFileError) as refused:
        read(written(text), "producer")

    first, *lines = str(refused.value).splitlines()
    assert "5 errors:" == first
    for told in (
        "line 2: linger.mss is not a producer key",
        'line 3: batch.size=abc: Invalid value for configuration property "batch.size"',
        "line 4: retries=xx: Invalid value",
        "line 6: acme.key is not a producer key",
        "line 7: buffer.memory=32MB: not a number",
    ):
        assert 1 == sum(told in line and line.startswith("  ") for line in lines), told


def test_what_both_clients_have_since_kafka_4_tells_no_client(written: Write) -> None:
    key = "metadata.recovery.rebootstrap.trigger.ms"
    file = read(written(f"{key}=5\nbuffer.memory=33554432\n"), "producer")

    assert (file.client, file.config[key]) == ("java", "5")


def test_what_librdkafka_has_to_no_effect_is_left_out(written: Write) -> None:
    file = read(written("api.version.request=true\nauto.commit.enable=false\n"), "consumer")

    assert (file.client, file.config) == ("librdkafka", {})
    assert any("it is that of librdkafka's simple consumer" in note for note in file.notes)


@pytest.mark.parametrize(
    ("text", "client"),
    [
        ("partition.assignment.strategy=cooperative-sticky\n", "librdkafka"),
        ("auto.offset.reset=smallest\n", "librdkafka"),
        ("auto.offset.reset=earliest\n", "java"),
        ("go.events.channel.size=3\n", "librdkafka"),
        ("value.deserializer.encoding=UTF8\n", "java"),
        ("debug=broker\n", "librdkafka"),
    ],
)
def test_values_and_bindings_tell_the_client_too(
    written: Write, capfd: pytest.CaptureFixture[str], text: str, client: str
) -> None:
    assert client == read(written(text), "consumer").client
    assert ("", "") == capfd.readouterr()  # no log of librdkafka's


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
    binary.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")

    with pytest.raises(ConfigFileError, match="nowhere cannot be read: No such file"):
        read(tmp_path / "nowhere", "producer")
    with pytest.raises(ConfigFileError, match=r"keystore\.jks is not a text file"):
        read(binary, "producer")
