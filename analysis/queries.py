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
    """What a check asks of its history. Each query is made when it is called for, so that several
    may be made and answered at once."""

    history: History
    anomalies: Iterable[Anomaly]
    fates: DataFrame  # shared, as the next: kept while the queries are computed
    places: DataFrame

    def evidence(self) -> DataFrame:
        """One row an anomaly, schema.EVIDENCE."""
        tables = Tables(history=self.history, values=self.fates, places=self.places)
        return evidence(_found(tables, self.anomalies), self.history)

    def counts(self) -> DataFrame:
        """A row a run, a row a bucket of time."""
        return counts(self.history)

    def landings(self) -> DataFrame:
        """A row a run."""
        # Of a run in which no value was sent or read, payloads may have been delivered twice.
        again = redeliveries(self.history.operations)
        return landings(self.fates, self.history.runs).join(again, on="run_id", how="full")

    def acks(self) -> DataFrame:
        """A row a partition and cut of the load."""
        return acks_between_cuts(self.history)

    def windows(self) -> DataFrame:
        """A row a window of unavailability."""
        return windows(self.history, self.fates)

    def work(self) -> DataFrame:
        """A row a process and sort of operation."""
        return work_done(self.history)

    def sends(self) -> DataFrame:
        """A row a send: `drawn_sends.drawn` takes a few of them."""
        return sends(self.history)

    def positions(self) -> DataFrame:
        """A row a slice of the load, partition and reader."""
        return positions(self.history)


def queries(history: History, anomalies: Iterable[Anomaly] = ANOMALIES) -> Queries:
    """The eight queries and what they share."""
    return Queries(
        history=history,
        anomalies=anomalies,
        fates=fates(history.operations, history.runs).persist(),
        places=odd(places(history.operations)).persist(),
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
