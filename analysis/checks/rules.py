"""The rules of anomalies over one history, in Spark: the rows found, and their evidence.

    rules = Rules(history, ANOMALIES)
    rules.found()       what every rule finds, as rows of analysis.frames.evidence.rows
    rules.evidence()    the same with leader, faults and permission: schema.EVIDENCE
    rules.fates         what became of each value, which rules of values look at
    rules.forget()      frees what is kept

    Rules(history, ANOMALIES, left=left)    for suspects only (analysis.frames.left)

Pure DataFrame -> DataFrame; nothing is computed before a caller collects or writes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial, reduce

from pyspark.sql import DataFrame

from analysis.checks.anomaly import Anomaly, found_rows, to_look_at
from analysis.frames.claims import odd
from analysis.frames.evidence import Tables, evidence
from analysis.frames.history_frames import History
from analysis.frames.left import Left
from analysis.frames.operations import fates, places
from analysis.frames.steps import steps


class Rules:
    """What rules look at is made when it is first asked for, by any thread, and kept until
    `forget`."""

    def __init__(
        self, history: History, anomalies: Iterable[Anomaly], left: Left | None = None
    ) -> None:
        """`left`: what a screen says; None: all is asked of everything."""
        self._history, self._anomalies, self._left = history, tuple(anomalies), left
        self._kept: dict[str, DataFrame] = {}
        self._making = threading.RLock()

    @property
    def fates(self) -> DataFrame:
        """analysis.frames.operations.fates."""
        return self._keep("fates", lambda: fates(self._history.operations, self._history.runs))

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
        """What the tables of rules are made from."""
        return Tables(
            history=self._history,
            values=lambda: self.fates,
            places=lambda: self.places,
            steps=self.steps,
        )

    def _few(self, left: Left, several: bool) -> Tables:
        """The same of suspects; where one table alone looks at them, nothing is worth keeping."""
        few = left.history

        def kept(name: str, make: Callable[[], DataFrame]) -> Callable[[], DataFrame]:
            return partial(self._keep, f"few {name}", make) if several else make

        return Tables(
            history=few,
            values=kept("fates", lambda: fates(few.operations, few.runs)),
            places=kept("places", lambda: odd(places(few.operations))),
            steps=left.steps,
        )

    def _keep(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        with self._making:
            if name not in self._kept:
                self._kept[name] = make().persist()
            return self._kept[name]

    def forget(self) -> None:
        """Keep nothing any more."""
        for kept in self._kept.values():
            kept.unpersist()

    def found(self) -> DataFrame | None:
        """One row per anomaly, without what is known around them; None: there is nothing to look
        at."""
        if self._left is None:
            return found_rows(self.tables, to_look_at(self._anomalies))
        signed = [each for each in self._anomalies if each.signs is not None]
        others = [each for each in self._anomalies if each.signs is None]
        seen = to_look_at(signed, self._left.signs)
        few = self._few(self._left, len(seen) > 1)
        found = [found_rows(few, seen), found_rows(self.tables, to_look_at(others))]
        made = [each for each in found if each is not None]
        return reduce(DataFrame.unionByName, made) if made else None

    def evidence(self) -> DataFrame | None:
        """One row per anomaly, schema.EVIDENCE; None: there is nothing to look at."""
        found = self.found()
        return None if found is None else evidence(found, self._history)
