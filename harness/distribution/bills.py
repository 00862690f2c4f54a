"""What was fetched for each pinned release, as one digest: of the lines "<sha256>  <jar>\\n" of all
its jars, sorted by jar.

It pins those too that come by way of others. A release that is added here, or another version of a
module below, makes set-up say what the digest is.
"""

from __future__ import annotations

from typing import Final

from harness.model.sections.kafka_releases import numbers

BILLS: Final = {
    "2.4.1": "d29722ae0505dd832dfabf64357ed9b6aca4e6a842a2c67be5aac59427b10b22",
    "2.8.2": "1f974d34cf86e7ddbaf52548e991144693df41707ca978aad876bd082034a182",
    "3.3.2": "d42d5b500b5c44e93c11ae95958be2305da3f77a89d64f0a65ee38c24a6782c5",
    "3.6.0": "5cb75b7c13d1afb6aeac617300d4f2c6a42e6be0551847fb17091d01053ce071",
    "3.6.2": "bade5b8ad8f4e7704d1de53668ad1319857f9512f8340497dbcc821236c8871d",
    "3.7.0": "b670991b275f94f80dbb869e50d50e56ec28d12ab485993f9331cc1247bd88c2",
    "3.7.2": "62a1b9ab46fbdc03ec24f618e586bec803991cea4d71fcd8986f36429862dab3",
    "3.9.2": "a306d3d7b3e6971ae0595a1d6465f6f1345606875af557c0575dff2fdb7e93e1",
    "4.0.2": "3610af38565e45c0b21897a0b8261ec2e5b50c6906c6f0f94eefeb6b3aa8128b",
    "4.1.2": "84ed6cc6d26cf7a16a058430e49b05fe33aa3d2a70734b704adbce14fc525fe5",
    "4.2.2": "a177fed3917b98101268e6de275995018d7aee08c1cf769b37a02dc7b37e4ea7",
    "4.3.1": "fb7faa7268c004fc2ff8b9d614a74e6feb18a12a6776572257aa529f3aec6c4d",
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
