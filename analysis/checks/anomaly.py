"""An anomaly as its checker states it: its rules, its words and its promises, in one record.

    LATE_ACK = Anomaly(name="late-ack", rules={by_value: late_ack}, …, promises=(…,))

Counts, verdict, page, headline and docs/promises.md all take their facts about anomalies from these
records; `analysis.anomalies` lists the records.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame

from analysis.causes.run_facts.configuration import Facts
from analysis.checks.promise import Condition, Promise
from analysis.frames.evidence import Rule, Table, Tables, rows
from analysis.frames.signs import Sign
from harness.checkout import ROOT


class PromiseError(Exception):
    """A checker's promises are not complete: one sentence with anomaly, file and remedy."""


IN_EVERY_RUN = Condition(words="in every run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One anomaly. `headline`: a sentence on {n} records, or on {n} of what it is `of`, with {is},
    {was} and {them} in the right number and {written} as producers write ("committed" with
    transactions); None: no sentence."""

    name: str
    rules: Mapping[Table, Callable[[], Rule]]  # by the table whose rows it looks at
    meaning: str  # on the page
    noun: str  # one of it: "lost record"
    of: str = "record"  # what the headline counts
    headline: str | None = None
    unless_seen: str | None = None  # an anomaly that, if seen, takes its place in the headline
    outcomes: tuple[str, ...] = ()  # how its count splits
    lasts: str | None = None  # until when it lasts, in words, if its rule says how long
    judged: Condition = IN_EVERY_RUN  # which runs can have it at all
    # Without any of these signs there is none, or none in one of its tables; None: not known.
    signs: tuple[Sign, ...] | Mapping[Table, tuple[Sign, ...]] | None = None
    promises: tuple[Promise, ...] = field(default=())

    def __post_init__(self) -> None:
        last = self.promises[-1] if self.promises else None
        if last is None or last.condition.holds_for is not None or not last.speaks_of_all:
            raise PromiseError(
                f"{self._file()}: {self.name} has no promise that always holds: end its promises "
                "with forbidden(OTHERWISE, …) or permitted(ALWAYS, …)"
            )

    def _file(self) -> Path:
        """Where its checker is, from the root of the checkout."""
        file = Path(inspect.getfile(next(iter(self.rules.values()))))
        return file.relative_to(ROOT) if file.is_relative_to(ROOT) else file

    def tables(self, seen: Collection[Sign]) -> frozenset[Table]:
        """The tables of its rules in which there may be one if a screen saw only these signs; all
        of them if its signs are not known."""
        if self.signs is None:
            return frozenset(self.rules)
        of_table = self.signs
        if not isinstance(of_table, Mapping):
            of_table = dict.fromkeys(self.rules, of_table)
        return frozenset(table for table, of in of_table.items() if not set(of).isdisjoint(seen))

    def promises_for(self, facts: Facts) -> tuple[Promise, ...]:
        """The promises in force in a run: those that permit some records, and the first that speaks
        of all."""
        rows = []
        for promise in self.promises:
            if promise.condition.holds(facts):
                rows.append(promise)
                if promise.speaks_of_all:
                    break
        return tuple(rows)


def by_table(
    anomalies: Iterable[Anomaly], seen: Collection[Sign] = tuple(Sign)
) -> dict[Table, list[Anomaly]]:
    """The anomalies by the tables in which they may be, if a screen saw only these signs."""
    looked_at: dict[Table, list[Anomaly]] = {}
    for anomaly in anomalies:
        tables = anomaly.tables(seen)
        for table in anomaly.rules:
            if table in tables:
                looked_at.setdefault(table, []).append(anomaly)
    return looked_at


def found_rows(tables: Tables, looked_at: Mapping[Table, Sequence[Anomaly]]) -> DataFrame | None:
    """One row per anomaly, by one pass over each table for all its rules. None: there is nothing to
    look at."""
    parts = []
    for table, anomalies in looked_at.items():
        made = table(tables)
        if made is not None:
            parts.append(rows(made, {each.name: each.rules[table]() for each in anomalies}))
    return reduce(DataFrame.unionByName, parts) if parts else None
