"""The leader of KRaft's quorum, which is its controller: asked of any broker that tells.

KRaft's brokers name any of themselves as controller in their metadata (KIP-590), and pass the
question for the quorum on to it (KIP-595). It may be a node of its own, and none of the brokers.
The question has connections of its own, once a second: it can be long until the answer comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest

from harness.cluster.nodes import Node
from harness.cluster.view.connection import Link, Unanswered
from harness.waiting import Every

DESCRIBE_QUORUM = 55  # the request's number: ZooKeeper's brokers do not know it
EVERY_S = 1.0


def answers(controller: Node) -> bool:
    """Whether a controller says which requests it understands."""
    link = Link(*controller.dial, {})
    try:
        link.connect()
    except Unanswered:
        return False
    finally:
        link.close()
    return True


def metadata_log() -> Any:
    """The quorum's one partition, as a question for it names it."""
    of_topic = DescribeQuorumRequest.TopicData
    partition = of_topic.PartitionData(partition_index=0)
    return of_topic(topic_name="__cluster_metadata", partitions=[partition])


class Quorum:
    """Asks from `start` to `close`; `leader` is a number, None while it is not known."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.leader: int | None = None
        self._links = list(links)
        self._asking = Every(EVERY_S, self._ask, name="quorum")
        self._begun = False

    def start(self) -> None:
        """Ask once, and again and again where there is a quorum."""
        self._ask()
        if self.exists():
            self._begun = True
            self._asking.start()

    def exists(self) -> bool:
        """Whether some broker has said that it belongs to one."""
        return any(link.newest(DESCRIBE_QUORUM) >= 0 for link in self._links)

    def close(self) -> None:
        """Ask no more."""
        if self._begun:
            self._asking.close()
        for link in self._links:
            link.close()

    def _ask(self) -> None:
        topic = metadata_log()
        for link in list(self._links):
            with suppress(Unanswered):
                link.connect()
                if not self.exists():
                    return
                said = link.ask(DescribeQuorumRequest(topics=[topic], version=0))
                if said.error_code == 0:
                    self.leader = said.topics[0].partitions[0].leader_id
                    return
            self._links.append(self._links.pop(0))
