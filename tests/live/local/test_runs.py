"""Whole runs on real clusters: what a scenario demands is what the history shows."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tests.support.commands import COMMAND, Ran, assert_valid, faults_of, ran

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run without a fault, checked by the command itself."""
    folder = tmp_path_factory.mktemp("healthy")
    sets = ("--set", "workload.rounds=300", "--set", "workload.read_via=follower")
    argv = [*COMMAND, "run", "baseline", "--seed", "7", *sets, "--results", str(folder)]
    return ran(argv, folder, limit_s=300)


def test_a_healthy_cluster_is_valid_and_everything_is_reported(healthy):
    run = healthy

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


def test_a_follower_serves_the_reads_when_it_is_asked_to(healthy):
    rows = pq.read_table(healthy.folder / "history" / "operations").to_pylist()
    views = pq.read_table(healthy.folder / "history" / "views.parquet").to_pylist()
    leader = {view["leader"] for view in views}
    served = [row["broker"] for row in rows if row["f"] == "read" and row["broker"] is not None]

    assert served
    assert {f"kafka{broker}" for broker in served[len(served) // 2 :]}.isdisjoint(leader)


def test_late_answers_duplicate_with_retries(harness):
    run = harness(
        "run",
        "study-2-demanding-stream",
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
    assert run.report["anomalies"]["duplicate"]["count"] > 0
    assert run.report["anomalies"]["lost"]["count"] == 0


def test_with_idempotence_neither_late_nor_reset_answers_duplicate(harness, tmp_path):
    """The pause is that of study-4-stream, once; then answers are cut."""
    scenario = tmp_path / "answers.toml"
    scenario.write_text(
        'title = "answers late, then cut"\nextends = "study-4-stream"\n'
        "[workload]\nduration_s = 4\n"
        '[[faults]]\nverb = "pause"\ntarget = "leader"\nat_s = 1\nfor_s = 2.0\n'
        '[[faults]]\nverb = "cut-answers"\ntarget = "leader"\nwhen = "healed"\nfor_s = 2.5\n'
        'options = { how = "reset" }\n'
    )

    run = harness("run", str(scenario), "--seed", "7", "--no-check")

    assert_valid(run)
    assert run.report["anomalies"]["duplicate"]["count"] == 0
    assert run.report["anomalies"]["lost"]["count"] == 0
    _, fault = faults_of(run)
    assert "answers of kafka" in fault["evidence"]
    assert "no rule left" in fault["heal_evidence"]
