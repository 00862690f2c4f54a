"""Reads environments of containers that configure Kafka, from a Compose service or an env file.

    KAFKA_MIN_INSYNC_REPLICAS=2          min.insync.replicas
    KAFKA_CFG_LOG_DIRS=/data             log.dirs; beside such names KAFKA_X is the image's own
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
# Variables that start scripts and images read themselves.
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
    """The variables in an env file's text, under their own names; None if it is no env file. Raises
    ConfigFileError."""
    bindings = list(parse_stream(StringIO(text)))
    names = [binding.key for binding in bindings if binding.key is not None]
    has_kafka_names = any(name.startswith((PREFIX, "SPRING_KAFKA_")) for name in names)
    if not has_kafka_names or not all(_NAME.fullmatch(name) for name in names):
        return None
    by_name: dict[str, Setting] = {}

    def lookup(name: str) -> str | None:
        return by_name[name].value if name in by_name and not by_name[name].problem else None

    resolver, variables = Resolver(dialect="compose", lookup=lookup), list[Setting]()
    for binding in bindings:
        line = binding.original.line + _lines_before(binding.original.string)
        if binding.error:
            raise ConfigFileError(f"{path}, line {line}: not a line of an env file: write NAME=…")
        if binding.key is not None:
            value = "" if binding.value is None else binding.value
            by_name[binding.key] = resolver.resolved(
                Setting(key=binding.key, value=value, line=line)
            )
            variables.append(by_name[binding.key])
    return variables


def kafka_settings(variables: Sequence[Setting]) -> tuple[list[Setting], list[Setting]]:
    """Kafka's settings in these variables, and the variables that the image itself reads."""
    prefix = CFG if any(var.key.startswith(CFG) for var in variables) else PREFIX
    settings, others = [], []
    for var in variables:
        if not var.key.startswith(prefix) or _OF_SCRIPTS.fullmatch(var.key):
            others.append(var)
            continue
        settings.append(replace(var, key=key_of(var.key.removeprefix(prefix)), name=var.key))
    return settings, others


def sets_more(text: str) -> bool:
    """Whether a command, or a variable of a JVM, configures Kafka or Spring."""
    return _SETS_MORE.search(text) is not None


def unread_sentences(variables: Iterable[Setting]) -> list[str]:
    """A sentence for each variable whose value holds further settings, which are not read."""
    return [
        f"line {var.line}: {var.key} is not read: write what it sets as variables of their own"
        for var in variables
        if var.key == "SPRING_APPLICATION_JSON" or sets_more(var.value)
    ]


def profile_notes(path: Path, variables: Iterable[Setting]) -> list[str]:
    """A note on each JVM variable that makes profiles active."""
    return [
        f"{path}, line {var.line}: {profiles[0]} in {var.key}: {NO_OTHER_FILE}"
        for var in variables
        if (profiles := _PROFILES.search(var.value))
    ]


def image_keys(variables: Iterable[Setting]) -> list[str]:
    """The variables of these that begin as Kafka's do."""
    return [var.key for var in variables if var.key.startswith((PREFIX, "CLUSTER_ID"))]


def key_of(name: str) -> str:
    """Kafka's key for `MIN_INSYNC_REPLICAS`."""
    words = {"___": "_", "__": "-", "_": "."}
    return re.sub("_{1,3}", lambda match: words[match[0]], name).lower()


def _lines_before(text: str) -> int:
    """The empty lines and comments that the library counts as part of a binding."""
    lead = re.match(r"\s*", text)
    return lead[0].count("\n") if lead else 0
