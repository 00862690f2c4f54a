"""Bounds of time in live tests, in units of this host's own: how long it takes to start a cluster.

An idle host of two cores starts two nodes in IDLE_START_S. A bound is given as the seconds that it
is on such a host, and is as many times longer here as a start takes longer: it ends what hangs and
not what is slow. Measured once, when the first bound is asked for: programs that a test starts have
it from HARNESS_SLOWNESS, the parts of `make test` in the file that HARNESS_PACE_FILE names. At most
MOST times: a start can hit a bad moment.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from harness.checkout import ROOT

IDLE_START_S = 1.5
MOST = 5.0
KNOWN, SHARED = "HARNESS_SLOWNESS", "HARNESS_PACE_FILE"


def bound_s(idle_s: float) -> float:
    """What takes at most so long on an idle host, on this one."""
    return idle_s * slowness()


def slowness() -> float:
    """How many times longer a start takes here, from 1 to MOST."""
    known = os.environ.get(KNOWN)
    if known is None:
        shared = Path(os.environ.get(SHARED, os.devnull))
        known = shared.read_text() or str(min(MOST, max(1.0, _start_s() / IDLE_START_S)))
        shared.write_text(known)
        os.environ[KNOWN] = known
    return float(known)


def _start_s() -> float:
    """A cluster of two nodes that starts and ends, as a user has it; a broken one takes for ever,
    and is for its own tests to find."""
    from tests.support.commands import COMMAND, TWO_NODES  # noqa: PLC0415  it asks for bounds here

    begun_s = time.monotonic()
    subprocess.run(
        [*COMMAND, "up", "baseline", *TWO_NODES, "--", "true"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return time.monotonic() - begun_s
