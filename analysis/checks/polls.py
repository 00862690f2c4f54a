"""Polls: records that readers pass over or get again, and offsets of the log without a record.

A reader is a consumer that follows the log, a member of a group, or a final read. Each partition is
checked by itself, in the reader's own order. A move proves nothing: an assigned or revoked
partition, an assign or a seek, a reset that the client reported.

**poll-skip**: two successive records of a reader, and between them the log has another.

    read 0, 2    final read: 0, 1, 2                              =>  1 was skipped (passed)
    put at 0, read 2    final read: 0, 1, 2                       =>  1 was skipped (passed)
    read 0, 2    final read: 0, 2                                 =>  nothing: a marker, an abort, …
    assigned    poll 0    revoked, assigned    poll 2             =>  nothing: moved
    read 0, 2    final read: 0, 1, and another value at 2         =>  nothing: it was another log

The second record must be where the final read has it: logs are cut only at their end, so the
records below it were already there when it was read. If the final read has another value at the
first place, the log was cut, and the new record there is below the position of a reader that went
on (`put_under`).

    read a at 0, c at 1    final read: b at 0, c at 1             =>  b was put under the reader
    read a at 0, b at 0, c at 1    the same final read            =>  nothing: it went back

**poll-back**: the next record of a reader is at a lower offset (`went_back`) or at the same one
(`repeats`). Only in histories with moves and resets (format 2). A reader that comes to a new leader
whose log was cut goes back to where both agree (KIP-320): the epochs and the other value in the
final read show that.

    read 2, 0, 1                                                  =>  went back, from 2 to 0
    read 2    seek to 0    read 0, 1                              =>  nothing: moved
    read 2, then 1 of a later epoch    final read: another at 2   =>  nothing: the log was cut

**hole**: an offset between the log's start and its end has no record, although only records take
offsets: no transactions, no compaction. One row per hole, at its first offset; `other_offset` is
where the log goes on.

    final read, complete: 0, 2                                    =>  a hole at 1
    final read, complete, of a log that begins at 2: 2, 3         =>  nothing

Cannot see: skips before the first record of a reader with an unknown start, such as a member of a
group; records that the final read lacks (a skipped record that comes later counts as skipped);
holes of a log without any read; in format 1, readers that go back, and skips of consumers with
auto.offset.reset=latest, which may lose their place and go on at the log's end.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import AFTER_STRIKE, AFTER_TRUNCATION, BIT_AT_THE_END, FLIPPED_BIT
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    CRCS,
    FLIPPED,
    IN_FORMAT_2,
    OTHERWISE,
    SHRINKS,
    TOOK,
    UNCLEAN,
    Promise,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule
from analysis.frames.operations import place_of
from analysis.frames.signs import Sign
from analysis.frames.steps import by_step

_POSITION = "Kafka documentation, KafkaConsumer: Offsets and Consumer Position"


def skipped_over() -> Rule:
    """Steps over a record of the log, or past one that was put under the reader."""
    put_under = F.col("other_value").isNotNull()
    kept = place_of(F.col("partition"), F.col("kept_offset"))
    return Rule(
        holds=(F.col("odd") == "skip") & ~(F.coalesce("superseded", F.lit(False)) & ~put_under),
        place=F.when(put_under, _from_place()).otherwise(kept),
        time_ns=F.col("end_ns"),
        shown_ns=F.col("end_ns"),
        other_place=_place(),
        other_value=F.when(put_under, F.col("from_value")),
        outcome=F.when(put_under, "put_under").otherwise("passed"),
    )


def went_back() -> Rule:
    """Steps back to a place that the reader had passed, one row per step."""
    return Rule(
        holds=F.col("odd") == "back",
        place=_place(),
        time_ns=F.col("end_ns"),
        shown_ns=F.col("end_ns"),
        other_place=_from_place(),
        outcome=F.when(F.col("offset") < F.col("from_offset"), "went_back").otherwise("repeats"),
    )


def hole() -> Rule:
    """Stretches of offsets without a record, one row each."""
    return Rule(
        holds=F.col("odd") == "hole",
        place=place_of(F.col("partition"), F.col("next_offset")),
        time_ns=F.coalesce("end_ns", "load_end_ns"),
        shown_ns=F.col("crossed_ns"),
        other_place=_place(),
    )


def _place() -> Column:
    return place_of(F.col("partition"), F.col("offset"))


def _from_place() -> Column:
    return place_of(F.col("partition"), F.col("from_offset"))


_CHANGED = permitted(
    FLIPPED,
    "A reader that checks CRCs passes over a batch whose CRC is wrong; another one may be given "
    "other offsets than were written.",
    CRCS,
    by=FLIPPED_BIT,
)


def _after_a_cut(why: str) -> tuple[Promise, Promise]:
    """What permits odd steps of readers after the log was cut."""
    return (
        permitted(SHRINKS, why, f"{UNCLEAN}; KIP-320", by=AFTER_TRUNCATION),
        permitted(
            TOOK,
            "A log that lost its end with the last copy is written anew from there.",
            "KIP-966; KIP-320",
            by=AFTER_STRIKE,
        ),
    )


POLL_SKIP = Anomaly(
    name="poll-skip",
    rules={by_step: skipped_over},
    signs=(Sign.SKIP,),
    outcomes=("passed", "put_under"),
    meaning="a step of a reader over records that the log has",
    noun="poll skip",
    of="time",
    headline="{n} a reader passed over records of the log",
    promises=(
        *_after_a_cut(
            "Where the log was cut below a reader's position, what is written there afterwards may "
            "be passed over."
        ),
        _CHANGED,
        forbidden(
            OTHERWISE,
            "A reader is given the records of a partition in the order of their offsets, each one "
            "of them.",
            _POSITION,
        ),
    ),
)
POLL_BACK = Anomaly(
    name="poll-back",
    rules={by_step: went_back},
    signs=(Sign.BACK,),
    outcomes=("went_back", "repeats"),
    meaning="a step of a reader back to what it had passed, without a rebalance, seek or reset",
    noun="backward poll",
    of="time",
    headline="{n} a reader was given what it had passed",
    judged=IN_FORMAT_2,
    promises=(
        *_after_a_cut("A reader whose position is no longer in the log goes back to its end."),
        _CHANGED,
        forbidden(
            OTHERWISE,
            "A reader's position only grows unless it is moved.",
            f"{_POSITION}; KIP-320",
        ),
    ),
)
HOLE = Anomaly(
    name="hole",
    rules={by_step: hole},
    signs=(Sign.HOLE,),
    meaning="a stretch of offsets of the log at which there is no record",
    noun="hole",
    judged=when("without transactions and compaction", lambda facts: facts.dense),
    promises=(
        permitted(TOOK, "A segment may be damaged in its middle.", "KIP-966", by=AFTER_STRIKE),
        permitted(
            FLIPPED,
            "A batch whose CRC is wrong is passed over, or read as one at other offsets.",
            CRCS,
            by=BIT_AT_THE_END,
        ),
        forbidden(
            OTHERWISE,
            "Each record takes the next offset, and logs are deleted from their start and cut at "
            "their end only.",
            "Kafka documentation, Implementation: Log; KIP-98",
        ),
    ),
)
