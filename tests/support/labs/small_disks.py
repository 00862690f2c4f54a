"""A disk with little room, that gets full or read-only: a tmpfs in a mount namespace of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.checkout import ROOT
from tests.support.needs import needs

FULL = 'cat /dev/zero > "$disk/filler" 2>/dev/null; true'
READ_ONLY = 'mount -o remount,ro "$disk"'
STORED = ROOT / "tests" / "golden" / "leader-stopped"


def on_a_disk(disk: Path, spoil: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """A command where `disk` is small, has the stored run `disk/run`, and was spoiled then; what is
    in the run's folder afterwards is told last."""
    script = (
        'disk=$1 stored=$2; shift 2; mount -t tmpfs -o size=8m t "$disk" && '
        f'cp -r "$stored" "$disk/run" && {spoil} && "$@"; code=$?; '
        'find "$disk" -mindepth 2 | sort; exit $code'
    )
    needs("namespaces")
    namespaces = ["unshare", "--user", "--map-root-user", "--mount"]
    return subprocess.run(
        [*namespaces, "sh", "-c", script, "sh", str(disk), str(STORED), *argv],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
