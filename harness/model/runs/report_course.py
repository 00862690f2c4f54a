"""report.json's course of a run: outages, faults, who led, and how replication went.

Parts of harness.model.runs.report, which says how they are read.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

Number = StrictInt | StrictFloat


class ReportPart(BaseModel):
    """A part of report.json: what a later release adds is kept as it is."""

    model_config = ConfigDict(extra="allow", frozen=True, serialize_by_alias=True)

    def written(self) -> dict[str, Any]:
        """What is written of it: the fields that it was given, as it was given them."""
        return self.model_dump(exclude_unset=True)


class Window(ReportPart):
    """An unavailability window: a stretch with attempts outstanding, and none that succeeded."""

    kind: StrictStr = Field(description="`produce`, `consume`, `process` or `output`")
    partition: StrictInt = Field(description="where")
    start_s: Number = Field(description="when it began")
    end_s: Number | None = Field(
        description="`null` if nothing succeeded any more until the load ended"
    )
    length_s: Number = Field(
        description="how long; without an end it counts until the last attempt did"
    )
    attempts: StrictInt = Field(
        description="sends outstanding, or acked records waiting to be delivered or processed, at "
        "any time in it"
    )
    leader_s: Number | None = Field(
        default=None,
        description="when who leads at its end was first seen to lead; `null` where that was "
        "before it began, or nobody leads. What is left of it the clients needed to find the "
        "leader, or it refused for want of `min.insync.replicas`",
    )
    faults: list[StrictInt] = Field(
        description="those in force during any part of it, else the last one before it"
    )
    injection_to_first_ack_s: Number | None = Field(
        description="from the injection of the fault nearest to the window's start until the first "
        "success after it"
    )
    heal_to_first_ack_s: Number | None = Field(
        description="the same from the start of that fault's healing; `null` if the success did "
        "not wait for it"
    )


class Rates(ReportPart):
    """How fast the load was."""

    sends_per_s: Number | None = Field(description="sends a second of the load")
    acks_per_s: Number | None = Field(description="acks a second of the load")
    load_s: Number | None = Field(description="the length of the load")
    planned_s: Number | None = Field(
        default=None,
        description="the length that the scenario gives it, where it went on until the last fault "
        "was healed; missing otherwise",
    )


class ReaderLag(ReportPart):
    """How far one reader was behind."""

    max: StrictInt = Field(
        description="the most records up to the end of the log, as acks tell it, that it had not "
        "been given yet"
    )
    at_s: Number = Field(description="when that was first so")
    end: StrictInt = Field(description="the same when the load ended")


class LongestWindows(ReportPart):
    """The longest window of each kind."""

    produce: Number | None = Field(ge=0, description="without an acknowledged send")
    consume: Number | None = Field(ge=0, description="without a delivery to who follows the log")
    process: Number | None = Field(
        default=None, ge=0, description="without anything that a group processed"
    )
    output: Number | None = Field(
        default=None,
        ge=0,
        description="without an output, of a run with `[outputs]`; missing otherwise",
    )


class ProgramTold(ReportPart):
    """One process of a program of the user's."""

    process: StrictStr = Field(description="its name, `NAME-0` or its successor's")
    start_s: Number | None = Field(description="when it was started")
    end_s: Number | None = Field(description="when it ended; `null`: the harness did not see it")
    exit: StrictInt | None = Field(description="its exit code; -N: ended by signal N")
    unordered: StrictBool = Field(description="whether it ended though nothing had ended it")


class OutputsTold(ReportPart):
    """What the programs made of the inputs."""

    outputs: StrictInt = Field(description="how many there are in all, at the end")
    complete: StrictBool = Field(description="whether all of them were read")
    read: StrictInt = Field(description="how many were read during the load and the drain")
    passed: list[StrictInt | None] = Field(
        description="up to where the group had come in each partition of the inputs when the drain "
        "ended; `null`: nobody told"
    )
    through_ms: dict[str, Number | None] | None = Field(
        description="quantiles of the time from when a send was due until its output was read; "
        "`null` where inputs without an output decide it, and without any input"
    )


