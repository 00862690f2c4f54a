"""report.json's findings: what was counted, each anomaly with its evidence, stories and causes.

Parts of harness.model.runs.report, which says how they are read.
"""

from __future__ import annotations

from pydantic import Field, StrictBool, StrictInt, StrictStr

from harness.model.runs.report_course import Number, ReportPart


class Counts(ReportPart):
    """How many operations of each kind there were."""

    sends: StrictInt = Field(default=0, description="all sends begun")
    acked: StrictInt = Field(default=0, description="acknowledged")
    acked_without_offset: StrictInt = Field(
        default=0, description="of these, acknowledged without an offset: looked for by value"
    )
    acked_isr_alone: StrictInt = Field(
        default=0,
        description="acknowledged while the leader was alone in its ISR; the first and the last "
        "second of that time are left out, since the ISR is seen late",
    )
    acked_below_log_start: StrictInt = Field(
        default=0,
        description="of the acknowledged, below the log's start and not found by the final read: "
        "they can neither be read back nor be called lost",
    )
    expired_unread: StrictInt = Field(
        default=0,
        description="of `acked_below_log_start`, those that the consumer group has committed past "
        "and that no member was given or processed: deleted before they came to it. Without those "
        "that a reset to the log's end passed over while they were in the log, which are *skipped*",
    )
    superseded: StrictInt = Field(
        default=0,
        description="of the acknowledged, not found by the final read of a compacted log, where a "
        "later record of their key supersedes them, or may: neither found nor lost",
    )
    failed: StrictInt = Field(
        default=0, description="certainly not happened, or aborted with their transaction"
    )
    aborted: StrictInt = Field(
        default=0,
        description="of the failed, those whose client aborted the transaction without an error: "
        "on purpose, or because a transformer gave it up with its partitions",
    )
    indeterminate: StrictInt = Field(default=0, description="nobody knows")
    indeterminate_landed: StrictInt = Field(
        default=0, description="of the indeterminate, those in the final read"
    )
    indeterminate_not_landed: StrictInt = Field(
        default=0, description="of the indeterminate, those that a complete final read lacks"
    )
    failed_landed: StrictInt = Field(
        default=0,
        description="of the failed, without the aborted, those in the final read: phantoms",
    )
    undelivered: StrictInt = Field(
        default=0,
        description="sends that failed or that nobody knows of, and that are not in the log: of "
        "the indeterminate those that a complete final read lacks of a log whose start did not "
        "move. Without those that their client aborted, and 0 with acks=0. Where a final read is "
        "not complete there may be more",
    )
    unacknowledged_lost: StrictInt = Field(
        default=0,
        description="sent with acks=0 and not in a complete final read: not *lost*, since there "
        "was no ack",
    )
    reads: StrictInt = Field(default=0, description="records read by consumers during the load")
    redeliveries: StrictInt = Field(
        default=0,
        description="deliveries of a record (partition and offset) beyond the first to the same "
        "reader: a consumer that follows the log, or all members of the group together",
    )
    lookups: StrictInt = Field(default=0, description="reads of one acked record by `write-read`")
    lookups_not_found: StrictInt = Field(
        default=0, description="of these, those that did not find it by their deadline"
    )
    final_read_records: StrictInt = Field(default=0, description="records of the final read")
    processed: StrictInt = Field(
        default=0, description="records processed by the members of a consumer group"
    )
    commits: StrictInt = Field(default=0, description="offsets that they committed")
    torn_records: StrictInt = Field(
        default=0, description="slots that a killed worker had begun to write"
    )
    worker_errors: StrictInt = Field(
        default=0, description="errors that the clients reported beside those of sends"
    )


class SendError(ReportPart):
    """An error that sends ended with."""

    error: StrictStr | None = Field(
        description="its name in the client; `null`: nobody recorded how they ended"
    )
    sends: StrictInt = Field(description="how many sends")
    share: Number = Field(description="the same of all sends, from 0 to 1")
    first_s: Number | None = Field(
        description="when the first of them ended (began, if it never ended)"
    )


class Lasted(ReportPart):
    """How long what passes lasted."""

    p50: Number = Field(description="the median")
    max: Number = Field(description="the longest")


class Judged(ReportPart):
    """How the records of an anomaly are judged."""

    permitted: StrictInt = Field(
        default=0,
        description="permitted by something that happened, or by the configuration alone",
    )
    forbidden: StrictInt = Field(default=0, description="forbidden: nothing permits them")
    in_doubt: StrictInt = Field(
        default=0, description="in doubt: what would permit them was not seen"
    )


