"""Small records of runs: what run.json holds where a test does not say otherwise."""

from __future__ import annotations

from typing import Any

from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario, WorkloadPart


def run_record(**changes: Any) -> RunRecord:
    """A run of nothing in particular, with these keys changed."""
    scenario = Scenario(name="told", title="A test", workload=WorkloadPart(kind="write-read"))
    return RunRecord(scenario=scenario, seed=1, backend="local").changed(**changes)
