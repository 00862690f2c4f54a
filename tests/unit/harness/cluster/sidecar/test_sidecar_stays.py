"""sidecar.sh as a container's main process: when it ends, and what it leaves."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from harness.cluster.sidecar import heartbeat
from harness.host.namespaces import UNSHARE
from tests.support.needs import needs


def staying(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    needs("namespaces")
    environment = {**os.environ, "KAFKA_HARNESS_FOLDER": str(folder), "SIDECAR": heartbeat.SCRIPT}
    return subprocess.run(
        [*UNSHARE, "sh", "-c", f"iptables -N HARNESS-3\n{script}\niptables -S"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_stays_until_its_time_is_over_and_undoes_what_is_left(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = staying(tmp_path, 'sh -c "$SIDECAR" sidecar stay 2; echo $?')

    assert 2 <= time.monotonic() - begin
    assert "0\n" in done.stdout
    assert "HARNESS" not in done.stdout.split("0\n")[1]
    assert "kafka-harness: removed chain HARNESS-3" in done.stdout.split("0\n")[0]  # in its log


def test_it_ends_when_it_is_told_to_leave(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = staying(
        tmp_path, 'sh -c "$SIDECAR" sidecar stay 50 & sh -c "$SIDECAR" sidecar leave; wait'
    )

    assert 20 > time.monotonic() - begin
    assert "-N HARNESS" not in done.stdout


def test_it_goes_with_its_pod_at_once_and_lets_rules_stay_as_long_as_that(tmp_path: Path) -> None:
    """As the first process of a namespace it would be spared every signal that it does not trap."""
    call = 'sh -c "$SIDECAR" sidecar stay 50 & sleep 1; kill -TERM $!; wait $!; echo "code $?"'
    done = staying(tmp_path, call)

    assert "code 143" in done.stdout
    assert "HARNESS-3" in done.stdout
