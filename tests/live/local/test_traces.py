"""What a run leaves on its host is noticed, and what somebody else does there meanwhile is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.host.namespaces import UNSHARE
from tests.support.host_pace import bound_s

pytestmark = pytest.mark.cluster


def noticed(whose: str) -> dict[str, list[str]]:
    """What leave.py says in namespaces of its own."""
    done = subprocess.run(
        [*UNSHARE, sys.executable, str(Path(__file__).with_name("leave.py")), whose],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=bound_s(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_each_thing_that_a_run_leaves_is_noticed():
    rule = "-s 10.77.0.11/32 -j DROP"
    seen = {what: [shortened(trace) for trace in left] for what, left in noticed("ours").items()}

    assert seen == {
        "a run's tmpfs": ["mount /run"],
        "a network": [
            *("link br0", "link v-clients", "link v-kafka1", "link v-zk1"),
            *(f"mount /run/netns/{name}" for name in ("clients", "kafka1", "zk1")),
            *("netns clients", "netns kafka1", "netns zk1"),
        ],
        "shared memory": ["mount /dev/shm"],
        "a disk": ["mount /run/kafka-harness/kafka1"],
        "a frozen disk": ["mount /run/kafka-harness/kafka1"],
        "a disk on its way": ["mount /mnt"],
        "a cut": [
            f"rule filter -A HARNESS-0 {rule}",
            "rule filter -A INPUT -j HARNESS-0",
            "rule filter -N HARNESS-0",
        ],
        "a cut of answers": [
            f"rule filter -A HARNESS-1-OUT {rule}",
            "rule filter -A OUTPUT -j HARNESS-1-OUT",
            "rule filter -N HARNESS-1-OUT",
        ],
        "a delay": [
            f"rule mangle -A HARNESS-2 {rule}",
            "rule mangle -A INPUT -j HARNESS-2",
            "rule mangle -N HARNESS-2",
        ],
    }


def shortened(trace: str) -> str:
    """A mount by its place alone."""
    words = trace.split()
    return f"mount {words[2]}" if words[0] == "mount" else trace


def test_what_is_somebodys_is_not_noticed():
    assert noticed("somebodys") == {"mounts": [], "links": [], "a namespace": [], "rules": []}
