"""A user's own .properties files, read with line numbers, and server.properties checked.

The format is Java's, by the library `javaproperties`; a key that is set twice is refused, where
Java would silently take the later one: an experiment should not turn on that.

A broker ignores a key that it does not know, with a warning in its log. Here a key that looks like
a slip of the pen is refused, and Kafka itself says which keys there are, out of its jars.
"""

from __future__ import annotations

import difflib
import re
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import javaproperties

from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.distribution.kafka_home import Java, KafkaHome

_PLAINTEXT = "the nodes of a run speak plaintext to each other and to the clients"
_ZOOKEEPER = "this cluster runs with ZooKeeper, and the key is one of KRaft's"
_OWN_ADDRESS = "identities, addresses and folders are the harness's"
# What a user may not set, with the reason; one that ends in a dot stands for all that begin so.
_REFUSED = {
    **dict.fromkeys(OWNED_BY_HARNESS["server"], _OWN_ADDRESS),
    **dict.fromkeys(("advertised.", "log.dir", "broker.id.generation.enable"), _OWN_ADDRESS),
    **dict.fromkeys(
        ("ssl.", "sasl.", "security.", "listener.", "inter.broker.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("zookeeper.ssl.", "zookeeper.set.acl", "control.plane.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("process.roles", "node.id", "controller.quorum.", "metadata.log."), _ZOOKEEPER
    ),
    **dict.fromkeys(("controller.listener.names", "zookeeper.metadata.migration."), _ZOOKEEPER),
}
_SLIP = 0.85  # difflib's likeness above which an unknown key is taken for a misspelled one


class PropertiesError(Exception):
    """A file of the user's cannot be used; one sentence with file, line or key, and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a file."""

    key: str
    value: str
    line: int  # where it begins, from 1


def read(path: Path) -> list[Setting]:
    """The settings of a .properties file (UTF-8) in their order. Raises PropertiesError."""
    settings: dict[str, Setting] = {}
    line = 1
    try:
        with path.open(encoding="utf-8") as file:
            for element in javaproperties.parse(file):
                if isinstance(element, javaproperties.KeyValue):
                    setting = Setting(key=element.key, value=element.value.strip(), line=line)
                    if first := settings.setdefault(setting.key, setting):
                        _refuse_second(path, first, setting)
                line += element.source.count("\n")
    except OSError as error:
        raise PropertiesError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PropertiesError(f"{path} is not a text file in UTF-8: save it as one") from None
    except javaproperties.InvalidUEscapeError as error:
        raise PropertiesError(
            f"{path}, line {line}: {error.escape} is no \\uXXXX escape: double the backslash"
        ) from None
    return list(settings.values())


def read_server_properties(path: Path, known: Collection[str]) -> dict[str, str]:
    """The broker settings of a user's server.properties, checked against the `known` keys.

    `known`: see server_keys. A key that is neither known nor like a known one is kept: it may
    belong to a plug-in. Raises PropertiesError.
    """
    settings = read(path)
    for setting in settings:
        where = f"{path}, line {setting.line}: {setting.key}"
        if reason := _refusal(setting.key):
            raise PropertiesError(f"{where} cannot be set, because {reason}: remove the line")
        if setting.key not in known and (right := nearest(setting.key, known, _SLIP)):
            raise PropertiesError(f"{where} is no key of this Kafka: did you mean {right}?")
    return {setting.key: setting.value for setting in settings}


def server_keys(home: KafkaHome, java: Java) -> frozenset[str]:
    """Every broker key that this Kafka documents, asked of its own jars: 0.4 s.

    Empty if it does not answer, which only turns the check for slips off.
    """
    command = [str(java.path), "-XX:TieredStopAtLevel=1", "-cp", home.class_path]
    asked = subprocess.run(
        [*command, "kafka.server.KafkaConfig"], capture_output=True, text=True, check=False
    )
    return frozenset(re.findall(r'<h4><a id="([^"]+)">', asked.stdout))


def nearest(key: str, known: Collection[str], likeness: float = 0.6) -> str | None:
    """The known key most like `key`, None if none is."""
    return next(iter(difflib.get_close_matches(key, sorted(known), n=1, cutoff=likeness)), None)


def _refuse_second(path: Path, first: Setting, second: Setting) -> None:
    if first is not second:
        raise PropertiesError(
            f"{path}, line {second.line}: {second.key} is set in line {first.line} already: "
            "remove one of the two"
        )


def _refusal(key: str) -> str | None:
    return next(
        (
            reason
            for refused, reason in _REFUSED.items()
            if key == refused or (refused.endswith(".") and key.startswith(refused))
        ),
        None,
    )
