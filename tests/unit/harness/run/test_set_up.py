"""What a cluster cannot be prepared for is said with the faults of the plan that ask for it."""

from __future__ import annotations

import pytest

from harness.cluster.capabilities import CannotPrepare, Requirements
from harness.cluster.nodes import ClusterError
from harness.nemesis.verbs import VERBS
from harness.run.set_up import prepare
from harness.scenario.prepare import Request
from harness.scenario.prepare import prepare as prepare_run


class WithoutStrace:
    """A cluster on a host that cannot trace."""

    def prepare(self, requirements: Requirements) -> None:
        for way in requirements.ways - {"netem"}:
            raise CannotPrepare(way, "no strace here: install it")


def test_a_host_that_lacks_something_names_the_faults_that_need_it() -> None:
    names = ["fail-disk", "kill", "slow-disk", "reorder"]
    faults = [
        {"verb": name, "target": "one", "at_s": 9 * n, "options": VERBS[name].options.example()}
        for n, name in enumerate(names)
    ]
    settings = {"workload.kind": "stream", "workload.duration_s": 60.0, "faults": faults}
    record = prepare_run(Request(scenario="baseline", seed=1, settings=settings)).record

    with pytest.raises(ClusterError, match=r"^fail-disk, slow-disk: no strace here: install it$"):
        prepare(WithoutStrace(), record)
