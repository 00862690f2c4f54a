"""What permitted what, as reports tell it: each leader change, strike or bit, and its records.

{"kind": "another-leader", "words": "kafka2 led partition 0 instead of kafka1", "at_s": 3.41,
 "permitted": {"lost": 8}, "in_doubt": {}, …}
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.causes.cause import Cause
from analysis.causes.kinds import Kind
from analysis.stored.stored_run import Run
from analysis.verdict.permission import Permission
from harness.model.runs.report_findings import CauseTold

ByAnomaly = Mapping[str, Mapping[int, int]]  # how many of an anomaly, by the cause's number


def cause_rows(permission: Permission, found: ByAnomaly, run: Run) -> list[CauseTold]:
    """One row for each cause at work, sure ones first, each in order of time; causes that differ
    only in which records they permit are told as one."""
    rows: dict[tuple[object, ...], CauseTold] = {}
    for number, cause in enumerate(permission.causes):
        seen = {name: by_cause[number] for name, by_cause in found.items() if number in by_cause}
        if not seen:
            continue
        key = (cause.words, cause.at_ns, cause.sure, cause.why)
        row = rows.setdefault(key, _row(cause, run))
        row.numbers.append(number)
        counts = row.permitted if cause.sure else row.in_doubt
        for name, count in seen.items():
            counts[name] = counts.get(name, 0) + count
    return list(rows.values())


def kinds_at_work(permission: Permission, found: ByAnomaly) -> dict[str, list[Kind]]:
    """By anomaly: the kinds of sure causes that permitted some or, where nothing was found, that
    could have."""
    kinds: dict[str, list[Kind]] = {name: [] for name in permission.promised}
    for number, cause in enumerate(permission.causes):
        for name in permission.permits(cause) if cause.sure else ():
            if number in found[name] or not found[name]:
                kinds[name].append(cause.kind)
    return kinds


def _row(cause: Cause, run: Run) -> CauseTold:
    return CauseTold(
        numbers=[],
        kind=cause.kind.name,
        words=cause.words,
        at_s=run.seconds(cause.at_ns),
        partition=cause.partition,
        fault=cause.fault,
        sure=cause.sure,
        why=cause.why,
        permitted={},
        in_doubt={},
    )
