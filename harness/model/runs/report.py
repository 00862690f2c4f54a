"""report.json as a model: everything that a check found of one run, for programs.

    report = Report.model_validate_json(path.read_text())
    report.anomalies["lost"].count
    report.text()      the file again, byte for byte

It reads what older releases wrote: a field that one of them lacks has a default, and is not there
when the report is written again; a field that a newer one adds is kept. docs/report.md and
docs/report.schema.json are made of the descriptions here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr, ValidationError

from harness.model.runs import json_text
from harness.model.runs.report_course import (
    Cycles,
    FaultTold,
    HeldBack,
    LongestWindows,
    Number,
    OutputsTold,
    ProgramTold,
    Rates,
    ReaderLag,
    Rebalances,
    Replication,
    ReportPart,
    StableLag,
    Stretch,
    Window,
)
from harness.model.runs.report_findings import CauseTold, Counts, Finding, SendError, Stories

SCHEMA: Final = 1
_NUMBERS: Final = ("int", "float")  # how a place in a union names its choices


class Outcome(ReportPart):
    """What happened to the data."""

    data: Literal["lost", "disturbed", "undelivered", "kept", "unknown"] = Field(
        description="its kind: `lost` (records are gone), `disturbed` (none is, and something else "
        "was seen), `undelivered` (neither, and sends are not in the log), `kept`, `unknown`"
    )
    words: StrictStr = Field(description="e.g. `8 of 10,000 acknowledged records lost`")


class Cap(ReportPart):
    """The letters of CAP."""

    available: StrictBool | None = Field(description="A; `null`: not known")
    consistent: StrictBool | None = Field(description="C; `null`: not known")
    label: StrictStr = Field(description="`AP`, `CP`, `CA` or empty")
    words: StrictStr = Field(description="both in words, empty where there is nothing to tell")


class Failure(ReportPart):
    """The harness's own failure."""

    phase: StrictStr = Field(description="of the run")
    error: StrictStr = Field(description="in a sentence")
    log: StrictStr | None = Field(default=None, description="what a node wrote last")


class RunTold(ReportPart):
    """Which run it was."""

    scenario: StrictStr = Field(description="the scenario's name")
    title: StrictStr = Field(default="", description="its title")
    seed: StrictInt | None = Field(default=None, description="the seed")
    backend: StrictStr | None = Field(default=None, description="the backend")
    state: StrictStr | None = Field(default=None, description="`running`, `complete`, `incomplete`")
    started_utc: StrictStr | None = Field(default=None, description="when it was started")
    load_began_utc: StrictStr | None = Field(
        default=None,
        description="second 0 of all times here; `null` if run.json does not note the clocks",
    )
    duration_s: Number | None = Field(default=None, description="all phases")
    command: StrictStr | None = Field(default=None, description="runs this again")
    failure: Failure | None = Field(
        default=None, description="of the harness's own, or `null`: there was none"
    )


class Quantiles(ReportPart):
    """Of latencies rounded to four significant digits, and to 0.01 ms at the least, as HdrHistogram
    does: each is off by at most 0.05 %, or by 0.005 ms where that is more."""

    p50: Number = Field(description="half of them are no longer")
    p95: Number = Field(description="95 of 100 are no longer")
    p99: Number = Field(description="99 of 100 are no longer")
    p999: Number = Field(description="999 of 1,000 are no longer")
    max: Number = Field(description="the longest")


class Latencies(ReportPart):
    """In ms."""

    ack: Quantiles | None = Field(
        description="from the time a send was due until its ack; `null` without any"
    )
    delivery: Quantiles | None = Field(
        description="until a consumer, or a member of the group, first had the record (one in the "
        "log that nobody was given: until the load ended); `null` without any, or where nobody "
        "reads"
    )


class GapDemand(ReportPart):
    """A demand on a length of time."""

    longest_s: Number | None = Field(description="the longest that was seen")
    demanded: StrictStr = Field(description="as the scenario has it")
    demand_met: StrictBool | None = Field(
        description="whether it is met, `null` if it cannot be told"
    )


class CountDemand(ReportPart):
    """A demand on a number that is no anomaly's."""

    seen: StrictInt | None = Field(description="how many there were")
    demanded: StrictStr = Field(description="as the scenario has it")
    demand_met: StrictBool | None = Field(
        description="whether it is met, `null` if it cannot be told"
    )


class LevelDemand(ReportPart):
    """A demand on a latency or a share."""

    seen: Number | None = Field(description="what was measured; `null`: there was nothing")
    unit: StrictStr = Field(description="`ms` or `%`")
    demanded: StrictStr = Field(description="as the scenario has it")
    demand_met: StrictBool | None = Field(
        description="whether it is met, `null` if it cannot be told"
    )


class PartitionRead(ReportPart):
    """How far the final read of a partition got."""

    partition: StrictInt = Field(description="its number")
    log_start: StrictInt | None = Field(description="where its log begins")
    committed_end: StrictInt | None = Field(description="its end for readers of committed records")
    uncommitted_end: StrictInt | None = Field(description="its end for all others")
    position: StrictInt | None = Field(description="the position that was reached")
    complete: StrictBool = Field(description="whether that is its end")


