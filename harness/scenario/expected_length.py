"""Estimates how long a run of a scenario takes, its check included, before anything starts.

    baseline    20 s        study-1    2 min        a campaign    6.5 h

Measured on two cores: 18 s around the load, 1.5 ms a round, and 9 s for a fault that waits for
another leader. A load in rounds waits for each fault to heal; one in seconds goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.model.plan import Step
from harness.model.scenario import Scenario
from harness.nemesis import plan
from harness.scenario.rules import setting_of

AROUND_S: Final = 18.0  # nodes, topic, workers; healing, final read, check
ROUND_S: Final = 0.0015
UNTIL_S: Final = 9.0  # a session that expires, an election, a node that comes back


def expected_s(scenario: Scenario) -> float:
    """Seconds from the command to its verdict."""
    setting = setting_of(scenario)
    steps = plan.make(scenario.faults, 0, scenario.mixed, setting=setting)
    return AROUND_S + _load_s(scenario, steps)


def _load_s(scenario: Scenario, steps: Sequence[Step]) -> float:
    work = scenario.workload
    if work.kind == "stream":
        return max(work.duration_s, plan.lasts_s(steps, work.rate * work.producers))
    healing_s = sum(step.for_s or (UNTIL_S if step.until else 0.0) for step in steps)
    return work.rounds * ROUND_S + healing_s


def in_words(length_s: float) -> str:
    """A length, rounded to what is known of it."""
    if length_s < 58:
        return f"{5 * round(length_s / 5)} s"
    if length_s < 100 * 60:
        return f"{round(length_s / 60)} min"
    return f"{length_s / 3600:.1f} h"
