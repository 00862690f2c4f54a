"""A user's own server.properties: what the brokers get of it, and what is the harness's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.distribution.documented import Documented
from harness.scenario.layers.broker_files import (
    BrokerFile,
    mode_of_file,
    read_server_properties,
    read_topic_config,
)

Read = Callable[[str], BrokerFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a server.properties and read it."""

    def written(text: str) -> BrokerFile:
        path = tmp_path / "server.properties"
        path.write_text(text, encoding="utf-8-sig")  # as editors on Windows save it
        return read_server_properties(path)

    return written


def test_the_brokers_settings_are_read_as_they_are(read: Read) -> None:
    file = read("min.insync.replicas=2\nnum.io.threads=5\nmy.plugin.secret=s\n")

    expected = {"min.insync.replicas": "2", "num.io.threads": "5"}
    assert {**expected, "my.plugin.secret": "s"} == file.settings
    assert () == (*file.notes, *file.wrong)
    assert file.lines["my.plugin.secret"].endswith("server.properties, line 3")


def test_what_the_harness_owns_is_left_out_with_one_note_that_names_all_of_it(read: Read) -> None:
    file = read(
        "broker.id=1\nnum.io.threads=4\nlisteners=SSL://:9093\nadvertised.listeners=SSL://a:9093\n"
        "log.dirs=/data\nzookeeper.connect=z:2181\nssl.keystore.password=hunter2\n"
        "listener.name.internal.sasl.enabled.mechanisms=PLAIN\ndelegation.token.secret.key=hunter2\n"
        "process.roles=broker\n"
    )

    assert {"num.io.threads": "4"} == file.settings
    (note,) = file.notes
    assert (
        "left out: broker.id, listeners, advertised.listeners, log.dirs, zookeeper.connect "
        "(the harness sets broker ids, addresses and directories); ssl.keystore.password, "
        "listener.name.internal.sasl.enabled.mechanisms, delegation.token.secret.key (a run's "
        "nodes and clients use plaintext connections); process.roles (this cluster uses ZooKeeper, "
        "and the key belongs to KRaft)"
    ) in note
    assert "hunter2" not in repr(file)


def test_what_belongs_to_kraft_has_no_effect_with_zookeeper(read: Read) -> None:
    keys = ("broker.session.timeout.ms", "group.consumer.max.size", "log.dir.failure.timeout.ms")
    file = read("".join(f"{key}=3\n" for key in (*keys, "num.io.threads", "process.roles")))

    assert {"num.io.threads": "3"} == file.settings
    (note,) = file.notes
    assert f"{', '.join(keys)}, process.roles (this cluster uses ZooKeeper" in note
    assert file.section == "server"


@pytest.mark.parametrize(
    ("roles", "section", "told"),
    [
        ("broker", "broker", 1),
        ("controller", "controller", 1),
        (" controller , broker", "server", 0),
        ("", "server", 0),
    ],
)
def test_a_file_of_one_of_krafts_roles_is_that_ones_alone(
    tmp_path: Path, roles: str, section: str, told: int
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"process.roles={roles}\nnode.id=1\ncontroller.quorum.voters=1@a:1\nport=1\n")
    file = read_server_properties(path, mode="kraft")

    assert file.section == section
    assert file.settings == {}
    assert "process.roles, node.id, controller.quorum.voters, port (the harness" in file.notes[0]
    assert told == len([note for note in file.notes if f"is for the {section}s alone" in note])


@pytest.mark.parametrize(
    ("text", "release", "mode"),
    [
        ("process.roles=broker\n", "3.9.2", "kraft"),
        ("process.roles=controller\n", "4.4.0", "kraft"),
        ("process.roles=broker,controller\n", "3.3.2", "kraft-combined"),
        ("process.roles=broker\n", "3.2.3", None),
        ("broker.session.timeout.ms=9000\n", "3.9.2", None),
    ],
)
def test_a_files_roles_tell_who_keeps_the_metadata(
    tmp_path: Path, text: str, release: str, mode: str | None
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text)

    assert mode_of_file(path, release) == mode
    assert mode_of_file(None, release) is None


def test_what_no_broker_would_start_with_is_left_out(tmp_path: Path) -> None:
    """A class that no jar has, and what may be its own keys; authorizers, whoever has them."""
    path = tmp_path / "server.properties"
    path.write_text(
        "metric.reporters=com.acme.Reporter\nacme.reporter.host=x\nacks=1\n"
        "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\nsuper.users=User:a\n"
        "remote.log.storage.manager.class.name=com.acme.T\nremote.log.storage.system.enable=true\n"
        "value.serializer=com.acme.S\nreplica.selector.class=org.apache.kafka.R\n"
        "principal.builder.class=Mine\nbroker.rack=a\n"
    )
    known = {
        "metric.reporters": Documented("list"),
        "principal.builder.class": Documented("class"),
        "replica.selector.class": Documented("string"),
        "remote.log.storage.manager.class.name": Documented("string"),
        "remote.log.storage.system.enable": Documented("boolean"),
    }
    file = read_server_properties(
        path, known, known, lacks=lambda name: name != "org.apache.kafka.R"
    )
    whole = read_server_properties(path, known, known)  # the class path is not known

    expected = {"acks": "1", "value.serializer": "com.acme.S"}
    assert {**expected, "replica.selector.class": "org.apache.kafka.R"} == file.settings
    assert "metric.reporters, remote.log.storage.manager.class.name, princ" in file.notes[0]
    assert "principal.builder.class" not in file.settings  # Kafka looks for any name there
    assert "remote.log.storage.system.enable (tiered storage, for which" in file.notes[0]
    assert "broker.rack (one broker's own" in file.notes[0]
    assert "authorizer.class.name, super.users (nobody has to be let in" in file.notes[0]
    assert "line 2: acme.reporter.host: taken for a key of com.acme.Reporter" in file.notes[1]
    assert {"metric.reporters", "acme.reporter.host"} <= whole.settings.keys()


def test_a_buffer_is_no_larger_than_a_run_s_brokers_have_memory_for(read: Read) -> None:
    key = "log.cleaner.dedupe.buffer.size"
    file = read(f"{key}=1342177280\n")

    assert {key: "134217728"} == file.settings
    assert f"{key}=1342177280 is 134217728 here" in str(file.notes)
    assert {key: "134217728"} == read(f"{key}=134217728\n").settings


def test_what_other_tools_would_bring_is_left_out(read: Read) -> None:
    file = read("config.providers=env\nconfig.providers.env.class=io.A\nconfluent.tier.enable=x\n")

    assert {} == file.settings
    assert "config.providers, config.providers.env.class (what it would bring" in file.notes[0]


def test_tiered_storage_without_a_class_is_left_out(read: Read) -> None:
    file = read("remote.log.storage.system.enable=true\nlog.local.retention.ms=5\n")

    assert {"log.local.retention.ms": "5"} == file.settings


def test_a_topic_s_file_has_its_partitions_where_strimzi_has_them(tmp_path: Path) -> None:
    path = tmp_path / "topic.properties"
    path.write_text("partitions=3\nretention.ms=5\n")

    assert {"partitions": "3", "retention.ms": "5"} == read_topic_config(path).settings
    path.write_text("partitions=x\n")
    (wrong,) = read_topic_config(path).wrong.values()
    assert wrong.endswith("topic.properties, line 1: partitions = x: not a whole number above 0")