class FinalRead(ReportPart):
    """What the final read got to."""

    complete: StrictBool = Field(description="whether every partition was read to its end")
    partitions: list[PartitionRead] = Field(description="a row for each partition")


class Kraft(ReportPart):
    """How a run without ZooKeeper keeps its metadata."""

    metadata: StrictStr = Field(description="`kraft` or `kraft-combined`")
    voters: StrictStr = Field(description="`static` or `dynamic`")
    eligible_leaders: StrictBool = Field(description="whether Kafka remembers them (KIP-966)")
    configures_unclean: StrictBool = Field(
        default=True, description="whether the setting of unclean elections does anything there"
    )
    features: dict[str, Any] = Field(
        default={}, description="the finalized levels that brokers told"
    )


class Configuration(ReportPart):
    """The settings as they were in force; `null`, or not there: nobody told of them."""

    producer: dict[str, Any] = Field(default={}, description="of the producers")
    consumer: dict[str, Any] = Field(default={}, description="of the consumers")
    topic: dict[str, Any] = Field(default={}, description="of the topic")
    server: dict[str, Any] = Field(default={}, description="of the brokers")
    zoo: dict[str, Any] = Field(default={}, description="of the ZooKeepers")
    controller: dict[str, Any] | None = Field(
        default=None, description="the controllers' own, of a run without ZooKeeper"
    )
    kraft: Kraft | None = Field(default=None, description="of a run without ZooKeeper")
    differences: list[dict[str, Any]] = Field(
        default=[], description="where the client's defaults differ from the Java client's"
    )
    layers: dict[str, dict[str, Any]] = Field(
        default={},
        description="of `producer`, `consumer`, `server`, `topic` and `zoo`, where each setting "
        "comes from (imported and older runs lack it)",
    )
    shown_demands: dict[str, Any] = Field(
        default={},
        description="what the scenario demands of its own configuration where a file took its "
        "place: shown, not judged (missing otherwise)",
    )
    notes: list[Any] = Field(
        default=[],
        description="what of the settings that were brought was left out, does nothing or was made "
        "to fit, or what an import passed over (missing otherwise)",
    )


