"""The keys that a Kafka knows: asked of its own jars once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness.distribution import kafka_home
from harness.distribution.documented import Documented
from harness.distribution.known_keys import KnownKeys, has_class, keys_on, known_keys
from harness.host.java import Java, find_java
from harness.host.machine import HostError
from harness.model.spelling import is_known
from tests.support.needs import needs


def nobody() -> Java:
    raise HostError("no Java is installed")


@pytest.fixture
def home(tmp_path: Path) -> kafka_home.KafkaHome:
    """The fetched Kafka, of which nothing is kept yet."""
    needs("kafka")
    return dataclasses.replace(kafka_home.find_kafka(), archives=tmp_path / "kept")


@pytest.mark.jvm
def test_kafka_s_and_zookeeper_s_jars_say_which_keys_there_are(home: kafka_home.KafkaHome) -> None:
    known = known_keys(home, find_java)

    assert {
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "listeners",
    } <= known.server.keys()
    assert {"retention.ms", "min.insync.replicas", "flush.messages"} <= known.topic.keys()
    assert {"tickTime", "syncLimit", "maxClientCnxns", "4lw.commands.whitelist"} <= known.zoo.keys()
    assert {"autopurge.purgeInterval", "snapCount", "admin.enableServer"} <= known.zoo.keys()
    assert "retention.ms" not in known.server
    assert known.server["num.io.threads"] == Documented("int", "[1,...]")
    assert known.producer["acks"] == Documented("string", "[all, -1, 0, 1]")
    assert known.consumer["isolation.level"] is not None
    assert has_class(home, "kafka.server.KafkaConfig")
    assert not has_class(home, "com.acme.Reporter")
    assert "num.partitions" not in {*known.topic, *known.zoo}
    assert (home.version, home.zookeeper_version) == (known.kafka, known.zookeeper)


@pytest.mark.jvm
def test_what_was_asked_once_is_kept_and_needs_no_java(home: kafka_home.KafkaHome) -> None:
    known = known_keys(home, find_java)

    assert known == known_keys(home, nobody)
    (kept,) = home.archives.iterdir()
    kept.write_text("{")  # damaged: asked again
    with pytest.raises(HostError):
        known_keys(home, nobody)


def test_jars_that_do_not_answer_are_asked_again(home: kafka_home.KafkaHome) -> None:
    """And what they would know is empty, which is not "nothing is known"."""

    def mute() -> Java:
        return Java(path=Path("/bin/true"), version="17", build="17")

    known = known_keys(home, mute)

    assert (known.server, known.topic) == ({}, {})
    assert "tickTime" in known.zoo
    assert not home.archives.exists()


def test_jars_without_zookeeper_know_no_key_of_it(tmp_path: Path) -> None:
    (tmp_path / "zookeeper-3.8.4.jar").write_bytes(b"no jar")
    empty = kafka_home.KafkaHome(libs=tmp_path, version="3.9.2", archives=tmp_path / "kept")

    known = known_keys(empty, lambda: Java(path=Path("/bin/true"), version="17", build="17"))

    assert known == KnownKeys(
        kafka="3.9.2",
        zookeeper="3.8.4",
        server={},
        topic={},
        producer={},
        consumer={},
        zoo={},
    )


# Of Kafka 2.4.1 and 2.8.2.
ITEMS = """<ul class="config-list">
<li><b>num.io.threads</b>: How many, as in <code>
<b>Type</b></code>.<br/><ul class="horizontal-list"><li><b>Type</b>: int</li><li><b>Default</b>: \
8</li><li><b>Valid Values</b>: [1,...]</li><li><b>Importance</b>: high</li></ul></li>
<li><b>log.dir</b>: Where.<br/><ul class="horizontal-list"><li><b>Type</b>: string</li></ul></li>
</ul>
"""
HEADINGS = """<ul class="config-list">
<li>
<h4><a id="num.io.threads"></a><a id="x_num.io.threads" href="#x_num.io.threads">…</a></h4>
<p>How many.</p>
<table><tbody>
<tr><th>Type:</th><td>int</td></tr>
<tr><th>Valid Values:</th><td>[1,...]</td></tr>
</tbody></table>
</li>
<li>
<h4><a id="log.dir"></a></h4>
<table><tbody>
<tr><th>Type:</th><td>string</td></tr>
</tbody></table>
</li>
"""


@pytest.mark.parametrize("page", [ITEMS, HEADINGS])
def test_a_page_of_any_release_is_read(page: str) -> None:
    assert keys_on(page) == {
        "num.io.threads": Documented("int", "[1,...]"),
        "log.dir": Documented("string"),
    }


def test_the_beginning_of_a_key_stands_for_all_that_begin_so() -> None:
    known = {"listeners", "listener.name."}

    assert is_known("listeners", known)
    assert is_known("listener.name.internal.ssl.keystore.location", known)
    assert not is_known("listener", known)
    assert not is_known("listenersx", known)