class Example(ReportPart):
    """One row of an anomaly's evidence."""

    anomaly: StrictStr | None = Field(default=None, description="its name")
    value: StrictInt | None = Field(
        default=None, description="the record's value, `null` if it is none"
    )
    producer: StrictInt | None = Field(default=None, description="the value's producer")
    sequence: StrictInt | None = Field(default=None, description="the value's number of it")
    sent: StrictStr | None = Field(
        default=None,
        description="how its send ended: `acked`, `info`, `no-ack`, `fail`; `null`: never sent",
    )
    partition: StrictInt | None = Field(default=None, description="as acked, or where it was read")
    offset: StrictInt | None = Field(default=None, description="as acked, or where it was read")
    other_partition: StrictInt | None = Field(
        default=None, description="where it was found as well, or instead"
    )
    other_offset: StrictInt | None = Field(
        default=None,
        description="where it was found as well, or instead; of `reordered`, `real-time-violation` "
        "and `circular-flow` where `other_value` is",
    )
    other_value: StrictInt | None = Field(
        default=None,
        description="what else was read at this offset; of `reordered` and `real-time-violation` "
        "the record that should lie behind; of `circular-flow` one that the transaction itself "
        "sent, and another one in the cycle read",
    )
    copies: StrictInt | None = Field(
        default=None, description="at how many places the final read has the value"
    )
    outcome: StrictStr | None = Field(default=None, description="where it counts in `split`")
    time_ns: StrictInt | None = Field(
        default=None,
        description="the moment of the anomaly: of the ack for lost, unseen, moved, duplicate and "
        "disordered records, of the first read for vanished ones and phantoms, of the deadline for "
        "stale reads, of the poll for skipped records (of the commit, if there was none), of the "
        "last processing for reprocessed ones, of the second read for skips and steps back, of the "
        "final read for holes, of the answer for commits, of the second assignment for two owners, "
        "of the reading for cycles",
    )
    sent_ns: StrictInt | None = Field(
        default=None,
        description="when it was sent; in `examples` `null` where an imported history does not "
        "tell it, as the next two",
    )
    acked_ns: StrictInt | None = Field(default=None, description="when it was acked")
    delivered_ns: StrictInt | None = Field(
        default=None, description="when it was first given to a consumer"
    )
    time_s: Number | None = Field(default=None, description="`time_ns` in seconds")
    sent_s: Number | None = Field(default=None, description="`sent_ns` in seconds")
    acked_s: Number | None = Field(default=None, description="`acked_ns` in seconds")
    delivered_s: Number | None = Field(default=None, description="`delivered_ns` in seconds")
    lasted_s: Number | None = Field(
        default=None,
        description="of stale reads: from the ack until a consumer was first given the record, 0 "
        "if one had it before; `null`: none ever was. Of two owners: until one let it go",
    )
    leader: StrictStr | None = Field(
        default=None,
        description="of the partition at that moment, as far as the views showed; of two values at "
        "one offset (`two_values`) in `examples`: the one under which `value` was written",
    )
    epoch: StrictInt | None = Field(default=None, description="that leader's epoch")
    faults: list[StrictInt] | None = Field(
        default=None, description="in force at any time between the send and that moment"
    )
    next_fault: StrictInt | None = Field(default=None, description="the first injected after it")
    judged: StrictStr | None = Field(
        default=None, description="`permitted`, `forbidden` or `in-doubt`"
    )
    cause: StrictInt | None = Field(
        default=None,
        description="what permits it or puts it in doubt: a number in the report's `causes`; "
        "`null` if it is forbidden",
    )
    permitted_by: StrictStr | None = Field(
        default=None, description="what permits it, in words; `null` unless it is permitted"
    )
    reader: StrictStr | None = Field(
        default=None,
        description="who was given it, of what concerns one reader: poll-skip, poll-back, "
        "epoch-back; of commit-back who asked, of zombie-commit who committed, of two-owners both; "
        "of circular-flow the transaction that read it, and the one that it read from",
    )
    text: StrictStr | None = Field(
        default=None,
        description="in `examples` of an imported history: the text that `value` stands for, of a "
        "longer one the first 300 characters; history/values.parquet has all",
    )
    other_text: StrictStr | None = Field(default=None, description="the same of `other_value`")
    story: StrictInt | None = Field(
        default=None,
        description="of lost, torn, duplicate, inconsistent-offset and reordered: the number of "
        "its story; of vanished, that of its loss; `null` if it is not told",
    )
    other_leader: StrictStr | None = Field(
        default=None,
        description="of two values at one offset in `examples`: the leader under which "
        "`other_value` was written, as far as the kept logs and its ack tell",
    )
    other_epoch: StrictInt | None = Field(default=None, description="that leader's epoch")