class Report(ReportPart):
    """The whole of report.json."""

    schema_: Literal[1] = Field(default=SCHEMA, alias="schema", description="this format's")
    run_id: StrictStr = Field(default="", description="`<scenario>/<UTC time>-<seed>`")
    verdict: Literal["valid", "invalid", "unknown"] = Field(
        description="whether what was seen is as promised and demanded; `unknown`: the run proves "
        "nothing"
    )
    exit_code: StrictInt | None = Field(
        default=None,
        description="0, 1 or 2, as the command exits; several runs exit with the worst of their "
        "codes: 1, then 255 (the harness failed), 2, 0",
    )
    sentence: StrictStr = Field(
        description="the run in plain English; of an invalid one it begins with what broke"
    )
    reasons: list[StrictStr] = Field(
        default=[],
        description="of an invalid run: each broken promise and demand; of an unknown one: what is "
        "missing; of a valid one: none",
    )
    outcome: Outcome | None = Field(
        default=None, description="what happened to the data, whatever was promised"
    )
    verdict_words: StrictStr = Field(
        default="",
        description="what the verdict says: that all is as promised and expected, that the "
        "configuration allows what was seen, what broke, or what is missing; the first of the "
        "reasons, and how many more there are",
    )
    cap: Cap | None = Field(
        default=None,
        description="the letters of [CAP](anomalies.md#cap), each `true`, `false` or `null`",
    )
    run: RunTold = Field(description="which run it was")
    counts: Counts = Field(default=Counts(), description="see below")
    rates: Rates | None = Field(default=None, description="how fast the load was")
    errors: list[SendError] = Field(
        default=[],
        description="the errors of sends, the most frequent first, without those of sends that "
        "their client aborted (missing in reports of older releases)",
    )
    latency_ms: Latencies | None = Field(
        default=None,
        description="quantiles of latencies rounded to four significant digits, and to 0.01 ms at "
        "the least, as HdrHistogram does: each is off by at most 0.05 %, or by 0.005 ms where that "
        "is more",
    )
    consumer_lag: dict[str, ReaderLag] = Field(
        default={},
        description="by reader (a consumer that follows the log, or `consumer group`); a reader "
        "that was given nothing is not in it",
    )
    rebalances: Rebalances | None = Field(
        default=None,
        description="where a consumer group was at work, as its members were told (histories of "
        "format 2); missing otherwise",
    )
    held_back: HeldBack | None = Field(
        default=None,
        description='where sends wait for room in a full queue (`workload.when_full = "wait"`): '
        "for how long they did; missing otherwise. Due times stay, so latencies and outages count "
        "it",
    )
    programs: list[ProgramTold] = Field(
        default=[],
        description="the processes of `[[programs]]`, in order of their start; missing otherwise",
    )
    outputs: OutputsTold | None = Field(
        default=None, description="of a run with `[outputs]`; missing otherwise"
    )
    stable_lag: StableLag | None = Field(
        default=None,
        description="where transactions are at work and a consumer follows the log (histories of "
        "format 2), as consumers are told every 200 ms: how far the last stable offset was behind "
        "the high watermark; each `null` where it was never behind; missing otherwise",
    )
    transactions: Cycles | None = Field(
        default=None,
        description="where there are any, in histories of format 2; missing otherwise",
    )
    anomalies: dict[str, Finding] = Field(
        default={}, description="by name, see below; docs/anomalies.md defines each"
    )
    stories: Stories | None = Field(
        default=None,
        description="what became of lost, torn, duplicate, inconsistent and reordered records, see "
        "below",
    )
    history_format: StrictInt | None = Field(
        default=None, description="the [format](history.md) of the run's history"
    )
    untold: list[StrictStr] = Field(
        default=[],
        description="of an [imported](lines.md) history, what it does not tell, by name: `begins` "
        "(when sends began), `sends`, `copies` and `landed` (what lies below the first "
        "acknowledged offsets may be an earlier run's), `values`, `read-times`, `faults`, a "
        "setting, and what lines have no words for; missing in the harness's own runs",
    )
    not_recorded: list[StrictStr] = Field(
        default=[],
        description="the anomalies that the run could have and that a history of format 1 does not "
        "tell enough of",
    )
    causes: list[CauseTold] = Field(default=[], description="what permitted records, see below")
    windows: list[Window] = Field(
        default=[], description="unavailability windows in order of time, see below"
    )
    longest_window_s: LongestWindows = Field(
        description="the longest window of each kind, 0 without any; where nothing was "
        "acknowledged, or nobody read, there was none to measure, and the page says so. `null`: "
        "an imported history does not tell it: none of the three without begins of sends, "
        "`consume` and `process` of none, since nobody says who follows the log"
    )
    gap_demands: dict[str, GapDemand] = Field(
        default={},
        description="what the scenario demands of these, by the demand's name (`produce-gap-s`, "
        "`consume-gap-s`, `process-gap-s`, `output-gap-s`), and of the times in `replication.isr` "
        "(`isr-leave-s`, `isr-return-s`: each must meet it)",
    )
    count_demands: dict[str, CountDemand] = Field(
        default={},
        description="what the scenario demands of numbers that are no anomaly's, by the demand's "
        "name (`acked-isr-alone`, `redeliveries`; of `rebalances` `expelled-owners`; of "
        "`replication` `kept-past-log-end` and `lost-within-log-end`)",
    )
    level_demands: dict[str, LevelDemand] = Field(
        default={},
        description="what it demands of latencies and shares (`ack-p99-ms`, `delivery-p99-ms`, "
        "`through-p99-ms`, `error-share`)",
    )
    replication: Replication | None = Field(
        default=None,
        description="where replicas are sampled (`check.watermarks`), see below; else `null`",
    )
    leadership: list[Stretch] = Field(
        default=[],
        description="which broker led what, and its share of the load, in order of time, see "
        "below; empty where no leader was seen",
    )
    faults: list[FaultTold] = Field(default=[], description="in order of their number, see below")
    planned_faults: StrictInt = Field(default=0, description="how many the plan has")
    final_read: FinalRead | None = Field(default=None, description="how far the final read got")
    configuration: Configuration = Field(
        default=Configuration(),
        description="the settings as they were in force (`null`, or not there: an imported history "
        "does not tell it)",
    )
    versions: dict[str, Any] = Field(
        default={},
        description="as the run recorded them; `kafka_harness` is the harness's release and "
        "`kafka_harness_commit` its commit, with `dirty` behind it where files differed (runs "
        "before 0.2.0 lack it)",
    )
    host: dict[str, Any] = Field(default={}, description="as the run recorded it")
    threshold_ms: Number | None = Field(
        default=None, description="from which length on a stretch without success is a window"
    )

    @property
    def code(self) -> int:
        """The exit code. Raises ValueError for a report that does not say it."""
        if self.exit_code is None:
            raise ValueError("exit_code is missing")
        return self.exit_code

    def text(self) -> str:
        """As report.json has it."""
        return json.dumps(self.written(), indent=1) + "\n"


def read_report(file: Path) -> Report:
    """The report in a file. Raises ValueError where it is none, and OSError."""
    return report_of(json_text.loads(json_text.read_bytes(file)))


def report_of(read: object) -> Report:
    """A report by what its file says. Raises ValueError, which names what is no report's."""
    try:
        return Report.model_validate(read)
    except ValidationError as error:
        parts = [str(part) for part in error.errors()[0]["loc"] if part not in _NUMBERS]
        where = ".".join(parts) or "it"
        raise ValueError(f"{where} is not what a report of this version has there") from None
