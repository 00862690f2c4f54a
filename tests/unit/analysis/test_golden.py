"""Recorded runs of real clusters: their verdicts were counted by hand once and must not change."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.checkout import ROOT

GOLDEN = ROOT / "tests" / "golden"
KNOWN: dict[str, dict[str, Any]] = {
    # acks=1, followers paused, leader killed: four of 450 acknowledged records are gone.
    "acks-1-leader-killed": {"verdict": "valid", "acked": 450, "lost": 4, "duplicate": 0},
    # acks=all with retries, leader paused: the record in flight came twice.
    "retries-leader-paused": {"verdict": "valid", "acked": 300, "lost": 0, "duplicate": 1},
    # Its twin with idempotence.
    "idempotent-leader-paused": {"verdict": "valid", "acked": 300, "lost": 0, "duplicate": 0},
    # A stream through an orderly failover.
    "leader-stopped": {"verdict": "valid", "acked": 973, "lost": 0, "duplicate": 0},
    # acks=1: a leader that is cut off from ZooKeeper alone acknowledges on when another leads.
    "leader-cut-from-zookeeper": {"verdict": "valid", "acked": 922, "lost": 330, "duplicate": 0},
    # The sole replica in the ISR loses its power, and leads again.
    "power-loss-sole": {"verdict": "valid", "acked": 958, "lost": 407, "duplicate": 0},
    # The leader alone in the ISR dies, and one from outside takes over.
    "partition-ap": {"verdict": "valid", "acked": 1262, "lost": 256, "duplicate": 0},
    # An application that commits first is killed twice: inputs have no output, as nobody wanted.
    "payments-before": {"verdict": "invalid", "acked": 1854, "lost": 0, "duplicate": 0},
    # One that commits last: it makes some twice.
    "payments-after": {"verdict": "invalid", "acked": 907, "lost": 0, "duplicate": 0},
}
# By anomaly: what permits how many.
CAUSES: dict[str, dict[str, Any]] = {
    "acks-1-leader-killed": {"lost": {"not-replicated": 4}},
    "leader-cut-from-zookeeper": {"lost": {"not-replicated": 330}},
    "power-loss-sole": {"lost": {"strike": 407}, "vanished": {"strike": 406}},
    "partition-ap": {"lost": {"unclean-election": 256}, "vanished": {"unclean-election": 256}},
    "payments-before": {"no-output": {"configuration": 100}},
    "payments-after": {"two-outputs": {"configuration": 24}},
}


@pytest.fixture(scope="module")
def reports(golden_runs) -> dict[str, dict[str, Any]]:
    return {name: json.loads((golden_runs / name / "report.json").read_text()) for name in KNOWN}


@pytest.mark.parametrize("name", KNOWN)
def test_a_recorded_run_keeps_its_verdict(reports, name):
    report = reports[name]
    counted = {
        "verdict": report["verdict"],
        "acked": report["counts"]["acked"],
        "lost": report["anomalies"]["lost"]["count"],
        "duplicate": report["anomalies"]["duplicate"]["count"],
    }

    assert KNOWN[name] == counted


@pytest.mark.parametrize("name", CAUSES)
def test_each_permitted_loss_has_its_cause(reports, name):
    for anomaly, wanted in CAUSES[name].items():
        found = [each for each in reports[name]["causes"] if anomaly in each["permitted"]]
        judged = reports[name]["anomalies"][anomaly]["judged"]

        assert {each["kind"]: each["permitted"][anomaly] for each in found} == wanted
        assert judged == {"permitted": sum(wanted.values()), "forbidden": 0, "in_doubt": 0}


def test_a_leader_that_does_not_know_acknowledges_what_is_lost_after_another_led(reports):
    report = reports["leader-cut-from-zookeeper"]
    (cause,) = [each for each in report["causes"] if "lost" in each["permitted"]]
    late = [e for e in report["anomalies"]["lost"]["examples"] if e["acked_s"] > cause["at_s"]]

    assert late


@pytest.mark.parametrize("name", ["retries-leader-paused", "idempotent-leader-paused"])
def test_a_leader_paused_for_two_seconds_is_one_outage_of_about_that_length(reports, name):
    (window,) = [w for w in reports[name]["windows"] if w["kind"] == "produce"]

    assert window["length_s"] == pytest.approx(2.0, abs=0.5)
    assert window["faults"] == [0]


@pytest.mark.parametrize("name", KNOWN)
def test_every_ack_of_the_load_is_in_the_stretch_in_which_it_came(reports, name):
    """Counted again, in plain Python, from the recorded operations."""
    record = json.loads((GOLDEN / name / "run.json").read_text())
    (start_ns,) = [p["start_ns"] for p in record["phases"] if p["name"] == "load"]
    files = (GOLDEN / name / "history" / "operations").glob("*.parquet")
    came_s = [
        (row["end_ns"] - start_ns) / 1e9
        for file in files
        for row in pq.read_table(file).to_pylist()
        if row["f"] == "send" and row["type"] == "ok"
    ]
    rows = reports[name]["leadership"]

    assert len(rows) >= 2
    assert [sum(1 for at_s in came_s if row["start_s"] <= at_s < row["end_s"]) for row in rows] == [
        row["leaderless_acks"] + sum(broker["acks"] for broker in row["brokers"]) for row in rows
    ]


def test_the_heir_of_a_killed_leader_bears_its_load(reports):
    rows = reports["acks-1-leader-killed"]["leadership"]

    assert [[(b["leads"], b["acks"]) for b in row["brokers"]] for row in rows] == [
        [(1, 202), (0, 0), (0, 0)],
        [(1, 4), (0, 0), (0, 0)],  # its followers are paused, then it is killed
        [(0, 0), (1, 243), (0, 0)],
    ]


def test_every_golden_run_is_known():
    assert {path.name for path in GOLDEN.iterdir() if path.is_dir()} == KNOWN.keys()
