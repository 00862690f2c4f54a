"""Duplicates and inconsistent offsets: one value in two places, two values in one place.

**duplicate**: one value at two different offsets (or partitions) of the log.

    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a is a duplicate
    send a -> ok at 0    read: a at 0, a at 0 again    final read: a at 0    =>  a redelivery

A complete final read decides alone. A record that a consumer read at offset 5 before an unclean
election may be truncated and then appended again at offset 9: the log never held two copies, so
that is no duplicate (it shows as an inconsistent offset). Without a complete final read all reads
together decide: a consumer got the value at two offsets, and no read contradicts it. The outcomes:
`in_log`, the complete final read has it twice; `in_reads`, only the reads together do.

**inconsistent-offset**: an offset does not hold the value that an ack or a read named.

`two_values`: two values were acked or read at one partition and offset, one row per place. That is
certain with any final read. Its `victims` are the values that the complete final read does not have
there or, without one, each of them.

    read: a at 0    final read: b at 0                                       =>  inconsistent
    send a -> ok at 0    send b -> ok at 0                                   =>  inconsistent
    send a -> ok at 0    read: b at 0                                        =>  inconsistent
    send a -> ok at 0    read: a at 0    read: b at 1                        =>  nothing

`acked_elsewhere`: a value was acked at an offset, and the final read has it elsewhere only: it is
complete, or passed the acked offset.

    send a -> ok at 0    final read, complete: a at 1                        =>  inconsistent
    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a duplicate only

`read_elsewhere`: a reader was given a value at an offset, and the complete final read has it in
that partition, but not there. One row per value, at the highest such offset. It is this outcome
also if the ack named that offset, since Kafka promises more of what a reader was given.

    read: a at 5         final read, complete: a at 1                        =>  inconsistent
    read: a at 0, a at 1    final read, complete: a at 0, a at 1             =>  a duplicate only
    read: a at 5         final read, complete, from 6: a at 7                =>  nothing

`passed_over`: a final read that is not complete passed the acked offset, the value is nowhere, and
a copy may lie further on (`analysis.checks.loss` has the case that none can).

    send a -> ok at 0    final read, stopped at 5: nothing at 0, retries     =>  inconsistent
    the same, but stopped at 0                                               =>  a is unseen

`other_partition`: a value was read in another partition than it was sent to, and its send did not
certainly fail. One read proves it.

    send a to 0 -> info    read: a in 1                                      =>  inconsistent
    send a to 0 -> info    read: a in 0                                      =>  nothing

Cannot see: a copy that was deleted or truncated before a reader got it; the offset of an ack that
came without one; an offset whose other value was neither acked nor read; a record that was cut off
and appended again at its own offset.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    ACK_OF_ANOTHER_LEADER,
    COPY_OF_ANOTHER_LEADER,
    FLIPPED_BIT,
    LEADER_STRUCK,
    MOVED_MEANWHILE,
    PRODUCER_FORGOTTEN,
    READ_APART,
    READ_AS_ANOTHER,
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
from analysis.frames.claims import VICTIMS, is_contested
from analysis.frames.evidence import Rule, by_place, by_value
from analysis.frames.operations import ACKED, FAILED, offset_of, partition_of
from analysis.frames.signs import Sign


def duplicate() -> Rule:
    """Values with two places, one row per value."""
    twice = F.col("copies") > 1
    in_reads = ~F.col("complete") & (F.col("lowest_place") != F.col("highest_place"))
    return Rule(
        holds=twice | in_reads,
        place=F.when(twice, F.col("first_place")).otherwise(F.col("lowest_place")),
        time_ns=F.coalesce("acked_ns", "sent_ns"),
        known_ns=F.col("ended_ns"),
        other_place=F.when(twice, F.col("last_place")).otherwise(F.col("highest_place")),
        outcome=F.when(twice & F.col("complete"), "in_log").otherwise("in_reads"),
    )


def misplaced() -> Rule:
    """Values that are not where their send or its ack said, one row per value."""
    strayed, moved = F.coalesce(_has_strayed(), F.lit(False)), _has_moved()
    apart = ~strayed & _was_read_apart()
    lowest, highest = F.col("lowest_place"), F.col("highest_place")
    stray = F.when(partition_of(lowest) != F.col("home"), lowest).otherwise(highest)
    passed_over = (F.col("sent") == ACKED) & F.col("first_place").isNull() & F.col("passed")
    passed_over &= ~F.col("superseded")
    given = F.struct(F.col("sent_ns"), F.col("apart_ns").alias("known_ns"), F.lit(True))
    return Rule(
        holds=strayed | apart | moved | (passed_over & ~F.coalesce("one_copy", F.lit(False))),
        place=F.when(apart, F.col("apart_place")).otherwise(F.col("acked_place")),
        time_ns=F.when(apart, F.col("apart_ns")).otherwise(
            F.coalesce("acked_ns", "delivered_ns", "sent_ns")
        ),
        other_place=F.when(strayed, stray).otherwise(F.col("first_place")),
        other_value=F.when(
            ~apart | (F.col("apart_place") == F.col("acked_place")), F.col("instead")
        ),
        # A client keeps a record's partition, so no record's loss explains it.
        victims=F.when(strayed, F.array().cast(VICTIMS)).when(apart, F.array(given).cast(VICTIMS)),
        known_ns=F.when(apart, F.col("apart_ns")),
        outcome=F.when(strayed, "other_partition")
        .when(apart, "read_elsewhere")
        .when(moved, "acked_elsewhere")
        .otherwise("passed_over"),
    )


def _has_strayed() -> Column:
    """Whether a value was read in another partition than it was sent to."""
    lowest, highest = partition_of(F.col("lowest_place")), partition_of(F.col("highest_place"))
    away = (lowest != F.col("home")) | (highest != F.col("home"))
    return (F.col("sent") > FAILED) & away


def _was_read_apart() -> Column:
    """Whether a reader was given a value at an offset of its partition where it is not."""
    place = F.col("apart_place")
    here = (partition_of(place) == F.col("home")) & (offset_of(place) >= F.col("log_start"))
    in_log = F.col("first_place").isNotNull() & F.col("complete")
    return F.coalesce((F.col("sent") > FAILED) & in_log & here, F.lit(False))


def _has_moved() -> Column:
    """Whether a value is in the log, but not where its ack said."""
    elsewhere = F.col("acked_place").isNotNull() & F.col("stayed").isNull()
    kept = offset_of(F.col("acked_place")) >= F.col("log_start")
    decides = F.col("complete") | F.col("passed")
    in_log = F.col("first_place").isNotNull()
    return F.coalesce((F.col("sent") == ACKED) & in_log & elsewhere & kept & decides, F.lit(False))


def contested() -> Rule:
    """Places that two values claim, one row per place."""
    differ = F.col("value") != F.col("other_value")
    return Rule(
        holds=is_contested(),
        place=F.col("place"),
        time_ns=F.coalesce("delivered_ns", "known_ns"),
        other_value=F.when(differ, F.col("other_value")),
        outcome=F.lit("two_values"),
        victims=F.col("victims"),
    )


DUPLICATE = Anomaly(
    name="duplicate",
    rules={by_value: duplicate},
    signs=(Sign.UNCLAIMED, Sign.STRAY),
    outcomes=("in_log", "in_reads"),
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
            ALTERED,
            "One record is read as another one, which is elsewhere.",
            CRCS,
            by=READ_AS_ANOTHER,
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
        permitted(
            when(
                "an idempotent producer, and a clock ahead by producer.id.expiration.ms",
                lambda facts: facts.idempotent,
            ),
            "A broker forgets producers whose last record is older than that by its own clock, and "
            "appends what they send again.",
            "KIP-98; KIP-854; Kafka documentation, Broker Configs: producer.id.expiration.ms",
            by=PRODUCER_FORGOTTEN,
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
            "A leader that is replaced after it appended a record answers NOT_LEADER_OR_FOLLOWER, "
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
    rules={by_value: misplaced, by_place: contested},
    signs={
        by_value: (Sign.MISSED, Sign.UNCLAIMED, Sign.STRAY),
        by_place: (Sign.CONTESTED, Sign.GARBLED),
    },
    outcomes=("two_values", "acked_elsewhere", "read_elsewhere", "passed_over", "other_partition"),
    meaning="two values at one offset, or not at the offset or in the partition that was reported",
    noun="inconsistent offset",
    headline="{n} {is} not at the offset that was reported",
    unless_seen="lost",
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
            when("acks=1", lambda facts: facts.acks == "1"),
            "With acks=1 an acknowledged record may be lost, and its offset be another one's.",
            ACKS,
            by=ACK_OF_ANOTHER_LEADER,
        ),
        permitted(
            when(
                "acks=1, retries without idempotence",
                lambda facts: facts.acks == "1" and facts.retries > 0 and not facts.idempotent,
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
        permitted(
            ALTERED,
            "The changed record is read as one of another partition.",
            CRCS,
            by=READ_AS_ANOTHER,
        ),
        forbidden(
            OTHERWISE,
            "A record keeps its offset, and an offset keeps its record.",
            "Kafka documentation, Implementation: Log; KIP-101",
        ),
    ),
)
