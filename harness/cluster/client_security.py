"""How clients authenticate to a cluster: TLS and SASL, from a file of the user's.

    security.protocol=SASL_SSL
    ssl.ca.location=/etc/kafka/ca.pem
    sasl.mechanism=SCRAM-SHA-512
    sasl.username=harness
    sasl.password=${KAFKA_PASSWORD}      # of the environment that kafka-harness was started in

The keys are librdkafka's, or the Java client's where they mean the same: its key stores of type
PEM, and sasl.jaas.config of PLAIN and SCRAM. Any other key is refused. Errors name file, line and
key, never a value: values are kept in memory, and given to workers by a pipe.

The harness's own connections to brokers (harness.cluster.view.brokers) use Python's TLS and SASL,
`tls` and `sasl`. So only what both sides have is supported: certificates in PEM files; PLAIN and
SCRAM. Source: librdkafka's CONFIGURATION.md; KIP-651 (PEM stores).
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cluster.nodes import ClusterError
from harness.config_files.properties_file import read_properties
from harness.config_files.settings import ConfigFileError, Setting

Settings = Mapping[str, str]

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# The file's name of a key -> librdkafka's.
KEYS = {
    **{
        key: key
        for key in (
            "security.protocol",
            "ssl.ca.location",
            "ssl.ca.pem",
            "ssl.certificate.location",
            "ssl.key.location",
            "ssl.key.password",
            "ssl.endpoint.identification.algorithm",
            "enable.ssl.certificate.verification",
            "sasl.mechanisms",
            "sasl.username",
            "sasl.password",
        )
    },
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
}
_STORES = ("ssl.truststore", "ssl.keystore")
_JAAS = "sasl.jaas.config"
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# Keys that no other file may have: a scenario and its run's folder are no secrets.
SECRET = ("security.", "ssl.", "sasl.", "enable.ssl.", "enable.sasl.")


def is_secret(key: str) -> bool:
    """Whether a client's key belongs into the file that `read` reads, and nowhere else."""
    return key.startswith(SECRET)


def read(path: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in librdkafka's keys, `${NAME}` replaced. Raises ConfigFileError."""
    by_key = _each_once(path)
    settings: dict[str, str] = {}
    for setting in by_key.values():
        value = _expanded(path, setting, environment)
        if setting.key == _JAAS:
            settings |= _from_jaas(path, setting, value)
        elif setting.key in KEYS:
            settings[KEYS[setting.key]] = value
            if setting.key == "ssl.keystore.location":
                settings["ssl.key.location"] = value
        elif not _is_passed_over(path, setting, value):
            raise ConfigFileError(
                f"{path}, line {setting.line}: {setting.key} is not a supported TLS or SASL "
                f"key: supported are {', '.join(sorted(KEYS))} and {_JAAS}"
            )
    _check_stores(path, by_key)
    _check(path, settings)
    return settings


def _each_once(path: Path) -> dict[str, Setting]:
    """The file's settings by key; a repeated key is refused."""
    by_key: dict[str, Setting] = {}
    for setting in read_properties(path):
        first = by_key.setdefault(setting.key, setting)
        if first is not setting:
            raise ConfigFileError(
                f"{path}, line {setting.line}: {setting.key} is set in line {first.line} already: "
                "remove one of the two"
            )
    return by_key


def _expanded(path: Path, setting: Setting, environment: Mapping[str, str]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name = match[1].removeprefix("env:")  # as Java's EnvVarConfigProvider writes it
        if name not in environment:
            raise ConfigFileError(
                f"{path}, line {setting.line}: {setting.key} uses ${name}, which is not set in "
                "the environment: set it"
            )
        return environment[name]

    return _VARIABLE.sub(value_of, setting.value)


def _from_jaas(path: Path, setting: Setting, value: str) -> dict[str, str]:
    words = dict(re.findall(r'(username|password)\s*=\s*"([^"]*)"', value))
    if len(words) != 2 or not re.search(r"\.(Plain|Scram)LoginModule\b", value):
        raise ConfigFileError(
            f"{path}, line {setting.line}: {_JAAS} is not supported: use PlainLoginModule or "
            'ScramLoginModule with username="…" and password="…", or sasl.username and '
            "sasl.password"
        )
    return {f"sasl.{key}": word for key, word in words.items()}


def _is_passed_over(path: Path, setting: Setting, value: str) -> bool:
    """A store's type, which must be PEM, and passwords that PEM files do not have."""
    store, _, part = setting.key.rpartition(".")
    if store not in _STORES:
        return False
    if part == "type" and value.upper() != "PEM":
        raise ConfigFileError(
            f"{path}, line {setting.line}: {setting.key} must be PEM: librdkafka does not support "
            "JKS; convert the store with keytool and openssl"
        )
    return part in ("type", "password")


def _check_stores(path: Path, by_key: Mapping[str, Setting]) -> None:
    for store in _STORES:
        if f"{store}.location" in by_key and f"{store}.type" not in by_key:
            line = by_key[f"{store}.location"].line
            raise ConfigFileError(
                f"{path}, line {line}: {store}.location is taken for JKS unless {store}.type=PEM, "
                "and librdkafka does not support JKS: convert it with keytool and openssl"
            )


def _check(path: Path, settings: Settings) -> None:
    protocol = protocol_of(settings)
    if protocol not in PROTOCOLS:
        raise ConfigFileError(f"{path}: security.protocol must be one of {', '.join(PROTOCOLS)}")
    if not protocol.startswith("SASL"):
        return
    if mechanism_of(settings) not in MECHANISMS:
        raise ConfigFileError(f"{path}: sasl.mechanism must be one of {', '.join(MECHANISMS)}")
    for key in ("sasl.username", "sasl.password"):
        if not settings.get(key):
            raise ConfigFileError(f"{path}: {key} is missing")


def protocol_of(settings: Settings) -> str:
    """security.protocol, as it is spelt in Java's documentation."""
    return settings.get("security.protocol", "PLAINTEXT").upper()


def mechanism_of(settings: Settings) -> str:
    """The SASL mechanism; empty when none is given."""
    return settings.get("sasl.mechanisms", "").upper()


def tls(settings: Settings) -> ssl.SSLContext | None:
    """The TLS context of a connection; None where it is plain. Raises ClusterError."""
    if not protocol_of(settings).endswith("SSL"):
        return None
    try:
        context = ssl.create_default_context(
            cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem")
        )
        verify = settings.get("enable.ssl.certificate.verification", "true") == "true"
        named = settings.get("ssl.endpoint.identification.algorithm", "https") == "https"
        context.check_hostname = verify and named
        if not verify:
            context.verify_mode = ssl.CERT_NONE
        if certificate := settings.get("ssl.certificate.location"):
            context.load_cert_chain(
                certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password")
            )
    except OSError as error:  # ssl.SSLError is one
        raise ClusterError(f"TLS: the certificates cannot be read: {error}") from None
    return context


def sasl(settings: Settings, host: str) -> Any | None:
    """A new exchange of the SASL mechanism with a broker; None where there is no mechanism."""
    if not protocol_of(settings).startswith("SASL"):
        return None
    from kafka.net.sasl import get_sasl_mechanism  # noqa: PLC0415  seldom needed

    return get_sasl_mechanism(mechanism_of(settings))(
        host=host,
        sasl_mechanism=mechanism_of(settings),
        sasl_plain_username=settings["sasl.username"],
        sasl_plain_password=settings["sasl.password"],
    )
