"""The rows of a history's small tables, as the driver reads them: the columns of
harness.history.tables, which a test holds these to.

What a worker, the nemesis or sealing always writes is no null; what an older harness did not write
is read as null (docs/history.md tells each column).
"""

from __future__ import annotations

from typing import TypedDict


class Event(TypedDict):
    """What a worker wrote beside its operations: history/events.parquet.

    An event that has a partition, a name or a transaction always has it
    (analysis.stored.recorded.impossible); of the other events they are null, which their types do
    not say.
    """

    run_id: str
    process: str
    time_ns: int
    event: str
    partition: int
    code: int | None
    name: str
    text: str | None
    log_start: int | None
    committed_end: int | None
    uncommitted_end: int | None
    position: int | None
    complete: bool
    since_ns: int | None
    instance: int | None
    transaction: int
    generation: int | None


class Fault(TypedDict):
    """One injection of a planned step: history/faults.parquet."""

    run_id: str
    fault: int
    step: int
    verb: str
    target: str
    nodes: list[str]
    invoke_ns: int
    ok_ns: int | None
    heal_invoke_ns: int | None
    heal_ok_ns: int | None
    evidence: str | None
    heal_evidence: str | None
    error: str | None
    before: str | None  # JSON: the view of the cluster, see fault_views
    after: str | None


class View(TypedDict):
    """A partition as the cluster's metadata showed it, when that changed: history/views.parquet."""

    run_id: str
    time_ns: int
    partition: int
    leader: str | None
    isr: list[str]
    leader_epoch: int | None
    controller: str | None
    since_ns: int | None
    elr: list[str] | None
    partition_epoch: int | None
    went_back: bool | None


class Blind(TypedDict):
    """A stretch of time in which nobody could look: history/blind.parquet."""

    run_id: str
    start_ns: int
    end_ns: int | None


class Watermark(TypedDict):
    """A replica as it was sampled: history/watermarks.parquet."""

    run_id: str
    time_ns: int
    end_ns: int | None
    partition: int
    broker: str
    leads: bool | None
    in_isr: bool | None
    high_watermark: int | None
    log_end: int | None


class Finding(TypedDict):
    """An oddity that sealing found in a worker's segments: history/findings.parquet."""

    run_id: str
    process: str
    kind: str
    count: int
    text: str | None


class FinalEnd(TypedDict):
    """What the final read of a partition reached, over all its passes."""

    partition: int
    log_start: int | None
    committed_end: int | None
    uncommitted_end: int | None
    position: int | None
    complete: bool
