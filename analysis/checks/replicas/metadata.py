"""Committed metadata: a later KRaft quorum must have what an earlier one committed.

**metadata-back**: the committed metadata of a partition went back to an older state. One row per
partition and time; `time_ns` is the begin of the last look that showed what is gone.

    committed: leader epoch 4    later, at a majority of the voters: leader epoch 3    =>  went back
    the same, but epoch 4 was on one disk, and of no majority                          =>  nothing
    the same, but of another topic                                                     =>  nothing

harness.cluster.view.metadata_log finds what is committed, and when it went back, on the
controllers' disks, which only the backend local has.

It breaks a promise by itself, since what an operator changed may be gone. Whether records were lost
is another question (*lost*): an older ISR may lead with all of them.

Cannot see: metadata of other topics, or of none (settings, users, features); what went back before
a look showed it committed.

Source: KIP-595; Ongaro, Consensus: Bridging Theory and Practice, 3.6 (leader completeness).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import QUORUM_STRUCK
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import FORGOTTEN, OTHERWISE, forbidden, permitted, when
from analysis.frames.evidence import Rule, Tables


def by_metadata_back(tables: Tables) -> DataFrame | None:
    """A row for each partition and time that its metadata went back."""
    if not tables.history.metadata_back:
        return None
    backs = tables.history.runs.select("run_id", F.inline("metadata_back"))
    return backs.withColumnRenamed("partition", "home")


def metadata_back() -> Rule:
    """Metadata that went back between two looks, one row each."""
    return Rule(
        holds=F.col("until_ns").isNotNull(),
        place=F.lit(None).cast("bigint"),
        time_ns=F.coalesce("from_ns", "until_ns"),
        shown_ns=F.col("until_ns"),
    )


METADATA_BACK = Anomaly(
    name="metadata-back",
    rules={by_metadata_back: metadata_back},
    meaning="committed metadata of a partition that went back to an older state",
    noun="metadata rollback",
    of="partition",
    headline="{n} had committed metadata that went back to an older state",
    judged=when(
        "where KRaft's metadata log was read from the controllers' disks",
        lambda facts: facts.reads_metadata,
    ),
    promises=(
        permitted(
            FORGOTTEN,
            "What is committed is on the disks of a majority of the voters, and one of those is "
            "gone.",
            "KIP-595; KIP-853",
            by=QUORUM_STRUCK,
        ),
        forbidden(
            OTHERWISE,
            "Who is elected has all that is committed, and what is committed stays.",
            "KIP-595",
        ),
    ),
)
