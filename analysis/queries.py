"""All checks of all runs as Spark sees them: eight queries over one history.

Pure DataFrame -> DataFrame; nothing is computed before `analysis.report.write` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame

from analysis.anomalies import ANOMALIES
from analysis.checks.anomaly import Anomaly
from analysis.checks.availability import windows
from analysis.frames.claims import odd
from analysis.frames.evidence import Rule, Table, Tables, evidence, rows
from analysis.frames.history import History
from analysis.frames.operations import fates, places
from analysis.measures.consumer_lag import positions
from analysis.measures.drawn_sends import sends
from analysis.measures.latency_and_rates import counts, landings, redeliveries
from analysis.measures.leadership import acks_between_cuts
from analysis.measures.work_done import work_done


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What a check asks of its history."""

    evidence: DataFrame  # one row an anomaly, schema.EVIDENCE
    counts: DataFrame  # a row a run, a row a bucket of time
    landings: DataFrame  # a row a run
    acks: DataFrame  # a row a partition and cut of the load
    windows: DataFrame
    work: DataFrame  # a row a process and sort of operation
    sends: DataFrame  # a row a send: `drawn_sends.drawn` takes a few of them
    positions: DataFrame  # a row a slice of the load, partition and reader
    fates: DataFrame  # shared, as the next: worth keeping while the others are computed
    places: DataFrame


def queries(history: History, anomalies: Iterable[Anomaly] = ANOMALIES) -> Queries:
    """The eight queries and what they share."""
    values = fates(history.operations, history.runs).persist()
    few = odd(places(history.operations)).persist()
    found = _found(Tables(history=history, values=values, places=few), anomalies)
    return Queries(
        evidence=evidence(found, history),
        counts=counts(history),
        landings=landings(values, history.runs).join(
            # Of a run in which no value was sent or read, payloads may have been delivered twice.
            redeliveries(history.operations),
            on="run_id",
            how="full",
        ),
        acks=acks_between_cuts(history),
        windows=windows(history, values),
        work=work_done(history),
        sends=sends(history),
        positions=positions(history),
        fates=values,
        places=few,
    )


def _found(tables: Tables, anomalies: Iterable[Anomaly]) -> DataFrame:
    """One row an anomaly: each table is gone through once, for all rules that look at it."""
    rules: dict[Table, dict[str, Rule]] = {}
    for anomaly in anomalies:
        for table, rule in anomaly.rules.items():
            rules.setdefault(table, {})[anomaly.name] = rule()
    made = ((table(tables), of_it) for table, of_it in rules.items())
    parts = [rows(table, of_it) for table, of_it in made if table is not None]
    return reduce(DataFrame.unionByName, parts)
