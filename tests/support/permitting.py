"""What is permitted: which anomalies a safe configuration forbids, and which causes permit a
record, the rule of analysis.causes.cause in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.anomalies import promised
from analysis.causes.cause import Cause
from analysis.causes.run_facts.configuration import Facts
from analysis.verdict.permission import Permission

# acks=all with an idempotent producer, clean elections, and a leader that was killed.
SAFE = Facts(
    acks="all",
    retries=2147483647,
    idempotent=True,
    replicas=3,
    unclean=False,
    epochs=True,
    checks_crcs=False,
)


def forbidden(facts: Facts) -> set[str]:
    """The anomalies of which no record is permitted, whatever happens."""
    return {name for name, rows in promised(facts).items() if rows[0].forbids}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What matters of a record that shows an anomaly; None: not known."""

    partition: int = 0
    begun_ns: int | None = None
    known_ns: int | None = None
    shown_ns: int | None = None
    time_ns: int | None = None
    settled_ns: int | None = None
    lacked_by: tuple[str, ...] = ()
    outcome: str | None = None
    delivered: bool = False
    polled_by: str | None = None
    polled_ns: int | None = None
    passed_ns: int | None = None
    offset: int | None = None


def permits(cause: Cause, record: Record) -> bool:
    """Whether such a cause permits such a record."""
    return (
        cause.partition in (None, record.partition)
        and _below(record.begun_ns, cause.begun_before_ns)
        and not _below(record.known_ns, cause.known_from_ns, unknown=False)
        and not _below(cause.known_until_ns, record.known_ns, unknown=False)
        and not _below(record.shown_ns, _next(cause.shown_from_ns), unknown=False)
        and not _below(cause.shown_until_ns, record.time_ns, unknown=False)
        and not _below(record.settled_ns, cause.unsettled_ns, unknown=False)
        and (not cause.brokers or _lacked_by_none_but(cause.brokers, record))
        and (not cause.outcomes or record.outcome in cause.outcomes)
        and not (cause.acked_only and record.delivered)
        and (cause.from_offset is None or not _below(record.offset, cause.from_offset))
        and (cause.to_offset is None or _below(record.offset, cause.to_offset, unknown=False))
        and (cause.process is None or _stopped(cause, record))
    )


def permitting(permission: Permission, anomaly: str, record: Record) -> Iterator[Cause]:
    """The causes that permit a record of an anomaly, sure ones first."""
    for cause in permission.causes:
        if anomaly in permission.permits(cause) and permits(cause, record):
            yield cause


def judged(permission: Permission, anomaly: str, record: Record) -> str:
    """permitted, forbidden or in-doubt."""
    cause = next(permitting(permission, anomaly, record), None)
    return "forbidden" if cause is None else "permitted" if cause.sure else "in-doubt"


def _below(time_ns: int | None, limit_ns: int | None, *, unknown: bool = True) -> bool:
    return unknown if time_ns is None or limit_ns is None else time_ns < limit_ns


def _lacked_by_none_but(brokers: tuple[str, ...], record: Record) -> bool:
    return set(record.lacked_by) <= set(brokers)


def _next(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns + 1


def _stopped(cause: Cause, record: Record) -> bool:
    at_ns, passed_ns = cause.at_ns or 0, record.passed_ns
    given = record.polled_ns is not None and record.polled_ns <= at_ns
    return record.polled_by == cause.process and given and not (passed_ns and passed_ns < at_ns)
