"""What permits what at a cell.

Verbs of the same effects make the same run: two of three cells need not be judged again.
"""

from __future__ import annotations

import json
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import kafka_of
from analysis.causes.seen import Seen
from analysis.causes.states import partitions_of
from analysis.stored.groups.member_stops import Stop
from analysis.verdict.permission import Permission, facts_in, permission
from tests.baseline.cells import BROKERS, ELSEWHERE, Case, Configuration, Row, run_of
from tests.support.permitting import Record, permits

OUTCOMES = {
    "phantom": "aborted",
    "duplicate": "in_reads",
    "inconsistent-offset": "two_values",
    "uncommitted-read": "never",
}
PROCESS = "group-consumer-0"
DIED = (Stop(process=PROCESS, at_ns=50, words="died"),)
Permitted = tuple[Permission, dict[str, list[Cause]]]
_known: dict[str, Permitted] = {}


def permission_in(configuration: Configuration, case: Case) -> Permission:
    """What permits what in such a run."""
    return permitted_in(configuration, case)[0]


def permitted_in(configuration: Configuration, case: Case) -> Permitted:
    """The same, and by anomaly the causes that permit the record of it, sure ones first; whatever
    the verb's name and what it tells of itself."""
    run = run_of(configuration, case)
    for row in (*run["plan"], *run["faults"]):
        row["verb"] = "a verb"
    for step in run["plan"]:
        del step["telling"]
    partitions = 2 if ELSEWHERE in case.situation else 1
    told = [run[part] for part in ("plan", "faults", "views", "blind")]
    key = json.dumps([repr(configuration), partitions, *told])
    if key not in _known:
        permission = _permission_in(configuration, run, partitions)
        _known[key] = permission, _permitted_by(permission)
    return _known[key]


def _permission_in(configuration: Configuration, run: Row, partitions: int) -> Permission:
    kafka = kafka_of(run)
    happened = Happened.of(run["faults"], run["plan"], run["nodes"], kafka.quorum)
    scenario, server = run["scenario"], run["server"]
    known, least_safe = (
        replace(
            facts_in(scenario, server, happened, kafka, unknown_did_all=unknown),
            reads_metadata=not kafka.zookeeper,
        )
        for unknown in (False, True)
    )
    below = kafka.eligible_below(server, scenario["topic"], happened.settings())
    seen = Seen(
        facts=known,
        happened=happened,
        kafka=kafka,
        partitions=partitions_of(run["views"], run["blind"], partitions, below),
        brokers=BROKERS,
        topic_config=configuration.topic,
        server=configuration.server,
        stops=DIED if configuration.members_died else (),
    )
    return permission(known, least_safe, seen)


def _record_of(anomaly: str) -> Record:
    """The record that is judged."""
    return Record(
        begun_ns=5, known_ns=6, outcome=OUTCOMES.get(anomaly), polled_by=PROCESS, polled_ns=7
    )


def _permitted_by(permission: Permission) -> dict[str, list[Cause]]:
    """By anomaly: the causes that permit the record of it, sure ones first."""
    found: dict[str, list[Cause]] = {anomaly: [] for anomaly in permission.promised}
    for cause in permission.causes:
        for anomaly in permission.permits(cause):
            if permits(cause, _record_of(anomaly)):
                found[anomaly].append(cause)
    return found
