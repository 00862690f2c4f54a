"""Order: a later send lies before an earlier one.

**reordered**: of two acked sends of one client to one partition, the record of the later one lies
before that of the earlier one. One row per earlier record. It is the one that moved: its send was
repeated while later ones went through, so its own time decides whether that was permitted. Any
number of records may have overtaken it; `other_value` and `other_place` are the latest of them.

    send 1 -> ok at 1    send 2 -> ok at 0    final read: 2, 1               =>  1 is reordered
    send 1 -> ok at 0    send 2 -> ok at 1    final read: 1, 2               =>  nothing
    the first, but the final read has 2 only                                 =>  1 is lost, no more
    send 1 -> ok at 2    send 2 -> ok at 1    final read: 1, 2, 1            =>  a duplicate only

A record counts at its first place. So the final read must be complete or have read everything
before the earlier record, and no copy of it can lie below the log's start. A client is a producer
(the high bits of its values) and an instance of it. In a history without instances it is the
producer, unless producers have a transactional.id: then a worker may have replaced its client, and
nothing is judged.

**real-time-violation**: a send began after another one was acked, of any clients, and its record
lies before the other's. One row per record that lies behind; `other_value` is the record before it
whose send began last.

    send 1 -> ok at 1, at 10 ms    send 2 from 20 ms on -> ok at 0           =>  1 violates it
    the same, but send 2 began at 5 ms                                       =>  1 is reordered only
    the same, but the final read has 1 elsewhere than acked                  =>  a wrong offset

It counts only records that the final read has where they were acked, and nowhere before: what is
appended after an ack lies behind the acked record, as long as that stays in its place. Sends in
transactions end with their commits, later than the acks, so fewer pairs count, and none wrongly.

Cannot see: records whose send ended info; the order within a part of the log that was
deleted or not read; a record that was out of order until a later look found it elsewhere; acks
without an offset (real time)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import Window

from analysis.causes.kinds import (
    ANOTHER_LEADER,
    BIT_AT_THE_END,
    LEADER_STRUCK,
    MOVED_MEANWHILE,
    STALE_METADATA,
    TRUNCATION,
)
from analysis.causes.run_facts.configuration import Facts
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    ACKS,
    ALTERED,
    CRCS,
    FLUSH,
    OTHERWISE,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import ACKED, offset_of, partition_of
from analysis.frames.signs import Sign
from harness.history.record_format import SEQUENCE_BITS

IN_FLIGHT = "Kafka documentation, Producer Configs: max.in.flight.requests.per.connection"

_KEPT = ("run_id", "value", "home", "sent", "copies", "sent_ns", "acked_ns", "delivered_ns")


def in_order_of_place(tables: Tables) -> DataFrame:
    """A row for each acked record that the final read has in its partition, with the latest send
    before it: `overtaken_by` of its client (null: not known), `passed_by` of all."""
    runs = tables.history.runs.select("run_id", "ends", "transactional")
    records = (
        tables.values()
        .where((F.col("sent") == ACKED) & _is_at_home())
        .join(F.broadcast(runs), on="run_id", how="inner")
        .select(
            *_KEPT,
            "first_place",
            _client().alias("client"),
            F.coalesce(_is_first(), F.lit(False)).alias("is_first"),
            F.when(F.col("first_place") == F.col("acked_place"), F.col("acked_ns")).alias(
                "since_ns"
            ),
        )
    )
    # Two values may claim one place; neither is before the other. One shuffle, by partition, serves
    # both.
    before = Window.orderBy("first_place").rangeBetween(Window.unboundedPreceding, -1)
    in_place = F.when(F.col("since_ns").isNotNull(), F.struct("sent_ns", "value", "first_place"))
    own = F.when(F.col("client").isNotNull(), F.struct("value", "first_place"))
    by_client = before.partitionBy("run_id", "home", "client")
    return records.withColumn(
        "passed_by", F.max(in_place).over(before.partitionBy("run_id", "home"))
    ).withColumn("overtaken_by", F.max(own).over(by_client))


def reordered() -> Rule:
    """Records that a later one of the same client overtook."""
    other = F.col("overtaken_by")
    return Rule(
        holds=F.col("is_first") & (other["value"] > F.col("value")),
        place=F.col("first_place"),
        time_ns=F.col("acked_ns"),
        other_place=other["first_place"],
        other_value=other["value"],
    )


def out_of_time() -> Rule:
    """Records behind one whose send began after they were acked."""
    other = F.col("passed_by")
    return Rule(
        holds=other["sent_ns"] > F.col("since_ns"),
        place=F.col("first_place"),
        time_ns=F.col("acked_ns"),
        other_place=other["first_place"],
        other_value=other["value"],
    )


def _is_at_home() -> Column:
    """Whether the first place in the final read is in the partition that it was sent to."""
    return partition_of(F.col("first_place")) == F.col("home")


def _client() -> Column:
    """The client that sent it; null if not known."""
    only = F.when(~F.coalesce("transactional", F.lit(True)), 0)
    instance = F.coalesce("instance", only)
    producer = F.shiftright("value", SEQUENCE_BITS)
    return F.when(instance.isNotNull(), F.struct(producer.alias("producer"), instance.alias("n")))


def _is_first() -> Column:
    """Whether no copy can lie before the first place."""
    position = F.get("ends", F.col("home"))["position"]
    read = F.col("complete") | (offset_of(F.col("first_place")) < position)
    return read & ((F.col("log_start") == 0) | F.col("one_copy"))


def _keeps_order(facts: Facts) -> bool:
    """Whether the broker drops what comes out of order (a transactional.id asks for that too)."""
    return facts.idempotent or facts.transactional


REORDERED = Anomaly(
    name="reordered",
    rules={in_order_of_place: reordered},
    signs=(Sign.OVERTAKEN,),
    meaning="behind a record that the same client sent to the partition later",
    noun="reordered record",
    headline="{n} {is} in the log behind records that the same producer sent later",
    judged=when("where acks are asked for", lambda facts: facts.acks != "0"),
    promises=(
        permitted(
            SHRINKS,
            "The copy that was in order may be cut off while another copy stays.",
            UNCLEAN,
            by=TRUNCATION,
        ),
        permitted(
            TOOK,
            "The copy that was in order may be gone while another copy stays.",
            FLUSH,
            by=LEADER_STRUCK,
        ),
        permitted(
            ALTERED,
            "The changed record is read as one that was sent at another time.",
            CRCS,
            by=BIT_AT_THE_END,
        ),
        forbidden(
            when("an idempotent producer", _keeps_order),
            "The broker takes the batches of an idempotent producer in their order only, up to "
            "five in flight, and the client waits for the old leader's answers before it sends to "
            "a new one.",
            "KIP-98; KAFKA-5494",
        ),
        permitted(
            when(
                "more than one request in flight, and no idempotent producer",
                lambda facts: facts.in_flight > 1,
            ),
            "A request that fails is sent again behind those that were in flight with it. "
            "librdkafka does so even with retries=0 where a broker answers that it does not lead.",
            f"{IN_FLIGHT}; librdkafka, CONFIGURATION.md: retries",
        ),
        permitted(
            when("acks=1", lambda facts: facts.acks == "1"),
            "With acks=1 the acknowledged copy of a repeated send may be lost while another stays.",
            ACKS,
            by=ANOTHER_LEADER,
        ),
        permitted(
            when("replicated partitions", lambda facts: facts.replicated),
            "Requests in flight are counted per connection: without idempotence librdkafka sends "
            "to a new leader while the old one's answer is outstanding.",
            f"{IN_FLIGHT}; librdkafka issue 1092",
            by=MOVED_MEANWHILE,
        ),
        permitted(
            when("replicated partitions", lambda facts: facts.replicated),
            "What is sent to a leader that was replaced before is refused, and sent again behind "
            "what went to the new one.",
            f"{IN_FLIGHT}; librdkafka issue 1092",
            by=STALE_METADATA,
        ),
        forbidden(
            OTHERWISE,
            "With one request in flight nothing is sent before the request before it has ended.",
            IN_FLIGHT,
        ),
    ),
)
REAL_TIME_VIOLATION = Anomaly(
    name="real-time-violation",
    rules={in_order_of_place: out_of_time},
    signs=(Sign.OUT_OF_TIME,),
    meaning="behind a record whose send began after this one was acknowledged",
    noun="real-time violation",
    headline="{n} {is} in the log behind records that were sent after the ack",
    judged=when("where acks are asked for", lambda facts: facts.acks != "0"),
    promises=(
        permitted(
            SHRINKS,
            "What may be cut off has no place of its own: a late copy may come to lie at its old "
            "offset.",
            UNCLEAN,
            by=TRUNCATION,
        ),
        permitted(
            TOOK,
            "What may be gone has no place of its own: a late copy may come to lie at its old "
            "offset.",
            FLUSH,
            by=LEADER_STRUCK,
        ),
        permitted(
            when("acks=1", lambda facts: facts.acks == "1"),
            "With acks=1 an acknowledged record may be lost, and a late copy come to lie at its "
            "old offset.",
            ACKS,
            by=ANOTHER_LEADER,
        ),
        forbidden(
            OTHERWISE,
            "A log only grows at its end, and a record that is acknowledged is in it.",
            "Kafka documentation, Implementation: Log",
        ),
    ),
)
