"""Reads the release of Kafka from an image's name.

    kafka-harness/kafka:4.4.0      4.4: what `kafka-harness image` makes, with start scripts of ours
    apache/kafka:4.4.0             4.4
    confluentinc/cp-kafka:7.9.4    3.9: Confluent's releases have numbers of their own
    confluentinc/cp-kafka:6.2.1    2.8
    acme/kafka:latest              unknown

Source: docs.confluent.io, Supported Versions and Interoperability.
"""

from __future__ import annotations

import re
from typing import Final

OURS: Final = "kafka-harness/kafka"
APACHES: Final = "apache/kafka"
APACHES_SINCE: Final = (3, 7)  # KRaft alone, whatever the release (KIP-975)


def is_ours(image: str) -> bool:
    """Whether its start scripts are the harness's own, in whatever registry it is."""
    return f"/{image.partition('@')[0].rpartition(':')[0]}".endswith(f"/{OURS}")


def line_in(image: str) -> str | None:
    """The line of Kafka in an image's name and tag, as in "3.9"; None if they have none."""
    path, _, tag = image.partition("@")[0].rpartition(":")
    version = re.match(r"v?(\d+)\.(\d+)(?!\d)", tag)
    if not path or version is None:
        return None
    major, minor = int(version[1]), int(version[2])
    if not path.rpartition("/")[2].startswith("cp-"):
        return f"{major}.{minor}"
    # 4.0 is Kafka 1.0, 5.5 is 2.5, 6.0 is 2.6, 7.0 is 3.0, 8.0 is 4.0.
    if major < 4:
        return None
    return f"2.{minor + 6}" if major == 6 else f"{major - (3 if major < 6 else 4)}.{minor}"
