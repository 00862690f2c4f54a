"""Links of real nodes: each verb bites and heals; what a kernel cannot do is refused."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from harness.host.namespaces import UNSHARE
from tests.support.commands import Ran, assert_valid, carried_out, faults_by_name

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

CUTS = (
    "followers-in",
    "everyone",
    "reject",
    "zookeepers-out",
    "ring",
    "halves",
    "bridge",
    "scattered",
)
VERBS = ("lose", "delay", "throttle", "cut-answers")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return carried_out("links.toml", tmp_path_factory.mktemp("links"))


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, (*CUTS, *VERBS))


def test_nothing_is_lost_on_bad_links_and_all_of_it_is_proved(run):
    assert_valid(run)


@pytest.mark.parametrize(
    ("which", "pairs", "word"),
    [
        ("followers-in", 2, "dropped"),
        ("everyone", 12, "dropped"),
        ("reject", 6, "rejected"),
        ("zookeepers-out", 2, "dropped"),
        ("ring", 3, "dropped"),
        ("halves", 4, "dropped"),
        ("bridge", 2, "dropped"),
        ("scattered", 6, "dropped"),
    ],
)
def test_a_cut_bites_between_every_two_that_it_names(faults, which, pairs, word):
    evidence = faults[which]["evidence"]

    assert len(re.findall(r"\b[1-9]\d* packets of ", evidence)) == pairs
    assert word in evidence


def test_packets_are_lost_between_those_named_only(faults):
    assert re.fullmatch(
        r"(clients|kafka\d) lost \d+ packets of (clients|kafka\d); "
        r"(clients|kafka\d) lost \d+ packets of (clients|kafka\d)",
        faults["lose"]["evidence"],
    )


def test_cut_answers_are_those_to_the_clients(faults):
    assert "answers of kafka" in faults["cut-answers"]["evidence"]


def test_a_delay_shows_in_the_time_that_a_connection_takes(faults):
    fault = faults["delay"]
    found = re.search(r"takes ([\d.]+) ms, and took [\d.]+ ms before", fault["evidence"])
    healed = re.search(r"a connection to it takes ([\d.]+) ms", fault["heal_evidence"])

    assert found
    assert healed
    assert float(found[1]) >= 50 > float(healed[1])


def test_a_throttled_node_has_to_wait(faults):
    assert re.search(r"wait [1-9]\d* times", faults["throttle"]["evidence"])


@pytest.mark.parametrize("which", [*CUTS, *VERBS])
def test_a_link_heals(faults, which):
    healed = faults[which]["heal_evidence"]

    assert re.search("is gone|no rule left", healed)
    assert "every ISR has 3 members" in healed
    assert json.loads(faults[which]["after"])["known"]


def test_a_kernel_without_netem_is_refused_before_a_node_starts(harness, tmp_path):
    netem = ["sh", "-c", "tc qdisc add dev lo root netem delay 1ms"]
    if subprocess.run([*UNSHARE, *netem], capture_output=True, check=False).returncode == 0:
        pytest.skip("this kernel has netem")
    scenario = tmp_path / "reorder.toml"
    scenario.write_text(
        'title = "r"\nextends = "baseline"\n[[faults]]\nverb = "reorder"\ntarget = "leader"\n'
        "after_rounds = 5\noptions = { percent = 10 }\n"
    )

    refused = harness("run", str(scenario), "--seed", "7")

    assert refused.code == 255
    assert "kernel has no netem" in refused.out + refused.err
    assert refused.folder is not None
    assert not list((refused.folder / "logs").glob("kafka*.log"))
