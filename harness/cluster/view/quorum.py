"""The leader of KRaft's quorum, which is its controller, and may be none of the brokers.

    controller2: epoch 7       controller1, controller3: not the leader      => controller2
    controller2 is silent                                                    => controller2 still
    controller2 is silent      controller3: epoch 8                          => controller3
    controller2: not the leader any more                                     => nobody, for now

KRaft's brokers name any of themselves as controller in their metadata (KIP-590), so the quorum is
asked (DescribeQuorum, KIP-595). Where the controllers are known each is asked at its own listener:
who leads tells its epoch, the others that they do not (`claim`). It stays the leader until it says
otherwise or another tells a higher epoch: who is silent may be paused, and be the leader still.

Where they are not known, any broker passes the question on to the leader (`Quorum`). That has
connections of its own, once a second: it can be long until the answer comes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest

from harness.cluster.nodes import Node
from harness.cluster.view.connection import Link, Unanswered
from harness.waiting import Every

DESCRIBE_QUORUM = 55  # the request's number: ZooKeeper's brokers do not know it
EVERY_S = 1.0
NO_CLAIM = -1  # an epoch: of a controller that leads nobody


def metadata_log() -> Any:
    """The quorum's one partition, as a question for it names it."""
    of_topic = DescribeQuorumRequest.TopicData
    partition = of_topic.PartitionData(partition_index=0)
    return of_topic(topic_name="__cluster_metadata", partitions=[partition])


def claim(controller: Link) -> int:
    """The epoch in which a controller leads, NO_CLAIM where it does not. Raises Unanswered."""
    led = _led(controller)
    return NO_CLAIM if led is None else int(led.leader_epoch)


def _led(link: Link) -> Any:
    """The quorum as its leader describes it; None where the leader was not asked, or is none any
    more: what stands in such an answer is nobody's. Raises Unanswered."""
    said = link.ask(DescribeQuorumRequest(topics=[metadata_log()], version=0))
    if said.error_code != 0:
        return None
    (partition,) = said.topics[0].partitions
    return partition if partition.error_code == 0 else None


class Claims:
    """Who leads by what controllers say, each of itself; `leader` is a number, None for nobody."""

    def __init__(self) -> None:
        self.leader: int | None = None
        self._epoch = NO_CLAIM

    def hear(self, epochs: Mapping[int, int]) -> None:
        """What each controller said last, by its number; who has not answered is left out."""
        if self.leader is not None and epochs.get(self.leader) == NO_CLAIM:
            self.leader = None
        for controller, epoch in epochs.items():
            if epoch > self._epoch:
                self.leader, self._epoch = controller, epoch


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


class Quorum:
    """Asks brokers from `start` to `close`; `leader` is a number, None while it is not known."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.leader: int | None = None
        self._links = list(links)
        self._told_s: float | None = None  # when a leader has described it last
        self._high_watermark = 0
        self._ends: dict[int, int] = {}  # of the voters' copies of the log
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

    def follows(self, controller: int) -> bool:
        """Whether a voter has all that is committed, as a leader has told just now: with nothing to
        do, too, the log grows every half second (metadata.max.idle.interval.ms), and one that is
        away falls behind."""
        new = self._told_s is not None and time.monotonic() - self._told_s < 2 * EVERY_S
        return new and self._ends.get(controller, -1) >= self._high_watermark

    def close(self) -> None:
        """Ask no more."""
        if self._begun:
            self._asking.close()
        for link in self._links:
            link.close()

    def _ask(self) -> None:
        for link in list(self._links):
            with suppress(Unanswered):
                link.connect()
                if not self.exists():
                    return
                if led := _led(link):
                    self.leader = led.leader_id
                    self._high_watermark = led.high_watermark
                    voters = led.current_voters
                    self._ends = {each.replica_id: each.log_end_offset for each in voters}
                    self._told_s = time.monotonic()
                    return
            self._links.append(self._links.pop(0))
