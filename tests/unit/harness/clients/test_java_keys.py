"""The tables of Java's and librdkafka's keys, held against the clients themselves."""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess

import pytest

from harness.clients.java_keys import (
    COMPRESSION_LEVELS,
    KEYS,
    LEFT_OUT,
    LIBRDKAFKA_ONLY,
    PRIVATE,
    ROLES,
    Role,
)
from harness.distribution import kafka_home
from harness.host.java import find_java
from harness.model.client_settings import ALIASES
from tests.support.mock_kafka import librdkafka


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