class Finding(ReportPart):
    """What was found of one anomaly."""

    count: StrictInt = Field(description="exact, however many")
    split: dict[str, StrictInt] = Field(
        default={},
        description="how they divide: of lost `delivered_before` and `never_delivered`; of phantom "
        "`never_sent`, `send_failed`, `aborted` (its transaction was), `unparsable`; of duplicate "
        "`in_log`, `in_reads`; of inconsistent-offset `two_values`, `acked_elsewhere`, "
        "`read_elsewhere`, `passed_over`, `other_partition`; of diverged `differs`, `lacks`; of "
        "poll-skip `passed`, `put_under`; of poll-back `went_back`, `repeats`; of stale-read "
        "`appeared`, `late` (in the final read only), `never`; of skipped `polled`, "
        "`never_polled`, `failed`, `before_first`; of reprocessed `by_another`, `by_the_same`",
    )
    lasted_s: Lasted | None = Field(
        default=None,
        description="of stale-read and two-owners only: how long the misses, or the double "
        "ownership, lasted, of those that are known to have ended; `null` without any",
    )
    judged: Judged = Field(default=Judged(), description="how many are judged how")
    forbidden: StrictBool = Field(
        description="whether it is forbidden: some of them are or, if none was seen, nothing "
        "happened that could permit one"
    )
    promise: StrictStr = Field(default="", description="why it is, or is not")
    source: StrictStr = Field(default="", description="who says so")
    demanded: StrictStr | None = Field(
        default=None, description="what the scenario demands, e.g. `>= 1`; `null` if nothing"
    )
    demand_met: StrictBool | None = Field(
        default=None,
        description="whether it is met; `null` if nothing is demanded or it cannot be told",
    )
    convicts: StrictBool = Field(
        description="some are forbidden: the run is invalid. If some are in doubt and none is "
        "forbidden, the run is unknown, and `reasons` says what is not known; `false`, too, where "
        "it rests on a damaged file, which `reasons` names"
    )
    examples: list[Example] = Field(
        default=[], description="the first ten rows of evidence, by time"
    )


class ReplicaState(ReportPart):
    """A stretch of a replica's story."""

    from_s: Number = Field(description="from when")
    to_s: Number | None = Field(description="to when; `null`: to the end")
    has: StrictStr = Field(description="whether it has it then: `yes`, `no`, `unknown`")


class ReplicaTold(ReportPart):
    """One broker in a story; of duplicate and reordered records all means both places."""

    broker: StrictStr = Field(description="its name")
    had: StrictStr = Field(description="whether it had it: `yes`, `no` or `unknown`")
    had_why: StrictStr = Field(description="by what that is known")
    now: StrictStr = Field(description="whether it has it now: `yes`, `no` or `unknown`")
    now_why: StrictStr = Field(description="by what that is known")
    states: list[ReplicaState] = Field(description="when it had it, and when not")


class LifeEvent(ReportPart):
    """What happened to the records of a story."""

    time_s: Number | None = Field(description="when; `null` at the end, and where nobody knows")
    who: StrictStr = Field(description="who did it")
    what: StrictStr = Field(description="what was done")


class StoryTold(ReportPart):
    """What became of all records that share it."""

    number: StrictInt = Field(description="from 1 on, in order of the anomaly and of time")
    anomaly: StrictStr = Field(description="what the records are")
    outcome: StrictStr | None = Field(
        default=None,
        description="as in the evidence; `null` of lost ones, whose story does not depend on it",
    )
    also: list[StrictStr] = Field(
        description="as what else the same ones were found: a lost record whose offset another one "
        "took is inconsistent as well"
    )
    records: StrictInt = Field(description="how many")
    partition: StrictInt = Field(description="where, as acknowledged")
    first_offset: StrictInt | None = Field(description="where, as acknowledged")
    last_offset: StrictInt | None = Field(description="where, as acknowledged")
    value: StrictInt | None = Field(description="the value if it is one record")
    leader: StrictStr | None = Field(
        description="who wrote it, if that is certain; else who led then, as the views showed"
    )
    epoch: StrictInt | None = Field(description="that leader's epoch")
    certain: StrictBool = Field(description="whether these two are certain")
    sentence: StrictStr = Field(description="all of it in one sentence")
    replicas: list[ReplicaTold] = Field(description="by broker")
    life: list[LifeEvent] = Field(description="what happened, in order")
    vanished: StrictInt = Field(
        default=0,
        description="of lost and torn ones: how many of the records a reader had been given, so "
        "that they vanished",
    )
    text: StrictStr | None = Field(
        default=None, description="of an imported history, the text that `value` stands for"
    )


class Stories(ReportPart):
    """What became of lost, torn, duplicate, inconsistent and reordered records."""

    told: list[StoryTold] = Field(
        description="the stories, each of all records that share it, see below: the 20 of the most "
        "records, and those of all `examples`"
    )
    more: StrictInt = Field(description="how many stories are not told")
    more_records: StrictInt = Field(description="how many records these have")
    missing: list[StrictStr] = Field(
        description="what the evidence lacks, as sentences; that of a damaged `kept.parquet` too, "
        "which changes no verdict"
    )


class CauseTold(ReportPart):
    """What permitted some records, or may have."""

    numbers: list[StrictInt] = Field(description="the values of `cause` in the evidence")
    kind: StrictStr = Field(description="which kind of cause")
    words: StrictStr = Field(description="what happened")
    at_s: Number | None = Field(description="when, if that is known")
    partition: StrictInt | None = Field(description="where, if that is known")
    fault: StrictInt | None = Field(description="by which fault, if that is known")
    sure: StrictBool = Field(description="`false` if it is not known whether it happened")
    why: StrictStr | None = Field(description="why that is not known")
    permitted: dict[str, StrictInt] = Field(description="by anomaly, how many records it permits")
    in_doubt: dict[str, StrictInt] = Field(
        description="by anomaly, how many records it puts in doubt"
    )