class FaultTold(ReportPart):
    """One fault as it happened."""

    fault: StrictInt = Field(description="its number")
    step: StrictInt | None = Field(default=None, description="the step of the plan")
    verb: StrictStr = Field(description="the verb")
    target: StrictStr = Field(description="its target")
    nodes: list[StrictStr] | None = Field(description="the nodes that it hit")
    start_s: Number | None = Field(description="injected (ordered)")
    in_force_s: Number | None = Field(default=None, description="proved to be in force")
    healing_s: Number | None = Field(default=None, description="the begin of its healing (ordered)")
    healed_s: Number | None = Field(description="proved to be healed")
    evidence: StrictStr | None = Field(
        default=None, description="the proof that it was in force, or `null`: there is none"
    )
    heal_evidence: StrictStr | None = Field(
        default=None, description="the proof that it was healed, or `null`: there is none"
    )
    error: StrictStr | None = Field(default=None, description="why a proof is missing")
    before: Any = Field(
        default=None, description="leader and ISR by partition, and controller, at the injection"
    )
    after: Any = Field(
        default=None,
        description="the same at the fault's last recorded moment, which is when it was healed. An "
        "ISR that shrank in between is full again in both; the page tells it, from the views",
    )


class BrokerLoad(ReportPart):
    """One broker's share of a stretch."""

    broker: StrictStr = Field(description="its name")
    leads: StrictInt = Field(
        description="how many partitions it leads, as ZooKeeper or the controllers have it: a dead "
        "leader leads until its session ends"
    )
    acks: StrictInt = Field(
        description="acknowledged sends to the partitions that it led, by the time of the ack; "
        "what was acknowledged before or after the load is not in it"
    )
    acks_per_s: Number | None = Field(description="the same, a second")


class Stretch(ReportPart):
    """A stretch of the load in which no leader changed and no fault was injected."""

    start_s: Number = Field(description="from when")
    end_s: Number = Field(description="to when")
    faults: list[StrictInt] = Field(
        description="those injected where it begins (in a merged one: or within it)"
    )
    brokers: list[BrokerLoad] = Field(description="a row for each broker of the cluster")
    leaderless: StrictInt = Field(description="partitions without a leader or with an unknown one")
    leaderless_acks: StrictInt = Field(description="acks that arrived in these")


class LagQuantiles(ReportPart):
    """How far, or how late, a follower was."""

    p50: Number = Field(description="the median")
    p95: Number = Field(description="what 95 of 100 do not exceed")
    max: Number = Field(description="the most")


class FollowerLag(ReportPart):
    """How late one broker learned the high watermark of a partition."""

    partition: StrictInt = Field(description="of which partition")
    broker: StrictStr = Field(description="which follower, while it followed in the ISR")
    offsets: LagQuantiles | None = Field(
        description="the leader's high watermark less its own, at each sample"
    )
    ms: LagQuantiles | None = Field(
        description="from the sample that first saw a new watermark on the leader until the first "
        "that saw it on the follower"
    )


class Absence(ReportPart):
    """A follower that a fault hit, and its time out of an ISR."""

    fault: StrictInt = Field(description="the fault's number")
    partition: StrictInt = Field(description="of which partition")
    broker: StrictStr = Field(description="which follower")
    caught_up_s: Number | None = Field(
        description="the last sample at which the leader had no more than the follower got to"
    )
    left_s: Number | None = Field(description="when it left the ISR")
    leave_after_s: Number | None = Field(description="between these two")
    leave_of_limit: Number | None = Field(description="the same in parts of the limit")
    reached_s: Number | None = Field(description="its log end was at the leader's watermark again")
    returned_s: Number | None = Field(description="when it was in the ISR again")
    return_after_s: Number | None = Field(description="between these two")
    heal_to_return_s: Number | None = Field(
        description="from the start of the fault's healing until it was back"
    )


