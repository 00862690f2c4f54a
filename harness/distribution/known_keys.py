"""Asks Kafka's jars which keys of brokers, topics, clients and zoo.cfg they know, and of which type
their values are (harness.distribution.documented).

    kafka.server.KafkaConfig, LogConfig     print a page of every key that they document
    ProducerConfig, ConsumerConfig
    QuorumPeerConfig and "zookeeper.X"      the texts in ZooKeeper's classes: a key of zoo.cfg that
                                            ZooKeeper has no name for is its system property

A known key with a final dot stands for all keys that begin so: Kafka takes them for a listener, a
plug-in or a reporter, and looks at the rest later. The answers are kept beside the class archives
of exactly these jars: the first takes two seconds, later ones a millisecond.

Source: Kafka's AclAuthorizer, JmxReporter, AbstractConfig, RemoteLogManagerConfig and
KafkaCSVMetricsReporter, for keys that the page leaves out; ZooKeeper's QuorumPeerConfig.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import struct
import subprocess
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from harness.distribution.documented import Documented
from harness.distribution.kafka_home import KafkaHome
from harness.host.java import Java

_BROKER = ("kafka.server.KafkaConfig",)
_TOPIC = ("org.apache.kafka.storage.internals.log.LogConfig", "kafka.log.LogConfig")  # since 3.5
_CLIENTS = "org.apache.kafka.clients"
_PAGES = {
    "server": _BROKER,
    "topic": _TOPIC,
    "producer": (f"{_CLIENTS}.producer.ProducerConfig",),
    "consumer": (f"{_CLIENTS}.consumer.ConsumerConfig",),
}
# A heading for each key, with a table below it; until 2.5 an item, with a list in it.
_KEY = re.compile(r'^(?:<h4><a id="|<li><b>)([^"<]+)', re.MULTILINE)
_OF_KEY = re.compile(
    r"(?:<th>|<li><b>)(Type|Valid Values)(?::</th><td>|</b>: )(.*?)</(?:td|li)>", re.DOTALL
)
# Keys that Kafka reads and no page documents.
_BROKER_TOO = (
    "listener.name.",
    "super.users",
    "allow.everyone.if.no.acl.found",
    "authorizer.zookeeper.",
    "config.providers",
    "config.providers.",
    "metrics.jmx.",
    "metrics.context.",
    "kafka.csv.metrics.",
    "rsm.config.",
    "rlmm.config.",
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
)
_ZOO_TOO = ("server.", "group.", "weight.", "metricsProvider.")
_ZOO_WORD = re.compile(r"[A-Za-z0-9][\w.]*")
# The bytes after the tag of each constant of a class, except a text (JVM specification, 4.4).
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4}
_SIZES |= {19: 2, 20: 2}
_TEXT, _STRING, _WIDE = 1, 8, (5, 6)


# Each key with the documentation of its values; None: it has none.
Keys = Mapping[str, Documented | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """The keys of one release; an empty mapping where its jars do not say."""

    kafka: str  # "3.9.2"
    zookeeper: str
    server: Keys
    topic: Keys
    producer: Keys  # of the Java client
    consumer: Keys
    zoo: Keys


def has_class(home: KafkaHome, name: str) -> bool:
    """Whether one of these jars has the class."""
    return name.replace(".", "/") + ".class" in _entries(home.libs)


@functools.cache
def _entries(libs: Path) -> frozenset[str]:
    """All files of all jars there."""
    names = set[str]()
    for jar in libs.glob("*.jar"):
        with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as entries:
            names |= {*entries.namelist()}
    return frozenset(names)


def known_keys(home: KafkaHome, java: Callable[[], Java]) -> KnownKeys:
    """The keys that this Kafka knows. `java` is called only where no answer is kept."""
    cache = home.archives / "known-keys.json"
    keys = _read_cache(cache)
    if keys is None:
        keys = _ask_jars(home, java())
        unasked = set() if home.zookeeper_version else {"zoo"}
        if all(known for name, known in keys.items() if name not in unasked):
            _write_cache(cache, keys)
    if keys["server"]:
        keys = {**keys, "server": {**dict.fromkeys(_BROKER_TOO), **keys["server"]}}
    return KnownKeys(kafka=home.version, zookeeper=home.zookeeper_version or "", **keys)


def _ask_jars(home: KafkaHome, java: Java) -> dict[str, Keys]:
    documented: dict[str, Keys] = {
        name: _documented(home, java, classes) for name, classes in _PAGES.items()
    }
    return {**documented, "zoo": dict.fromkeys(sorted(_of_zookeeper(home.libs)))}


def _documented(home: KafkaHome, java: Java, classes: Collection[str]) -> Keys:
    """The keys on the page of the first of these classes that prints one; nothing if none does."""
    for name in classes:
        quick = ("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
        command = [str(java.path), *quick, "-cp", home.class_path, name]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if keys := keys_on(asked.stdout):
            return keys
    return {}


def keys_on(page: str) -> Keys:
    """The keys that a page documents."""
    _, *sections = _KEY.split(page)
    return {
        key: Documented(fields["Type"], unescape(fields.get("Valid Values", "")))
        for key, text in zip(sections[::2], sections[1::2], strict=True)
        if "Type" in (fields := dict(_OF_KEY.findall(text)))
    }


def _read_cache(file: Path) -> dict[str, Keys] | None:
    try:
        stored = json.loads(file.read_text())
        return {
            name: {
                key: None if documented is None else Documented(*map(str, documented))
                for key, documented in stored[name].items()
            }
            for name in (*_PAGES, "zoo")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write_cache(file: Path, keys: Mapping[str, Keys]) -> None:
    """Keep the answers; if the cache cannot be written, the next call asks again."""
    text = {name: dict(sorted(known.items())) for name, known in keys.items()}
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(text))
        half.replace(file)


def _of_zookeeper(libs: Path) -> frozenset[str]:
    """Texts that may be keys: too many rather than too few."""
    candidates = set[str]()
    for jar in libs.glob("zookeeper-[0-9]*.jar"):
        with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as classes:
            for name in classes.namelist():
                if name.endswith(".class"):
                    texts = list(_texts(classes.read(name)))
                    candidates |= {
                        t.removeprefix("zookeeper.") for t in texts if t[:10] == "zookeeper."
                    }
                    candidates |= {*texts} if name.endswith("/QuorumPeerConfig.class") else set()
    words = {word for word in candidates if _ZOO_WORD.fullmatch(word)}
    return frozenset(words | {*_ZOO_TOO}) if words else frozenset()


def _texts(data: bytes) -> Iterator[str]:
    """The texts among the constants of a class."""
    (count,) = struct.unpack_from(">H", data, 8)
    raw: dict[int, bytes] = {}
    strings, at, number = [], 10, 1
    while number < count:
        tag = data[at]
        if tag == _TEXT:
            (length,) = struct.unpack_from(">H", data, at + 1)
            raw[number] = data[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            if tag == _STRING:
                strings.append(struct.unpack_from(">H", data, at + 1)[0])
            at += 1 + _SIZES[tag]
        number += 2 if tag in _WIDE else 1
    return (raw[index].decode(errors="replace") for index in strings)
