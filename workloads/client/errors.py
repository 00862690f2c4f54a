"""Decides from the client's report whether a send ended ok, fail or info. Doubt is info.

- **ok**: the broker acknowledged it. It may lack an offset (an idempotent producer's retry answered
  DUPLICATE_SEQUENCE_NUMBER; librdkafka reports success): then it is checked by value.
- **fail**: the record is certainly not in the log. Either produce() raised, so that it never left
  the client; or a broker refused it by an error of the tables below, and no attempt before can have
  landed.
- **info**: everything else, also errors that nobody has thought about. With acks=0 the client
  reports success once the request is written: that is no ack, and is recorded as `_NO_ACK`.

Sends in a transaction end with it: workloads/client/transactions.py.

    retries=0, INVALID_RECORD                                                      =>  fail
    retries, INVALID_RECORD, and nothing in the run can change what is refused     =>  fail
    retries, an attempt without an answer, then `set-config`, INVALID_RECORD       =>  info
    retries, MSG_SIZE_TOO_LARGE of a record that alone is above the limit          =>  fail
    retries, MSG_SIZE_TOO_LARGE of a smaller one: of its batch                     =>  info

With retries an earlier attempt may have landed before something changed what brokers take. So the
tables hold with retries only where the SPEC says that refusals stand (`refusals_stand`): in a
cluster of the run's own without a step that changes settings. INVALID_TIMESTAMP does not stand even
there: an attempt that was in time may have landed, and the next one be too old.

Why the tables are so short: the last error of a send says nothing of its earlier attempts, and
**`retries=0` does not mean one attempt**. librdkafka sends a batch again, without counting, after
every error that it takes for stale metadata (`rd_kafka_handle_Produce_error`, actions REFRESH:
NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PART, LEADER_NOT_AVAILABLE, ...). With acks=all a broker
also answers NOT_LEADER_OR_FOLLOWER to a request whose records it *has appended*, when it loses the
leadership while they wait for their followers (KAFKA-13574). So with acks=all any later error may
follow an attempt that landed, unless the error refuses the record itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.history.record_format import FAIL, INFO

NO_ACK: Final = -10_001  # our own codes, out of librdkafka's range
NO_ACK_NAME: Final = "_NO_ACK"
ABORTED: Final = -10_002  # delivered, and then its transaction was aborted
ABORTED_NAME: Final = "_ABORTED"

# Refused for what the record or the request is: every attempt before was refused as well.
# Kafka 3.9: KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, and LogValidator, which
# UnifiedLog.append calls before anything is written.
REFUSED_FOR_ITSELF: Final = {
    21: "INVALID_REQUIRED_ACKS",  # acks is none of -1, 0, 1
    29: "TOPIC_AUTHORIZATION_FAILED",  # such partitions are not passed on to the log at all
    32: "INVALID_TIMESTAMP",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    87: "INVALID_RECORD",  # a batch with one such record is refused as a whole
}

# With retries too, where nothing changes what is refused. A batch is refused as a whole for one
# such record; the records of a run are alike in this.
STANDING: Final = REFUSED_FOR_ITSELF.keys() - {32}

# Refused before the append because of the batch. A batch may be put together differently at the
# next attempt, so with acks=all an earlier, smaller one may have landed; with acks=1 there is no
# waiting for followers, so NOT_LEADER_OR_FOLLOWER comes before the append and nothing has landed.
REFUSED_BATCH: Final = {
    10: "MSG_SIZE_TOO_LARGE",
    18: "RECORD_LIST_TOO_LARGE",
}
TOO_LARGE: Final = 10
REFUSALS: Final = REFUSED_FOR_ITSELF.keys() | REFUSED_BATCH.keys()

# Left out on purpose, although the broker checks it before the append: NOT_ENOUGH_REPLICAS (19).
# It is only ever answered under acks=all, where an uncounted earlier attempt may have landed.


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRules:
    """The meaning of a producer's reports, by its configuration."""

    acks_come: bool  # False with acks=0: success is no ack
    idempotent: bool
    definite: frozenset[int]  # error codes that mean fail
    largest: int | None  # bytes: a larger record is refused whatever else is in its batch

    @classmethod
    def of(
        cls, config: Mapping[str, Any], *, refusals_stand: bool = False, largest: int = 0
    ) -> SendRules:
        """The rules for a complete librdkafka configuration, with one name for each setting, as in
        a worker's SPEC. `largest`: the bytes of a batch that the topic takes; 0: not known."""
        acks, retries = str(config["acks"]), int(config["retries"])
        idempotent = str(config.get("enable.idempotence", False)).lower() == "true"
        definite: set[int] = set()
        if retries == 0 and not idempotent:
            definite |= REFUSED_FOR_ITSELF.keys()
            if acks not in ("all", "-1"):
                definite |= REFUSED_BATCH.keys()
        elif refusals_stand:
            definite |= STANDING
        # What is compressed may be smaller than its records.
        plain = str(config.get("compression.type", "none")) == "none"
        return cls(
            acks_come=acks != "0",
            idempotent=idempotent,
            definite=frozenset(definite),
            largest=largest if refusals_stand and largest and plain else None,
        )

    def outcome(self, code: int, size: int = 0) -> int:
        """FAIL or INFO for a send of so many bytes whose delivery report has this error."""
        alone = code == TOO_LARGE and self.largest is not None and size > self.largest
        return FAIL if alone or code in self.definite else INFO