class ElectionTold(ReportPart):
    """Another broker leads."""

    partition: StrictInt = Field(description="of which partition")
    broker: StrictStr = Field(description="who leads now")
    before: StrictStr = Field(description="who led before it")
    elected_s: Number | None = Field(description="when it was first seen to lead")
    log_end: StrictInt = Field(description="the new leader's log end, at the sample before that")
    end_before: StrictInt | None = Field(description="the old leader's, at the same sample")


class Replication(ReportPart):
    """What was sampled of the replicas."""

    looks: StrictInt = Field(description="how often the replicas were sampled")
    every_ms: Number | None = Field(
        description="the median time between two samples: the precision of all this"
    )
    checkpoint_ms: Number | None = Field(
        default=None,
        description="how often a broker writes its high watermarks to disk "
        "(`replica.high.watermark.checkpoint.interval.ms`); watermarks cannot be more precise than "
        "this",
    )
    lag: list[FollowerLag] = Field(
        description="how late each follower learned the high watermark; quantiles, or `null`"
    )
    isr_limit_s: Number = Field(description="`replica.lag.time.max.ms`")
    isr: list[Absence] = Field(
        description="one row for each follower that a fault hit and that left an ISR"
    )
    elections: list[ElectionTold] = Field(
        default=[], description="one row each time that another broker leads"
    )
    lost_past_log_end: StrictInt = Field(
        default=0,
        description="of the records that were acknowledged past the log end of a leader elected "
        "after that, how many are lost",
    )
    kept_past_log_end: StrictInt = Field(
        default=0, description="of the same, how many were found all the same"
    )
    lost_within_log_end: StrictInt = Field(
        default=0,
        description="lost records that were not past any log end; if this and `kept_past_log_end` "
        "are 0, exactly the records that the new leaders did not have were lost",
    )


class Pauses(ReportPart):
    """How many stretches there were, and how long."""

    count: StrictInt = Field(description="how many")
    p50_s: Number | None = Field(description="their median length")
    max_s: Number | None = Field(description="the longest")


class Rebalances(ReportPart):
    """A consumer group's, as its members were told."""

    generations: StrictInt = Field(description="those that gave partitions to anybody")
    pauses: Pauses = Field(description="in which a partition was nobody's between two owners")
    expelled: Pauses = Field(
        description="stretches in which a member went on with a partition that another one had "
        "been given in a newer generation"
    )


class HeldBack(ReportPart):
    """Sends that waited for room in their client's queue, and all that was due meanwhile."""

    stretches: StrictInt = Field(description="how often; less than a second apart they are one")
    total_s: Number = Field(description="how long in all, over all workers")
    longest_s: Number = Field(description="the longest")


class StableLag(ReportPart):
    """How far the last stable offset was behind."""

    max: StrictInt | None = Field(
        description="the most records that it was behind the high watermark"
    )
    at_s: Number | None = Field(description="when that was")
    stood_s: Number | None = Field(description="the longest that it stood there")
    partition: StrictInt | None = Field(description="in which partition")
    offset: StrictInt | None = Field(description="at which offset")
    since_s: Number | None = Field(description="from when on")


class Cycles(ReportPart):
    """Committed transactions, and those that lie in cycles."""

    committed: StrictInt = Field(description="how many were committed")
    in_write_circles: StrictInt = Field(
        description="of these, in cycles of writes: each of them before the next in the log of "
        "some partition (Adya's G0)"
    )
    in_circles: StrictInt = Field(
        description="of these, in cycles of writes, of readings or of both. Counted, and no "
        "anomaly, since Kafka keeps writes in no order; cycles of readings alone are "
        "[circular-flow](anomalies.md#circular-flow)"
    )
