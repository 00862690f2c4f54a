"""A run whose output nobody reads goes on as it would have, and leaves nothing in /tmp. In it a
leader dies before its followers have what it acknowledged."""

from __future__ import annotations

import subprocess

import pytest

from harness.checkout import ROOT
from tests.support.commands import COMMAND, Ran, newest
from tests.support.host_pace import bound_s

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(str(ROOT).startswith("/tmp"), reason="the checkout itself is in /tmp"),
]

# /tmp is empty and private; the results are elsewhere.
PRIVATE = """
mount --bind "$1" /mnt && mount -t tmpfs t /tmp && cd /mnt || exit 99
shift
"$@" | head -n 1
echo "code ${PIPESTATUS[0]}"
find /tmp -mindepth 1
"""
# Ten sends after the followers stand still, half a second of look-ups in vain, the leader is
# killed; they go on before their sessions, which may be 2 s old then, are over.
KILLED = (
    "workload.rounds=500",
    "faults.0.times=1",
    "faults.1.times=1",
    "faults.0.after_rounds=100",
    "faults.0.for_s=3",
    "faults.1.when=in-force",
    "faults.1.after_rounds=10",
    "cluster.server.zookeeper.session.timeout.ms=6000",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Brokers that are killed leave the libraries that they have unpacked, for lz4."""
    folder = tmp_path_factory.mktemp("unread")
    settings = [f"--set={each}" for each in (*KILLED, "workload.producer.compression.type=lz4")]
    argv = [*COMMAND, "run", "study-1-sure", "--seed", "7", "--results", "/mnt", *settings]
    namespaces = ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run(
        [*namespaces, "bash", "-c", PRIVATE, "bash", str(folder), *argv],
        capture_output=True,
        text=True,
        timeout=bound_s(280),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(folder))


def test_a_run_goes_on_without_its_reader_and_leaves_no_temporary_file(run: Ran) -> None:
    said = run.out.splitlines()

    assert "seed 7" in said[0]
    assert ["code 0"] == said[1:]
    assert "complete" == run.record()["state"]
    assert "" == run.err


def test_acks_1_loses_what_no_follower_had_when_the_leader_was_killed(run: Ran) -> None:
    report = run.record("report.json")
    lost = report["anomalies"]["lost"]

    assert lost["count"] >= 1
    assert lost["forbidden"] is False
    assert lost["demand_met"] is True
    assert lost["split"]["never_delivered"] + lost["split"]["delivered_before"] == lost["count"]
    assert {f["verb"] for f in report["faults"]} == {"pause", "kill"}
    assert all(f["evidence"] and f["heal_evidence"] for f in report["faults"])
