"""Stale reads: a look-up that began after the ack did not find the record by its deadline.

    send a -> ok    lookup a -> fail at its deadline    read: a, 0.4 s later    =>  stale, appeared
    send a -> ok    lookup a -> fail at its deadline    final read: a           =>  stale, late
    send a -> ok    lookup a -> fail at its deadline    final read: nothing     =>  stale, never
    send a -> ok    lookup a -> ok                                              =>  nothing

A miss *lasted* from the ack until a consumer first got the record: 0 if one got it before the ack,
null if none ever did.

    ack at 1.0 s    lookup a -> fail at 2.0 s    read: a at 2.4 s               =>  lasted 1.4 s
    read: a at 0.9 s    ack at 1.0 s    lookup a -> fail at 2.0 s               =>  lasted 0 s
    ack at 1.0 s    lookup a -> fail at 2.0 s    final read: a                  =>  lasted null

A record that never appeared is *lost* or *unseen* as well, by the final read.

Cannot see: a look-up that never ended, because its worker died; records without a look-up (the
`stream` workload makes none).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import ALWAYS, REPLICATION, permitted
from analysis.frames.evidence import Rule, by_value
from analysis.frames.operations import ACKED
from analysis.frames.signs import Sign


def stale_read() -> Rule:
    """Acked records that a look-up missed, one row per record."""
    appeared, late = F.col("delivered_ns").isNotNull(), F.col("first_place").isNotNull()
    lasted_ns = F.when(appeared, F.greatest(_since_the_ack(), F.lit(0)))
    return Rule(
        holds=(F.col("sent") == ACKED) & F.col("gave_up_ns").isNotNull(),
        place=F.col("acked_place"),
        time_ns=F.col("gave_up_ns"),
        outcome=F.when(appeared, "appeared").when(late, "late").otherwise("never"),
        lasted_ns=lasted_ns,
    )


def _since_the_ack() -> Column:
    return F.col("delivered_ns") - F.col("acked_ns")


STALE_READ = Anomaly(
    name="stale-read",
    rules={by_value: stale_read},
    signs=(Sign.NOT_FOUND,),
    outcomes=("appeared", "late", "never"),
    meaning="a look-up that began after the ack and did not find the record in time",
    noun="stale read",
    lasts="until a consumer was given the record",
    promises=(
        permitted(
            ALWAYS,
            "Kafka promises no time within which a consumer sees a record.",
            REPLICATION,
        ),
    ),
)
