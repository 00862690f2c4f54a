"""A real leader is cut from its followers, killed, and comes back: what truncation takes from it
was kept before."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    made = carried_out("evidence.toml", tmp_path_factory.mktemp("evidence"))
    assert_valid(made)
    return made


@pytest.fixture(scope="module")
def kept(run: Ran) -> Rows:
    assert run.folder is not None
    found: Rows = pq.read_table(run.folder / "history" / "kept.parquet").to_pylist()
    return found


@pytest.fixture(scope="module")
def kill(run: Ran) -> dict[str, Any]:
    """The fault that ended the leader; the one before cut it from its followers."""
    _, fault = faults_of(run)
    return fault


@pytest.fixture(scope="module")
def killed(kill: dict[str, Any]) -> str:
    return str(kill["nodes"][0])


@pytest.fixture(scope="module")
def election(kept: Rows, kill: dict[str, Any]) -> dict[str, Any]:
    """The first one after the kill; on a starved host there may be others before and after it."""
    later = [row for row in of(kept, "led") if row["logged_ms"] > kill["invoke_ns"] / 1e6]
    return min(later, key=lambda row: int(row["epoch"]))


@pytest.fixture(scope="module")
def truncation(kept: Rows, kill: dict[str, Any], killed: str) -> dict[str, Any]:
    """The killed leader's first one once it was started again."""
    its = of(kept, "truncated", broker=killed)
    later = [row for row in its if row["logged_ms"] > kill["heal_invoke_ns"] / 1e6]
    return min(later, key=lambda row: int(row["logged_ms"]))


@pytest.fixture(scope="module")
def lost(run: Ran, kill: dict[str, Any]) -> Rows:
    """The sends acknowledged by the leader that was killed, which the final read does not have."""
    assert run.folder is not None
    rows = pq.read_table(run.folder / "history" / "operations").to_pylist()
    there = {row["value"] for row in rows if row["f"] == "final-read"}
    return [
        row
        for row in rows
        if (row["f"], row["type"]) == ("send", "ok")
        and row["end_ns"] < kill["ok_ns"]
        and row["value"] not in there
    ]


def of(kept: Rows, event: str, **known: Any) -> Rows:
    return [
        row
        for row in kept
        if row["event"] == event and all(row[name] == value for name, value in known.items())
    ]


def test_acks_1_loses_what_no_follower_had_when_the_leader_was_killed(run):
    lost = run.report["anomalies"]["lost"]

    assert lost["forbidden"] is False
    assert lost["demand_met"] is True
    assert lost["split"]["never_delivered"] + lost["split"]["delivered_before"] == lost["count"]


def test_the_leader_is_placed_away_from_the_controller(run):
    first = pq.read_table(run.folder / "history" / "views.parquet").to_pylist()[0]

    assert first["leader"] not in (None, first["controller"])


def test_the_killed_leader_had_every_lost_record_where_it_was_acknowledged(
    kept, killed, lost, election
):
    had = {
        (row["value"], row["offset"])
        for row in of(kept, "kept-record", broker=killed, moment="before-return")
        if row["epoch"] < election["epoch"]
    }

    assert lost
    assert {(row["value"], row["offset"]) for row in lost} <= had


def test_it_truncated_where_the_new_leader_had_begun(truncation, killed, lost, election):
    assert truncation["offset"] == election["offset"] == min(row["offset"] for row in lost)
    assert truncation["logged_ms"] > election["logged_ms"]
    assert "due to leader epoch and offset" in truncation["text"]
    assert election["broker"] != killed


def test_the_times_of_the_brokers_logs_are_those_of_the_run(kill, election, truncation):
    assert election["logged_ms"] < kill["heal_ok_ns"] / 1e6
    assert truncation["logged_ms"] < kill["heal_ok_ns"] / 1e6


def test_at_the_end_nobody_has_it_and_all_logs_are_alike(kept, lost, election):
    tails = of(kept, "kept-tail", moment="end")
    epochs = {
        tail["broker"]: [
            (row["epoch"], row["offset"])
            for row in of(kept, "kept-epoch", moment="end", broker=tail["broker"])
        ]
        for tail in tails
    }

    assert {row["value"] for row in lost}.isdisjoint(
        row["value"] for row in of(kept, "kept-record", moment="end")
    )
    assert {tail["broker"] for tail in tails} == {"kafka1", "kafka2", "kafka3"}
    assert len({tail["log_end"] for tail in tails}) == 1
    assert len(set(map(tuple, epochs.values()))) == 1
    assert (election["epoch"], min(row["offset"] for row in lost)) in epochs[election["broker"]]
    assert of(kept, "not-kept") == []
