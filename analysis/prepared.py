"""What the driver knows of the runs of a check before Spark is asked, or without it.

ready = prepared(runs, by_driver=True)
ready.facts       their rows of schema.RUNS
ready.screens     what Spark must still be asked about; None: all of it
ready.measured    counts, latencies, windows; None: Spark measures
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.frames.history import run_row
from analysis.measures.by_driver.measured import Measured, measured
from analysis.permission import Permission, permission_of
from analysis.screens.several import Screens, screens
from analysis.stored.stored_run import Run
from analysis.stored.transactions.circles import Circles, circles_of
from analysis.stored.transactions.settled import settled_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """By run_id."""

    permissions: Mapping[str, Permission]
    circles: Mapping[str, Circles | None]
    facts: Mapping[str, Mapping[str, Any]]
    screens: Screens | None
    measured: Mapping[str, Measured] | None
    followed: bool = False  # whether each record is held against samples of replicas, by Spark

    def left(self, operations: int) -> int:
        """How many of so many operations Spark is left with."""
        if self.screens is None or self.followed:
            return operations
        return self.screens.suspects


def prepared(runs: Sequence[Run], *, by_driver: bool) -> Prepared:
    """Look at these runs. `by_driver`: whether screens and measures may be the driver's; runs in a
    store are left to plain Spark SQL."""
    permissions = {run.run_id: permission_of(run) for run in runs}
    circles = {run.run_id: circles_of(run) for run in runs}
    facts = {
        run.run_id: run_row(run, _causes(run, permissions[run.run_id]), circles[run.run_id])
        for run in runs
    }
    told = screens(runs, facts, runs[0].path) if by_driver else None
    fates = {run_id: each.fates() for run_id, each in told.by_run.items()} if told else {}
    return Prepared(
        permissions=permissions,
        circles=circles,
        facts=facts,
        screens=told,
        measured=measured(runs, facts, fates) if by_driver else None,
        followed=any(run.watched and run.watermarks for run in runs),
    )


def _causes(run: Run, permission: Permission) -> list[Mapping[str, Any]]:
    settled = settled_in(run) if permission.asks_what_is_settled else None
    return permission.rows(run.load_start_ns, settled)
