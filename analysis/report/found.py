"""What a check found and measured of one run: what the report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.anomalies import BY_NAME
from analysis.checks.transactions.cycles import Cycles
from analysis.measures.consumer_lag import AfterFaultsRow, LagRow
from analysis.measures.latency_and_rates import ErrorRow
from analysis.measures.leadership import AcksRow
from analysis.measures.windows import WindowRow
from analysis.measures.work_done import Work
from analysis.stories.tell import RunStories
from harness.model.runs.report_findings import Counts

EXAMPLES = 10
WORKERS = ("torn_records", "worker_errors")  # counts that no operation has
COUNTED = tuple(name for name in Counts.model_fields if name not in WORKERS)
# Of the records past the log end of an elected leader (analysis.frames.elections).
PAST = ("lost_past_log_end", "kept_past_log_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyFinding:
    """What was found of one anomaly: how many, how they split, and the first few rows."""

    count: int = 0
    split: Mapping[str, int]
    examples: Sequence[Mapping[str, Any]] = ()
    lasted_s: Mapping[str, float] | None = None  # p50 and max of those that ended
    # How many a cause permits, or puts in doubt, by the cause's number.
    by_cause: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What Spark found in one run."""

    counts: Mapping[str, int]
    ack_ms: Sequence[float] | None
    delivery_ms: Sequence[float] | None
    findings: Mapping[str, AnomalyFinding]
    windows: Sequence[WindowRow]
    through_ms: Mapping[str, float | None] = field(default_factory=dict)  # of programs
    acked_unseen: int = 0  # of how many acks nobody saw who was in the ISR; asked where demanded
    acks: Sequence[AcksRow] = ()
    errors: Sequence[ErrorRow] = ()
    after_faults: Sequence[AfterFaultsRow] = ()
    work: Work = field(default_factory=Work)  # what each worker did
    lag: Sequence[LagRow] = ()
    stories: RunStories = field(default_factory=RunStories)
    cycles: Cycles | None = None  # None: nobody told of transactions


def no_finding(name: str) -> AnomalyFinding:
    """Nothing found of an anomaly."""
    return AnomalyFinding(split=dict.fromkeys(BY_NAME[name].outcomes, 0))
