"""Environments of containers that configure Kafka: of a Compose service, or an env file.

    KAFKA_MIN_INSYNC_REPLICAS=2          min.insync.replicas
    KAFKA_CFG_LOG_DIRS=/data             log.dirs; where such names are, KAFKA_X is the image's own
    KAFKA_A__B                           a-b
    KAFKA_A___B                          a_b

Source: the images' documentation (apache/kafka, confluentinc/cp-kafka, bitnami/kafka).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from harness.config_files.placeholders import Resolver
from harness.config_files.settings import ConfigFileError, Setting

NO_OTHER_FILE = "no other file is read: write what it brings into this one"
PREFIX, CFG = "KAFKA_", "KAFKA_CFG_"
# What start scripts and images read themselves.
_OF_SCRIPTS = re.compile(
    r"KAFKA_(OPTS|HEAP_OPTS|JVM_PERFORMANCE_OPTS|GC_LOG_OPTS|DEBUG|JMX_.*|(TOOLS_)?LOG4J_.*"
    r"|(KRAFT_)?CLUSTER_ID|ENABLE_KRAFT|VERSION"
    # wurstmeister/kafka's
    r"|CREATE_TOPICS|HOME|\w+_COMMAND)"
)
_SETS_MORE = re.compile(r"--override\s|(--|-D)spring\.(kafka|config)\.")
_PROFILES = re.compile(r"-Dspring\.profiles\.\w+=\S+")
_NAME = re.compile(r"[A-Za-z_]\w*")


def variables_of(path: Path, text: str) -> list[Setting] | None:
    """The variables in an env file's text, as they are called there; None where it is none. Raises
    ConfigFileError."""
    bindings = list(parse_stream(StringIO(text)))
    names = [binding.key for binding in bindings if binding.key is not None]
    kafkas = any(name.startswith((PREFIX, "SPRING_KAFKA_")) for name in names)
    if not kafkas or not all(_NAME.fullmatch(name) for name in names):
        return None
    found: dict[str, Setting] = {}

    def lookup(name: str) -> str | None:
        return found[name].value if name in found and not found[name].problem else None

    resolver, variables = Resolver(dialect="compose", lookup=lookup), list[Setting]()
    for binding in bindings:
        line = binding.original.line + _lines_before(binding.original.string)
        if binding.error:
            raise ConfigFileError(f"{path}, line {line}: not a line of an env file: write NAME=…")
        if binding.key is not None:
            value = "" if binding.value is None else binding.value
            found[binding.key] = resolver.resolved(Setting(key=binding.key, value=value, line=line))
            variables.append(found[binding.key])
    return variables


def kafkas(variables: Sequence[Setting]) -> tuple[list[Setting], list[Setting]]:
    """The settings that variables stand for, and the variables that the image reads itself."""
    prefix = CFG if any(each.key.startswith(CFG) for each in variables) else PREFIX
    settings, others = [], []
    for each in variables:
        if not each.key.startswith(prefix) or _OF_SCRIPTS.fullmatch(each.key):
            others.append(each)
            continue
        settings.append(replace(each, key=key_of(each.key.removeprefix(prefix)), name=each.key))
    return settings, others


def sets_more(text: str) -> bool:
    """Whether a command, or a variable of a JVM, sets what Kafka or Spring is configured by."""
    return _SETS_MORE.search(text) is not None


def elsewhere(variables: Iterable[Setting]) -> list[str]:
    """A sentence for each variable that holds settings of its own, which are not read."""
    return [
        f"line {each.line}: {each.key} is not read: write what it sets as variables of their own"
        for each in variables
        if each.key == "SPRING_APPLICATION_JSON" or sets_more(each.value)
    ]


def profiles_in(path: Path, variables: Iterable[Setting]) -> list[str]:
    """A note on each variable of a JVM's that makes profiles active."""
    return [
        f"{path}, line {each.line}: {found[0]} in {each.key}: {NO_OTHER_FILE}"
        for each in variables
        if (found := _PROFILES.search(each.value))
    ]


def of_image(variables: Iterable[Setting]) -> list[str]:
    """Those of them that begin as Kafka's do."""
    return [each.key for each in variables if each.key.startswith((PREFIX, "CLUSTER_ID"))]


def key_of(name: str) -> str:
    """`MIN_INSYNC_REPLICAS` as Kafka has it."""
    words = {"___": "_", "__": "-", "_": "."}
    return re.sub("_{1,3}", lambda found: words[found[0]], name).lower()


def _lines_before(text: str) -> int:
    """The empty lines and comments that the library counts to a binding."""
    lead = re.match(r"\s*", text)
    return lead[0].count("\n") if lead else 0
