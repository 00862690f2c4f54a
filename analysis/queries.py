"""All checks of all runs as Spark sees them: nine queries over one history.

Pure DataFrame -> DataFrame; nothing is computed before `analysis.report.write` asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial, reduce

from pyspark.sql import DataFrame

from analysis.anomalies import ANOMALIES
from analysis.checks.anomaly import Anomaly, found_rows, to_look_at
from analysis.frames.claims import odd
from analysis.frames.evidence import Tables, evidence
from analysis.frames.history import History
from analysis.frames.left import Left
from analysis.frames.operations import fates, places
from analysis.frames.steps import steps
from analysis.measures.availability import windows
from analysis.measures.consumer_lag import positions
from analysis.measures.drawn_sends import sends
from analysis.measures.latency_and_rates import counts, landings, redeliveries
from analysis.measures.leadership import acks_between_cuts
from analysis.measures.work_done import work_done

FEW = 500_000  # operations: as many found rows take some 100 MB


class Queries:
    """What a check asks of its history. Each query is made when it is called for, by any thread, so
    that several may be made and answered at once."""

    def __init__(
        self,
        history: History,
        anomalies: Iterable[Anomaly] = ANOMALIES,
        left: Left | None = None,
    ) -> None:
        """`left`: what a screen says; None: all is asked of everything."""
        self._history, self._anomalies, self.left = history, tuple(anomalies), left
        self._kept: dict[str, DataFrame] = {}
        self._making = threading.RLock()

    @property
    def fates(self) -> DataFrame:
        """What several queries look at, as the next: kept until `forget`."""
        return self._keep("fates", lambda: fates(self._history.operations, self._history.runs))

    @property
    def places(self) -> DataFrame:
        """The places at which something was found."""
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

    @property
    def is_small(self) -> bool:
        """Whether what is found is so little that it may be held in memory."""
        return self.left is not None and self.left.rows <= FEW

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

    def evidence(self) -> DataFrame | None:
        """One row an anomaly, schema.EVIDENCE; None: there is nothing to look at."""
        found = self.found()
        return None if found is None else evidence(found, self._history)

    def found(self) -> DataFrame | None:
        """The same, without what is known around them: analysis.frames.evidence.rows."""
        if self.left is None:
            found = [found_rows(self.tables, to_look_at(self._anomalies))]
        else:
            signed = [each for each in self._anomalies if each.signs is not None]
            others = [each for each in self._anomalies if each.signs is None]
            seen = to_look_at(signed, self.left.signs)
            few = self._few(self.left, len(seen) > 1)
            found = [found_rows(few, seen), found_rows(self.tables, to_look_at(others))]
        made = [each for each in found if each is not None]
        return reduce(DataFrame.unionByName, made) if made else None

    def counts(self) -> DataFrame:
        """A row a run, a row a bucket of time."""
        return counts(self._history)

    def landings(self) -> DataFrame:
        """A row a run."""
        return landings(self.fates, self._history.runs)

    def redeliveries(self) -> DataFrame:
        """A row a run in which anything was delivered."""
        return redeliveries(self._history.operations)

    def acks(self) -> DataFrame:
        """A row a partition and cut of the load."""
        return acks_between_cuts(self._history)

    def windows(self) -> DataFrame:
        """A row a window of unavailability."""
        return windows(self._history, self.fates)

    def work(self) -> DataFrame:
        """A row a process and sort of operation."""
        return work_done(self._history)

    def sends(self) -> DataFrame:
        """A row a send: `drawn_sends.drawn` takes a few of them."""
        return sends(self._history)

    def positions(self) -> DataFrame:
        """A row a slice of the load, partition and reader."""
        return positions(self._history)
