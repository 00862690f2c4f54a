"""The rules of anomalies over one history, in Spark: the rows found, and their evidence.

    rules = Rules(history, ANOMALIES)
    rules.found()       what every rule finds, as rows of analysis.frames.evidence.rows
    rules.evidence()    the same with leader, faults and permission: schema.EVIDENCE
    rules.fates         what became of each value, for rules on values
    rules.forget()      frees what is kept

    Rules(history, ANOMALIES, left=left)    for suspects only (analysis.frames.left)

Pure DataFrame -> DataFrame; nothing is computed before a caller collects or writes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial, reduce

from pyspark.sql import DataFrame

from analysis.checks.anomaly import Anomaly, by_table, found_rows
from analysis.frames.claims import odd
from analysis.frames.evidence import Tables, evidence
from analysis.frames.history_frames import History
from analysis.frames.left import Left
from analysis.frames.operations import fates, places
from analysis.frames.steps import steps


class Rules:
    """The rules over a history. Their tables are made on first use, by any thread, and kept until
    `forget`."""

    def __init__(
        self, history: History, anomalies: Iterable[Anomaly], left: Left | None = None
    ) -> None:
        """`left`: what a screen left to look at; None: everything."""
        self._history, self._anomalies, self._left = history, tuple(anomalies), left
        self._kept: dict[str, DataFrame] = {}
        self._making = threading.RLock()

    @property
    def fates(self) -> DataFrame:
        """analysis.frames.operations.fates."""
        return self._keep("fates", lambda: _fates(self._history))

    @property
    def places(self) -> DataFrame:
        """The places at which something was found: analysis.frames.claims.odd."""
        return self._keep("places", lambda: odd(places(self._history.operations)))

    def steps(self) -> DataFrame:
        """What is odd about readers' steps and the log."""
        history = self._history
        return self._keep("steps", lambda: steps(history.operations, self.places, history.runs))

    @property
    def tables(self) -> Tables:
        """The sources of the rules' tables."""
        return Tables(
            history=self._history,
            values=lambda: self.fates,
            places=lambda: self.places,
            steps=self.steps,
        )

    def _tables_of_suspects(self, left: Left, several: bool) -> Tables:
        """The tables of suspects, kept if more than one table of rules looks at them."""
        few = left.history

        def kept(name: str, make: Callable[[], DataFrame]) -> Callable[[], DataFrame]:
            return partial(self._keep, f"few {name}", make) if several else make

        return Tables(
            history=few,
            values=kept("fates", lambda: _fates(few)),
            places=kept("places", lambda: odd(places(few.operations))),
            steps=left.steps,
        )

    def _keep(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        with self._making:
            if name not in self._kept:
                self._kept[name] = make().persist()
            return self._kept[name]

    def forget(self) -> None:
        """Free what is kept."""
        for kept in self._kept.values():
            kept.unpersist()

    def found(self) -> DataFrame | None:
        """One row per anomaly, without its evidence; None: there is nothing to look at."""
        if self._left is None:
            return found_rows(self.tables, by_table(self._anomalies))
        signed = [anomaly for anomaly in self._anomalies if anomaly.signs is not None]
        others = [anomaly for anomaly in self._anomalies if anomaly.signs is None]
        looked_at = by_table(signed, self._left.signs)
        few = self._tables_of_suspects(self._left, len(looked_at) > 1)
        found = (found_rows(few, looked_at), found_rows(self.tables, by_table(others)))
        parts = [part for part in found if part is not None]
        return reduce(DataFrame.unionByName, parts) if parts else None

    def evidence(self) -> DataFrame | None:
        """One row per anomaly, schema.EVIDENCE; None: there is nothing to look at."""
        found = self.found()
        return None if found is None else evidence(found, self._history)


def _fates(history: History) -> DataFrame:
    return fates(history.operations, history.runs, compacted=history.compacted)
