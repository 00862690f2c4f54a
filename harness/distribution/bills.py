"""What was fetched for each pinned release, as one digest: of the lines "<sha256>  <jar>\\n" of all
its jars, sorted by jar.

It pins those too that come by way of others. A release that is added here, or another version of a
module below, makes set-up say what the digest is.
"""

from __future__ import annotations

from typing import Final

from harness.model.sections.kafka_releases import numbers

BILLS: Final = {
    "3.9.2": "a306d3d7b3e6971ae0595a1d6465f6f1345606875af557c0575dff2fdb7e93e1",
    "4.4.0": "c69a27171c0ff2ece8439794fb0ef03462a72fc2eb23642dc27bdc3db76fbf43",
}
# The binding that Kafka's own distribution ships: kafka_2.13 itself brings slf4j-api 1.7 only.
SLF4J_BINDING: Final = ("org.slf4j", "slf4j-reload4j", "1.7.36")
# Since 4.2 DumpLogSegments is in a module of its own. What that module names as needed (Connect,
# Jetty) it does not need for that.
TOOLS_SINCE: Final = (4, 2)


def modules_of(release: str) -> list[tuple[str, str, str]]:
    """What a release is fetched by: organisation, name, version."""
    return [("org.apache.kafka", "kafka_2.13", release), SLF4J_BINDING]


def alone_of(release: str) -> list[tuple[str, str, str]]:
    """What is fetched beside them, without what it names as needed."""
    return [("org.apache.kafka", "kafka-tools", release)] * (numbers(release) >= TOOLS_SINCE)
