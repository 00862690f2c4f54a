"""Stale reads: a look-up that began after the ack did not find the record by its deadline.

    send a -> ok    lookup a -> fail at its deadline    read: a, 0.4 s later    =>  stale, appeared
    send a -> ok    lookup a -> fail at its deadline    final read: a           =>  stale, late
    send a -> ok    lookup a -> fail at its deadline    final read: nothing     =>  stale, never
    send a -> ok    lookup a -> ok                                              =>  nothing

`delivered_ns` says when a record that appeared was first read. One that never did is *lost* or
*unseen* as well: the look-up saw first what the final read proves or cannot prove.

Cannot see: a look-up that never ended, because its worker died; anything about records that no
look-up was made for (the `stream` workload makes none).
"""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import ALWAYS, REPLICATION, permitted
from analysis.frames.evidence import Rule, by_value
from analysis.frames.operations import ACKED


def stale_read() -> Rule:
    """Acked records that a look-up missed, one row a record."""
    appeared, late = F.col("delivered_ns").isNotNull(), F.col("first_place").isNotNull()
    return Rule(
        holds=(F.col("sent") == ACKED) & F.col("gave_up_ns").isNotNull(),
        place=F.col("acked_place"),
        time_ns=F.col("gave_up_ns"),
        outcome=F.when(appeared, "appeared").when(late, "late").otherwise("never"),
    )


STALE_READ = Anomaly(
    name="stale-read",
    rules={by_value: stale_read},
    outcomes=("appeared", "late", "never"),
    meaning="a look-up that began after the ack and did not find the record in time",
    noun="stale read",
    promises=(
        permitted(
            ALWAYS,
            "Kafka promises no time within which a consumer sees a record.",
            REPLICATION,
        ),
    ),
)
