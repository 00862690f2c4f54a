"""What `make bench-backends` reads from a history, and what it demands of the figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import backends
from bench.backends import Row

S = 1_000_000_000


def test_a_stillness_is_the_longest_stretch_without_acks_that_reaches_into_the_fault():
    acks = [0, 4 * S, 5 * S, 8 * S, 9 * S, 20 * S]

    assert (5 * S, 8 * S) == backends.stillness(acks, 6 * S, 9 * S)
    assert (4 * S, 5 * S) == backends.stillness(acks, 4 * S + 1, 5 * S)
    assert backends.stillness(acks, 21 * S, 22 * S) is None


def test_the_moments_of_a_fault_are_read_from_the_nemesiss_lines(tmp_path: Path):
    lines = [
        {"event": "inject", "type": "invoke", "step": 0, "time_ns": 1, "done_ns": None},
        {"event": "inject", "type": "ok", "step": 0, "time_ns": 3, "done_ns": 2},
        {"event": "heal", "type": "invoke", "step": 0, "time_ns": 4, "done_ns": None},
    ]
    (tmp_path / "history").mkdir()
    file = tmp_path / "history" / "nemesis.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert {0: {"inject-invoke": 1, "inject-ok": 3, "inject-done": 2, "heal-invoke": 4}} == (
        backends.moments(tmp_path)
    )


def test_the_cluster_is_up_when_the_isr_is_first_full(tmp_path: Path):
    assert backends.full_isr_ns(tmp_path) is None
    (tmp_path / "history").mkdir()
    views = [
        ("blind", 1, []),
        ("view", 2, ["kafka1"]),
        ("view", 3, ["a", "b", "c"]),
        ("view", 4, ["a", "b", "c"]),
    ]
    (tmp_path / "history" / "views.jsonl").write_text(
        "".join(json.dumps({"event": e, "time_ns": t, "isr": isr}) + "\n" for e, t, isr in views)
    )

    assert 3 == backends.full_isr_ns(tmp_path)


@pytest.mark.parametrize(
    ("docker_s", "cut_s", "met"),
    [(25.0, 0.5, [True, True]), (25.1, 0.5, [False, True]), (1.0, 0.6, [True, False])],
)
def test_a_demand_is_told_with_what_was_measured(docker_s, cut_s, met):
    rows = {"start": Row(name="start", unit="s"), "stands": Row(name="stands", unit="s")}
    rows["start"].add("local", 9.0, 10.0, 11.0)
    rows["start"].add("docker", docker_s, None)
    rows["stands"].add("docker", 0.1, cut_s)  # the worst one counts

    told = backends.demands(rows, ["local", "docker"])

    assert met == [held for _, held in told]
    assert f"{docker_s / 10:.2f}" in told[0][0]
    assert f"{docker_s / 10:.2f}" == rows["start"].ratio("docker")


def test_what_was_not_measured_is_a_dash_and_no_demand():
    rows = {"start": Row(name="start", unit="s"), "stands": Row(name="stands", unit="s")}

    assert [] == backends.demands(rows, ["local"])
    assert "—" == rows["start"].shown("local") == rows["start"].ratio("local")
