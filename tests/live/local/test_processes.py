"""Real nodes that go and come: the ensemble, all brokers at once, rolls and crash loops. Nobody
reads what the run says: it goes on as it would have, and leaves nothing in /tmp."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.checkout import ROOT
from tests.support.commands import COMMAND, Ran, assert_valid, faults_by_name, ran

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

# In the order of processes.toml.
WHICH = (
    "stop",
    "zk-follower",
    "zk-leader",
    "zk-majority",
    "pause-followers",
    "pause",
    "all",
    "crash-loop",
    "roll",
    "roll-hard",
)
SCENARIO = Path(__file__).with_name("processes.toml")
IN_TMP = str(ROOT).startswith("/tmp")  # which then cannot be hidden
# /tmp is empty and private; the results are elsewhere.
UNREAD = f"""
mount --bind "$1" /mnt {"" if IN_TMP else "&& mount -t tmpfs t /tmp"} && cd /mnt || exit 99
shift
"$@" | head -n 1
echo "code ${{PIPESTATUS[0]}}"
find /tmp -mindepth 1
"""
GONE = r"process \d+ of {} is gone"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Brokers that are killed leave the libraries that they have unpacked, for lz4."""
    folder = tmp_path_factory.mktemp("processes")
    lz4 = "--set=workload.producer.compression.type=lz4"
    argv = [*COMMAND, "run", str(SCENARIO), "--seed", "7", "--no-check", "--results", "/mnt", lz4]
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    return ran([*apart, "bash", "-c", UNREAD, "bash", str(folder), *argv], folder, limit_s=600)


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, WHICH)


def test_nothing_is_lost_and_everything_is_proved(run):
    assert_valid(run)


@pytest.mark.skipif(IN_TMP, reason="the checkout itself is in /tmp")
def test_a_run_goes_on_without_its_reader_and_leaves_no_temporary_file(run):
    said = run.out.splitlines()

    assert "seed 7" in said[0]
    assert ["code 0"] == said[1:]
    assert "complete" == run.record()["state"]
    assert "" == run.err


@pytest.mark.parametrize(
    ("which", "count", "who"),
    [
        ("zk-follower", 1, r"zk\d"),
        ("zk-leader", 1, r"zk\d"),
        ("zk-majority", 2, r"zk\d"),
        ("stop", 1, r"kafka\d"),
        ("all", 3, r"kafka\d"),
    ],
)
def test_who_was_killed_or_stopped_is_gone_and_serves_again(faults, which, count, who):
    fault = faults[which]
    gone = re.findall(GONE.format(who), fault["evidence"])

    assert len(fault["nodes"]) == len(gone) == len({each.split()[1] for each in gone}) == count
    assert len(re.findall(rf"of {who} serves", fault["heal_evidence"])) == count
    assert "every ISR has 3 members" in fault["heal_evidence"]


def test_without_its_majority_zookeeper_tells_nobody_anything(faults, run):
    fault = faults["zk-majority"]
    [lines] = [(run.folder / "history" / "views.jsonl").read_text().splitlines()]
    blind = [line for line in lines if '"blind"' in line]

    # The view is blind a moment before the fault is proved.
    told = [json.loads(line)["time_ns"] for line in blind]
    assert any(fault["invoke_ns"] < at_ns < fault["heal_ok_ns"] for at_ns in told)


def test_the_leader_and_controller_is_one_node_and_was_leader_and_controller(faults, run):
    lines = (run.folder / "history" / "nemesis.jsonl").read_text()

    assert len(faults["pause"]["nodes"]) == 1
    assert re.search(r'"pause".*"roles": {"kafka\d": \["leader", "controller"', lines)


def test_the_leader_stays_away_until_another_leads(faults, run):
    fault = faults["stop"]
    views = pq.read_table(run.folder / "history" / "views.parquet").to_pylist()
    away = [v for v in views if fault["invoke_ns"] < v["time_ns"] < fault["heal_invoke_ns"]]

    assert [json.loads(fault["before"])["leader"]["0"]] == fault["nodes"]
    assert any(view["leader"] not in (None, *fault["nodes"]) for view in away)


def test_a_crash_loop_kills_again_and_again(faults):
    killed = re.search(r"killed (\d+) times in all", faults["crash-loop"]["heal_evidence"])

    assert "was killed 2 times so far" in faults["crash-loop"]["evidence"]
    assert killed
    assert int(killed[1]) >= 3
    assert "serves" in faults["crash-loop"]["heal_evidence"]


@pytest.mark.parametrize(("which", "count"), [("roll", 3), ("roll-hard", 1)])
def test_a_roll_gives_each_broker_another_process(faults, which, count):
    rolled = re.findall(r"kafka\d \(process (\d+), now (\d+)\)", faults[which]["evidence"])

    assert len(rolled) == count
    assert all(before != after for before, after in rolled)
    assert len(re.findall(r"of kafka\d serves", faults[which]["heal_evidence"])) == count
