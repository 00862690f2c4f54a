"""Recorded runs of real clusters: their verdicts were counted by hand once and must not change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.job import check

GOLDEN = Path(__file__).parent / "golden"
KNOWN: dict[str, dict[str, Any]] = {
    # acks=1, followers paused, leader killed: four of 450 acknowledged records are gone.
    "acks-1-leader-killed": {"verdict": "valid", "acked": 450, "lost": 4, "duplicate": 0},
    # acks=all with retries, leader paused: the record in flight came twice.
    "retries-leader-paused": {"verdict": "valid", "acked": 300, "lost": 0, "duplicate": 1},
    # Its twin with idempotence.
    "idempotent-leader-paused": {"verdict": "valid", "acked": 300, "lost": 0, "duplicate": 0},
    # A stream through an orderly failover.
    "leader-stopped": {"verdict": "valid", "acked": 973, "lost": 0, "duplicate": 0},
}


@pytest.fixture(scope="module")
def reports(spark, tmp_path_factory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("golden")
    paths = [shutil.copytree(GOLDEN / name, folder / name) for name in KNOWN]
    return dict(zip(KNOWN, check(paths), strict=True))


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


@pytest.mark.parametrize("name", ["retries-leader-paused", "idempotent-leader-paused"])
def test_a_leader_paused_for_two_seconds_is_one_outage_of_about_that_length(reports, name):
    (window,) = [w for w in reports[name]["windows"] if w["kind"] == "produce"]

    assert window["length_s"] == pytest.approx(2.0, abs=0.5)
    assert window["faults"] == [0]


def test_every_golden_run_is_known():
    assert {path.name for path in GOLDEN.iterdir() if path.is_dir()} == KNOWN.keys()
