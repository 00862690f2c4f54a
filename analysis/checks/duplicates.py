"""Duplicates and inconsistent offsets: one value in two places, two values in one place.

**duplicate**: one value at two different offsets (or partitions) of the log.

    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a is a duplicate
    send a -> ok at 0    read: a at 0, a at 0 again    final read: a at 0    =>  a redelivery

A complete final read decides alone. What a consumer read at offset 5 before an unclean election may
be truncated and then appended anew at offset 9: the log never held two copies, so that is no
duplicate (it shows as an inconsistent offset). Where the final read is not complete all reads
together decide: a consumer was handed the value at two offsets, and nothing says otherwise.

**inconsistent-offset**: two values were read at one partition and offset; or a value was acked at
an offset, and a complete final read has it elsewhere only.

    read: a at 0    final read: b at 0                                       =>  inconsistent
    send a -> ok at 0    final read, complete: a at 1                        =>  inconsistent
    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a duplicate only

Cannot see: a copy that was deleted or truncated again before anybody read it; the offset of an ack
that came without one; an offset whose other value nobody ever read.
"""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    ACK_OF_ANOTHER_LEADER,
    COPY_OF_ANOTHER_LEADER,
    FLIPPED_BIT,
    LEADER_STRUCK,
    MOVED_MEANWHILE,
    READ_APART,
    TRUNCATION,
)
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    ACKS,
    ALTERED,
    CRCS,
    FLUSH,
    OTHERWISE,
    SEMANTICS,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, by_place, by_value
from analysis.frames.operations import ACKED, offset_of


def duplicate() -> Rule:
    """Values with two places, one row a value."""
    in_log = F.col("copies") > 1
    in_reads = ~F.col("complete") & (F.col("lowest_place") != F.col("highest_place"))
    return Rule(
        holds=in_log | in_reads,
        place=F.when(in_log, F.col("first_place")).otherwise(F.col("lowest_place")),
        time_ns=F.coalesce("acked_ns", "sent_ns"),
        known_ns=F.col("ended_ns"),
        other_place=F.when(in_log, F.col("last_place")).otherwise(F.col("highest_place")),
    )


def moved() -> Rule:
    """Values that are in the log, but not where their ack said."""
    found = F.col("first_place").isNotNull() & F.col("complete")
    elsewhere = F.col("acked_place").isNotNull() & F.col("stayed").isNull()
    kept = offset_of(F.col("acked_place")) >= F.col("log_start")
    return Rule(
        holds=(F.col("sent") == ACKED) & found & elsewhere & kept,
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
        other_place=F.col("first_place"),
        outcome=F.lit("acked_elsewhere"),
    )


def contested() -> Rule:
    """Places at which two values were read, one row a place."""
    values = F.col("value") != F.col("other_value")
    foreign = F.col("value").isNotNull() & (F.col("unparsable") > 0)
    return Rule(
        holds=F.coalesce(values, F.lit(False)) | foreign,
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        other_value=F.when(values, F.col("other_value")),
        outcome=F.lit("two_values"),
    )


DUPLICATE = Anomaly(
    name="duplicate",
    rules={by_value: duplicate},
    meaning="one value at two offsets",
    noun="duplicate",
    headline="{n} {is} in the log more than once",
    promises=(
        permitted(
            SHRINKS,
            "What a consumer read at one offset may be cut off and appended again at another: the "
            "log never held two copies.",
            UNCLEAN,
            by=READ_APART,
        ),
        permitted(
            TOOK,
            "What a consumer read at one offset may be gone, and sent again.",
            FLUSH,
            by=READ_APART,
        ),
        permitted(
            when(
                "retries, and no idempotent producer",
                lambda facts: facts.retries > 0 and not facts.idempotent,
            ),
            "A send is repeated when its answer does not come, and without idempotence the broker "
            "appends it again.",
            f"{SEMANTICS}; KIP-98",
        ),
        forbidden(
            when("an idempotent producer", lambda facts: facts.idempotent),
            "With an idempotent producer the broker drops a repeated send.",
            "KIP-98",
        ),
        permitted(
            when(
                "acks=all without retries",
                lambda facts: facts.acks == "all" and facts.replicated,
            ),
            "A leader that is deposed after it appended a record answers NOT_LEADER_OR_FOLLOWER, "
            "and librdkafka then sends the record again even with retries=0.",
            "KAFKA-13574; librdkafka issue 4953",
            by=MOVED_MEANWHILE,
        ),
        forbidden(
            OTHERWISE,
            "Without retries every record is sent once.",
            "Kafka documentation, Producer Configs: retries",
        ),
    ),
)
INCONSISTENT_OFFSET = Anomaly(
    name="inconsistent-offset",
    rules={by_value: moved, by_place: contested},
    outcomes=("two_values", "acked_elsewhere"),
    meaning="two values at one offset, or read at another offset than acknowledged",
    noun="inconsistent offset",
    headline="{n} {is} not at the offset that was reported",
    promises=(
        permitted(
            SHRINKS,
            "Offsets that a new leader lacks are reused for other records.",
            f"{UNCLEAN}; KIP-101",
            by=TRUNCATION,
        ),
        permitted(
            TOOK,
            "Offsets that were lost with the last copy are reused for other records.",
            FLUSH,
            by=LEADER_STRUCK,
        ),
        permitted(
            when("acks=1", lambda facts: facts.acks == "1" and facts.replicated),
            "With acks=1 an acknowledged record may be lost, and its offset be another one's.",
            ACKS,
            by=ACK_OF_ANOTHER_LEADER,
        ),
        permitted(
            when(
                "acks=1, retries without idempotence",
                lambda facts: (
                    facts.acks == "1"
                    and facts.replicated
                    and facts.retries > 0
                    and not facts.idempotent
                ),
            ),
            "With acks=1 the acknowledged copy of a repeated send may be lost while another stays.",
            ACKS,
            by=COPY_OF_ANOTHER_LEADER,
        ),
        permitted(
            ALTERED,
            "One reader gets the changed record, another one the original.",
            CRCS,
            by=FLIPPED_BIT,
        ),
        forbidden(
            OTHERWISE,
            "A record keeps its offset, and an offset keeps its record.",
            "Kafka documentation, Implementation: Log; KIP-101",
        ),
    ),
)
