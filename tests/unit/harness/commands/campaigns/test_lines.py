"""A ledger's line tells how long brokers that were gone counted as there, in either mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands.campaigns.lines import origin
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import NodeSettings
from harness.model.scenario import ClusterPart
from tests.support.recorded_runs import run_record

OF_BROKERS = {"zookeeper.session.timeout.ms": "6000", "broker.session.timeout.ms": "7000"}


@pytest.mark.parametrize(
    ("cluster", "controller", "session_ms"),
    [
        ({}, {}, 6000),
        ({"kafka": "4.4.0"}, {"broker.session.timeout.ms": "2000"}, 2000),
        ({"kafka": "4.4.0"}, {"num.io.threads": "4"}, 9000),  # Kafka's own
    ],
)
def test_a_line_has_the_session_that_the_run_had(
    tmp_path: Path, cluster: dict[str, str], controller: dict[str, str], session_ms: int
) -> None:
    settings = NodeSettings(server=OF_BROKERS, controller=controller)
    record = run_record(node_settings=settings)
    chosen = record.scenario.model_copy(update={"cluster": ClusterPart.model_validate(cluster)})
    folder = RunFolder(path=tmp_path)
    folder.write(record.model_copy(update={"scenario": chosen}))

    assert origin(folder)["session_ms"] == session_ms
