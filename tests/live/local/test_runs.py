"""Whole runs on real clusters: what a scenario demands is what the history shows."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import assert_valid

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]


def faults(run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        run.folder / "history" / "faults.parquet"
    ).to_pylist()
    return rows


def test_a_healthy_cluster_is_valid_and_everything_is_reported(harness):
    run = harness("run", "baseline", "--seed", "7", "--set", "workload.rounds=300")

    assert run.code == 0, run.out + run.err
    assert run.report["verdict"] == "valid"
    assert run.report["counts"]["acked"] == 300
    assert run.report["counts"]["lookups"] == 300
    assert run.record()["state"] == "complete"
    assert {p.name for p in run.folder.iterdir()} >= {
        "run.json",
        "report.json",
        "report.html",
        "junit.xml",
        "history",
        "logs",
        "analysis",
    }
    assert {p.stem for p in (run.folder / "logs").glob("*.log")} >= {"zk1", "kafka3"}
    assert "seed 7" in run.out
    assert "kafka-harness run baseline --seed 7 --set workload.rounds=300" in run.out


def test_acks_1_loses_what_no_follower_had_when_the_leader_was_killed(harness):
    """Ten sends after the followers stand still, half a second of look-ups in vain, the leader is
    killed; they go on before their sessions, which may be 2 s old then, are over."""
    run = harness(
        "run",
        "study-1-sure",
        "--seed",
        "7",
        "--set",
        "workload.rounds=500",
        "--set",
        "faults.0.times=1",
        "--set",
        "faults.1.times=1",
        "--set",
        "faults.0.after_rounds=100",
        "--set",
        "faults.0.for_s=3",
        "--set",
        "faults.1.when=in-force",
        "--set",
        "faults.1.after_rounds=10",
        "--set",
        "cluster.server.zookeeper.session.timeout.ms=6000",
    )

    assert run.code == 0, run.out + run.err
    lost = run.report["anomalies"]["lost"]
    assert lost["count"] >= 1
    assert lost["forbidden"] is False
    assert lost["demand_met"] is True
    assert lost["split"]["never_delivered"] + lost["split"]["delivered_before"] == lost["count"]
    assert {f["verb"] for f in run.report["faults"]} == {"pause", "kill"}
    assert all(f["evidence"] and f["heal_evidence"] for f in run.report["faults"])


@pytest.mark.parametrize(("twin", "repeated"), [("study-2-demanding", True), ("study-4", False)])
def test_late_answers_duplicate_with_retries_and_never_with_idempotence(harness, twin, repeated):
    run = harness(
        "run",
        f"{twin}-stream",
        "--seed",
        "7",
        "--no-check",
        "--set",
        "workload.duration_s=4",
        "--set",
        "faults.0.at_s=1",
        "--set",
        "faults.0.times=1",
    )

    assert_valid(run)
    assert (run.report["anomalies"]["duplicate"]["count"] > 0) is repeated
    assert run.report["anomalies"]["lost"]["count"] == 0


def test_reset_answers_bite_and_heal(harness, tmp_path):
    scenario = tmp_path / "answers.toml"
    scenario.write_text(
        'title = "answers cut"\nextends = "study-2-stream"\n[workload]\nduration_s = 4\n'
        '[[faults]]\nverb = "cut-answers"\ntarget = "leader"\nat_s = 1\nfor_s = 2.5\n'
        'options = { how = "reset" }\n'
    )

    run = harness("run", str(scenario), "--seed", "7", "--no-check")

    assert_valid(run)
    (fault,) = faults(run)
    assert "answers of kafka" in fault["evidence"]
    assert "no rule left" in fault["heal_evidence"]
    assert run.report["anomalies"]["lost"]["count"] == 0


def test_a_follower_serves_the_reads_when_it_is_asked_to(harness):
    run = harness(
        "run",
        "baseline",
        "--seed",
        "7",
        "--no-check",
        "--set",
        "workload.rounds=200",
        "--set",
        "workload.read_via=follower",
    )

    assert_valid(run)
    rows = pq.read_table(run.folder / "history" / "operations").to_pylist()
    views = pq.read_table(run.folder / "history" / "views.parquet").to_pylist()
    leader = {view["leader"] for view in views}
    served = [row["broker"] for row in rows if row["f"] == "read" and row["broker"] is not None]
    assert served
    assert {f"kafka{broker}" for broker in served[len(served) // 2 :]}.isdisjoint(leader)
