"""A run whose output nobody reads ends as it would have, and leaves nothing in /tmp."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.checkout import ROOT
from tests.support.commands import COMMAND
from tests.support.host_pace import bound_s

pytestmark = pytest.mark.cluster

# /tmp is empty and private; the results are elsewhere.
PRIVATE = """
mount --bind "$1" /mnt && mount -t tmpfs t /tmp && cd /mnt || exit 99
shift
"$@" | head -n 1
echo "code ${PIPESTATUS[0]}"
find /tmp -mindepth 1
"""
KILLED = ("workload.rounds=500", "faults.0.times=1", "faults.0.after_rounds=100")


@pytest.mark.skipif(str(ROOT).startswith("/tmp"), reason="the checkout itself is in /tmp")
def test_a_run_goes_on_without_its_reader_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    """Brokers that are killed leave the libraries that they have unpacked."""
    settings = [f"--set={each}" for each in (*KILLED, "workload.producer.compression.type=lz4")]
    argv = [*COMMAND, "run", "study-1", "--seed", "7", "--results", "/mnt", *settings]
    namespaces = ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run(
        [*namespaces, "bash", "-c", PRIVATE, "bash", str(tmp_path), *argv],
        capture_output=True,
        text=True,
        timeout=bound_s(280),
        check=False,
        stdin=subprocess.DEVNULL,
    )

    (run,) = (tmp_path / "study-1").glob("2*")
    report = json.loads((run / "report.json").read_text())
    said = done.stdout.splitlines()
    assert "seed 7" in said[0]
    assert [f"code {report['exit_code']}"] == said[1:]
    assert "complete" == json.loads((run / "run.json").read_text())["state"]
    assert "" == done.stderr
