"""Integrity: payloads that are not what was sent, and leader epochs that go back.

**corrupt**: a payload of ours was read with a wrong checksum; one row per place. It is no phantom:
a producer sent it, and something changed it. A payload without our checksum is foreign
(`unparsable`). Only in histories of format 2.

    read: a payload of ours, checksum wrong                =>  corrupt
    read: a payload that is none of ours                   =>  a phantom

**epoch-back**: the second of two successive records of a reader in a partition has a higher offset
and a lower leader epoch. Each leader writes with an epoch greater than any before. The epochs are
those of the batches that were read (format 2); logs of a message format below 0.11 have none. After
an unclean election a reader may come to the log of a broker that missed the leader before it.

    read 4 of epoch 2, 5 of epoch 1                        =>  epoch back
    read 4 of epoch 2, seek to 3, read 3 of epoch 1        =>  nothing

Cannot see: a change that the checksum does not show; an epoch that goes back between records that
no reader got in succession; epochs in views, which may be old. Watermarks that go back are in
analysis.checks.replicas.backwards.
"""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import AFTER_STRIKE, AFTER_TRUNCATION, BIT_WHEN_READ, FLIPPED_BIT
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    ALTERED,
    CRCS,
    FLIPPED,
    IN_FORMAT_2,
    OTHERWISE,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, by_place
from analysis.frames.operations import place_of
from analysis.frames.signs import Sign
from analysis.frames.steps import by_step

LAST_NS = 2**63 - 1


def corrupt() -> Rule:
    """Payloads of ours that were changed, one row per place."""
    return Rule(
        holds=F.col("corrupt"),
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        known_ns=F.coalesce(F.col("garbled_ns"), F.lit(LAST_NS)),
    )


def epoch_back() -> Rule:
    """Steps to a later record of an earlier leader."""
    return Rule(
        holds=F.col("odd") == "older",
        place=place_of(F.col("partition"), F.col("offset")),
        time_ns=F.col("end_ns"),
        shown_ns=F.col("end_ns"),
        other_place=place_of(F.col("partition"), F.col("from_offset")),
        other_value=F.col("from_value"),
    )


CORRUPT = Anomaly(
    name="corrupt",
    rules={by_place: corrupt},
    signs=(Sign.GARBLED,),
    meaning="read with a checksum that is wrong: something changed it after it was sent",
    noun="corrupt record",
    headline="{n} {was} read that {is} not as {written}",
    judged=when(
        "in histories of format 2, of records with a checksum: not of `workload.record`",
        lambda facts: facts.history_format >= 2 and not facts.texts,
    ),
    promises=(
        permitted(
            ALTERED,
            "A broker serves what is on its disk, and librdkafka checks CRCs only with "
            "check.crcs=true.",
            CRCS,
            by=BIT_WHEN_READ,
        ),
        forbidden(
            OTHERWISE,
            "What is read is what was sent: a broker checks the CRC of each batch that it takes.",
            "Kafka documentation, Implementation: Message Format",
        ),
    ),
)
EPOCH_BACK = Anomaly(
    name="epoch-back",
    rules={by_step: epoch_back},
    signs=(Sign.OLDER,),
    meaning="a later record of an earlier leader epoch",
    noun="falling epoch",
    headline="{n} {was} read with a lower leader epoch than the one before {them}",
    judged=IN_FORMAT_2,
    promises=(
        permitted(
            SHRINKS,
            "A reader may come to the log of a broker that missed the leader before it.",
            f"{UNCLEAN}; KIP-101",
            by=AFTER_TRUNCATION,
        ),
        permitted(
            TOOK,
            "A broker that lost its data may be elected with an older log.",
            "KIP-966",
            by=AFTER_STRIKE,
        ),
        permitted(
            FLIPPED,
            "The epoch of a batch is not covered by its CRC.",
            "Kafka documentation, Implementation: Message Format",
            by=FLIPPED_BIT,
        ),
        forbidden(
            OTHERWISE,
            "Leader epochs only grow, and each record has that of the leader that wrote it.",
            "KIP-101; KIP-279",
        ),
    ),
)
