"""A line of a campaign's ledger (harness.model.campaigns.ledger), as a type: what each key says.

mypy checks the keys of whoever reads or writes a line, and whoever compares lines of anybody's
validates them by the same type. A line is a JSON object and stays one: an older line lacks what its
release did not write, and what a newer one adds is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict  # that of Python 3.11 is none for pydantic

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]  # what is larger no table shows
Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # s


class Starved(TypedDict, total=False):
    """How long something waited for a CPU."""

    pressure_some_percent: Length | None


class Host(TypedDict, total=False):
    """The machine."""

    cpus: int
    memory_bytes: int
    kernel: str
    cpu_starvation: Starved | None  # of the whole run, in lines from before loads had their own


class Promise(TypedDict):
    """What the run's configuration and its course promised of an anomaly."""

    forbidden: bool
    promise: str


class Line(TypedDict, total=False):
    """What a ledger tells of one run, or of one calibration. Each line has `cell` and `seed`; a
    part of one may lack any key."""

    event: str  # STARTED, ENDED, …; a line without it is older, and of a run that ended
    cell: str
    scenario: str
    backend: str  # a line without it is of the local one
    seed: int
    started_utc: str

    run: str  # its id
    began: bool  # False: its cluster never came up
    configuration: str  # the digest of what was put to the test
    session_ms: float
    versions: Mapping[str, str | None]
    starved_in_load: Starved | None
    history: str | None  # SHA-256 of its seal

    exit: int
    verdict: Literal["valid", "invalid", "unknown"]
    judged: str | None  # the verdict before a calibration that failed made it unknown
    reasons: list[str]
    sends: Count
    acked: Count
    indeterminate: Count
    failed: Count
    undelivered: Count
    expired_unread: Count
    anomalies: dict[str, Count]
    forbidden: list[str]
    lost_split: dict[str, Count]
    cap: dict[str, Any] | None  # as in report.json
    promises: dict[str, Promise]
    faults: Count
    produce_gaps_s: list[Length]
    produce_led_s: list[float | None]
    consume_gaps_s: list[Length]
    fault_gaps_s: list[float]
    replication: dict[str, Any]  # as in report.json
    leadership: list[dict[str, Any]]  # as in report.json
    ack_ms: dict[str, float] | None
    kafka: str | None
    host: Host | None
    settings: Mapping[str, Any] | None  # of the first line with its configuration
    sitting: str  # when the calibration before it began

    reason: str  # why a run counts no more
    met: bool  # of a calibration
    why: str | None
    runs: list[str]
