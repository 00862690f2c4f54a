"""A user's own server.properties: what the brokers get of it, and what is the harness's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.scenario.server_properties import ServerFile, read_server_properties

Read = Callable[[str], ServerFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a server.properties and read it."""

    def written(text: str) -> ServerFile:
        path = tmp_path / "server.properties"
        path.write_text(text, encoding="utf-8-sig")  # as editors on Windows save it
        return read_server_properties(path)

    return written


def test_the_brokers_settings_are_read_as_they_are(read: Read) -> None:
    file = read("min.insync.replicas=2\nlog.dir.failure.timeout.ms=5\nmy.plugin.secret=s\n")

    expected = {
        "cluster.server.min.insync.replicas": "2",
        "cluster.server.log.dir.failure.timeout.ms": "5",
        "cluster.server.my.plugin.secret": "s",
    }
    assert expected == file.overrides
    assert () == (*file.notes, *file.wrong)
    assert file.lines["my.plugin.secret"].endswith("server.properties, line 3: my.plugin.secret")


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


def test_a_key_that_is_set_twice_is_wrong(read: Read) -> None:
    file = read("num.io.threads=4\nnum.io.threads=5\n")

    (sentence,) = file.wrong
    assert "line 2: num.io.threads is set in line 1 already: remove one of the two" in sentence
