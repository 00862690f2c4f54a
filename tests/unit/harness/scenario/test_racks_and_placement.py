"""Racks, and who places the replicas: what cannot be is refused with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.scenario import ScenarioError
from harness.scenario.file import read_scenario

STREAM = 'title = "t"\n[workload]\nkind = "stream"\n'
BY_FOLLOWER = 'title = "t"\n[workload]\nkind = "write-read"\nread_via = "follower"\n'
RACKS = "[cluster]\nracks = 3\n"
KILL = '[[faults]]\nverb = "kill"\ntarget = "rack"\nat_s = 1\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f'{STREAM}{RACKS}[cluster.server]\n"broker.rack" = "x"',
            "cluster.server.broker.rack puts all brokers into one rack, and cluster.racks into",
        ),
        (
            BY_FOLLOWER + RACKS,
            'workload.read_via = "follower": a follower is found by a rack of its own: remove it',
        ),
        (
            f'{STREAM}[topic]\nplacement = "kafka"\nleader = "kafka1"',
            "topic.leader is 'kafka1', but with topic.placement",
        ),
        (STREAM + KILL, "each broker stands in a rack of its own: set cluster.racks"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)

    with pytest.raises(ScenarioError) as refused:
        read_scenario(str(file))

    assert told in str(refused.value)


def test_with_racks_the_leaders_can_be_hit(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(STREAM + RACKS + KILL)

    assert ["rack"] == [fault.target for fault in read_scenario(str(file)).faults]
