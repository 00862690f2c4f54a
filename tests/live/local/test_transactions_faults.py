"""Transactions on a real cluster: what is committed is there, what is aborted can be told apart."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]
# A session of 2 s, and what else is awaited shorter, too.
SOON = (
    "--set=cluster.zoo.tickTime=500",
    "--set=cluster.server.zookeeper.session.timeout.ms=2000",
    "--set=workload.producer.transaction.timeout.ms=3000",
    "--set=workload.duration_s=8",
    "--set=faults.0.at_s=2",
    "--set=faults.0.for_s=4",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return carried_out("transactions.toml", tmp_path_factory.mktemp("transactions"))


def operations(run: Ran, process: str) -> list[dict[str, Any]]:
    assert run.folder is not None
    rows = pq.read_table(run.folder / f"history/operations/{process}.parquet").to_pylist()
    return [row for row in rows if row["f"] in ("send", "final-read")]


def test_it_meets_what_is_demanded(run):
    """Nothing is lost or comes twice; what was aborted is read, as it may be here."""
    assert_valid(run)


def test_the_coordinator_is_hit_and_comes_back(run):
    fault = faults_of(run)[0]
    told = (run.folder / "history/nemesis.jsonl").read_text()

    assert fault["target"] == "transaction-coordinator"
    assert f'"nodes": {json.dumps(fault["nodes"])}' in told
    assert re.search(r'"roles": {"kafka\d": \[[^]]*"transaction-coordinator"', told)
    assert "is gone" in fault["evidence"]
    assert "serves" in fault["heal_evidence"]


def test_a_successor_has_the_transactional_id_of_the_dead(run):
    """So that the coordinator ends what the dead one left open, and no reader waits for it."""
    producers = [w for w in run.record()["workers"] if w["role"] == "producer"]

    assert [w["process"] for w in producers] == ["producer-0", "producer-0-2"]
    assert {w["config"]["transactional.id"] for w in producers} == {"harness-0"}
    assert [send for send in operations(run, "producer-0-2") if send["type"] == "ok"]


def test_aborted_records_are_in_the_log_and_are_the_phantoms(run):
    sends = [*operations(run, "producer-0"), *operations(run, "producer-0-2")]
    aborted = {send["value"] for send in sends if send["error"] == "_ABORTED"}
    acked = {send["value"]: send["offset"] for send in sends if send["type"] == "ok"}
    in_log = {row["value"]: row["offset"] for row in operations(run, "final-read-0")}

    assert aborted
    assert aborted <= in_log.keys()
    assert acked.items() <= in_log.items()
    assert run.report["anomalies"]["phantom"]["count"] == len(aborted)


def test_a_coordinator_that_lost_its_log_leaves_transactions_open_for_good(harness):
    """The final read is made all the same, once each of them must have timed out."""
    run = harness("run", "transactions-hanging", "--seed", "7", "--no-check", *SOON, timeout=400)

    assert_valid(run)
    (fault,) = faults_of(run)
    (end,) = run.report["final_read"]["partitions"]
    (hanging,) = run.report["anomalies"]["hanging-transaction"]["examples"]
    assert "were removed" in fault["evidence"]
    assert hanging["offset"] == end["committed_end"] < end["uncommitted_end"] == end["position"]
