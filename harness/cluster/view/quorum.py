"""The leader of KRaft's quorum, which is its controller, and may be none of the brokers.

    controller2: epoch 7       controller1, controller3: not the leader      => controller2
    controller2 is silent                                                    => controller2 still
    controller2 is silent      controller3: epoch 8                          => controller3
    controller2: not the leader any more                                     => nobody, for now

KRaft's brokers name any of themselves as controller in their metadata (KIP-590), so the quorum is
asked (DescribeQuorum, KIP-595). Where the controllers are known each is asked at its own listener:
who leads tells its epoch and how far the voters have got, the others that they do not lead. It
stays the leader until it says otherwise or another tells a higher epoch: who is silent may be
paused, and be the leader still.

Where they are not known, any broker passes the question on to the leader (`Quorum`). That has
connections of its own, once a second: it can be long until the answer comes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a controller says of its quorum; who does not lead says nothing."""

    leader: int | None = None
    epoch: int = NO_CLAIM
    committed: int = 0  # up to where the log is
    ends: Mapping[int, int] = field(default_factory=dict)  # of the voters' copies of it

    def has_all(self, voter: int) -> bool:
        """Whether a voter has what is committed: with nothing to do, too, the log grows every half
        second (metadata.max.idle.interval.ms), and one that is away falls behind."""
        return self.ends.get(voter, -1) >= self.committed


def described(link: Link) -> Description:
    """The quorum as whoever is asked has it from its leader; empty where the leader was not asked,
    or is none any more: what stands in such an answer is nobody's. Raises Unanswered."""
    said = link.ask(DescribeQuorumRequest(topics=[metadata_log()], version=0))
    if said.error_code != 0:
        return Description()
    (partition,) = said.topics[0].partitions
    if partition.error_code != 0:
        return Description()
    return Description(
        leader=partition.leader_id,
        epoch=partition.leader_epoch,
        committed=partition.high_watermark,
        ends={voter.replica_id: voter.log_end_offset for voter in partition.current_voters},
    )


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
        self._description = Description()
        self._described_s: float | None = None  # when a leader has described it last
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
        """Whether a voter has all that is committed, as a leader has told just now."""
        new = self._described_s is not None and time.monotonic() - self._described_s < 2 * EVERY_S
        return new and self._description.has_all(controller)

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
                if (description := described(link)).leader is not None:
                    self.leader, self._description = description.leader, description
                    self._described_s = time.monotonic()
                    return
            self._links.append(self._links.pop(0))
