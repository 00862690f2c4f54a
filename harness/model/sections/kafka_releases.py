"""The releases of Kafka that runs are made with, and where each can keep its metadata.

    ""         3.9.2, the last line that runs with ZooKeeper
    "4.3.1"    a release: each pinned one was run here, in every mode that it has
    "4.4"      a line: its newest pinned patch

    zookeeper         an ensemble keeps the metadata: until 3.9
    kraft             controllers, nodes of their own, do (KIP-500): from 3.3 on (KIP-833)
    kraft-combined    the same, and the first brokers are the controllers

The voters of a KRaft quorum are named in every node's file (static), or in the quorum's own log
(dynamic, KIP-853): from 3.9 on. Standard library only, for set-up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

Metadata = Literal["zookeeper", "kraft", "kraft-combined"]

PINNED: Final = (
    *("2.4.1", "2.8.2", "3.3.2", "3.6.0", "3.6.2", "3.7.0", "3.7.2", "3.9.2"),
    *("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
)
DEFAULT: Final = "3.9.2"
NEWEST: Final = PINNED[-1]
OLDEST: Final = (2, 4)  # whose metadata tells reliable leader epochs (KAFKA-9212)
KRAFT_SINCE, DYNAMIC_SINCE, ZOOKEEPER_BELOW = (3, 3), (3, 9), (4, 0)
# After how long without a word a broker counts as gone: the setting, and Kafka's default in ms.
ZOOKEEPERS_SESSION: Final = "zookeeper.session.timeout.ms"
KRAFTS_SESSION: Final = "broker.session.timeout.ms"
SESSION_MS: Final = {ZOOKEEPERS_SESSION: 18_000, KRAFTS_SESSION: 9_000}
SHORTEST_SESSION_MS: Final = 100
ELR: Final = "eligible.leader.replicas.version"  # a feature (KIP-966)
ELR_SINCE: Final = (4, 1)  # by default
ELR_FROM, FEATURES_SINCE = (4, 0), (3, 9)  # where a level is asked for, of this one and of any
UNCLEAN_SINCE: Final = (3, 9)  # unclean elections by KRaft's configuration (KAFKA-12670)


def numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release, for comparing: 3.10.0 comes after 3.9.2."""
    return tuple(int(number) for number in re.findall(r"\d+", release)[:3])


def release_of(word: str) -> str:
    """The release of a scenario's word: itself if it names one, or if no such one is pinned."""
    if not word:
        return DEFAULT
    of_line = [pinned for pinned in PINNED if pinned.startswith(f"{word}.")]
    return max(of_line, key=numbers, default=word)


def keeps_elr(release: str, features: Mapping[str, int]) -> bool:
    """Whether KRaft of a release, formatted with these levels of features, keeps eligible leader
    replicas."""
    return int(features.get(ELR, numbers(release) >= ELR_SINCE)) > 0


def default_metadata(release: str) -> Metadata:
    """A release's default metadata mode."""
    return "zookeeper" if numbers(release) < ZOOKEEPER_BELOW else "kraft"


def unpinned(release: str) -> str | None:
    """Why a release is not run without permission, with the remedy; None for a pinned one."""
    if release in PINNED:
        return None
    return (
        f"Kafka {release} is not one of {', '.join(PINNED)}, which were tried here: name one of "
        "these, add --unpinned to fetch it all the same, or give its folder by --kafka-home"
    )


def without_feature(release: str, features: Mapping[str, int]) -> str | None:
    """Why KRaft of a release cannot be formatted with such levels, with the remedy; None if it can:
    Kafka's own tool judges other features."""
    version = numbers(release)
    if features and version < FEATURES_SINCE:
        return f"Kafka {release} is formatted with its own levels; from 3.9 on they can be named"
    if features.get(ELR) and version < ELR_FROM:
        return f"Kafka {release} has no {ELR}, which came with 4.0"
    return None


def cannot_be(release: str, metadata: str, voters: str = "static") -> str | None:
    """Why a release cannot run so, with the remedy; None if it can."""
    version = numbers(release)
    if version < OLDEST:
        return f"Kafka {release} is older than 2.4, whose metadata tells no reliable leader epochs"
    if metadata == "zookeeper":
        if version >= ZOOKEEPER_BELOW:
            return f'Kafka {release} has no ZooKeeper any more: set cluster.metadata = "kraft"'
        return None
    if version < KRAFT_SINCE:
        return (
            f"Kafka {release} has no KRaft that was meant to be used, which came with 3.3: set "
            'cluster.metadata = "zookeeper", or a later cluster.kafka'
        )
    if voters == "dynamic" and version < DYNAMIC_SINCE:
        return (
            f"Kafka {release} names its voters in its files, and dynamic ones came with 3.9: set "
            'cluster.voters = "static", or a later cluster.kafka'
        )
    return None
