"""slow-disk and fail-disk: writes to segments that are slow or fail."""

from __future__ import annotations

from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import KAFKA1, Nodes, at

CALLS = "write,pwrite64,fsync,fdatasync"


def test_slow_writes_follow_the_segments_and_keep_their_count(nodes: Nodes) -> None:
    log = nodes.data_folder(KAFKA1) / "t-0" / "00.log"
    log.touch()
    injection, verb = at(nodes, delay_ms=20), VERBS["slow-disk"]
    verb.inject(injection)
    assert f"inject={CALLS}:delay_enter=20000" in nodes.done[0]
    assert nodes.done[0][-2:] == ("-P", str(log))
    assert verb.proof_in_force(injection) is None

    nodes.output = "1 write(9<x>, 5) = 5 (DELAYED) <0.000020>\n"
    assert verb.proof_in_force(injection) is None  # it took no longer than ever
    nodes.output = "1 write(9<x>, 5) = 5 (DELAYED) <0.019926>\n"  # by strace's own clock
    rolled = log.with_name("05.log")
    rolled.touch()
    assert verb.proof_in_force(injection) == (  # one before, one since it was attached anew
        "2 writes of kafka1 to its segments waited 20 ms: they took 20 to 20 ms each"
    )
    assert nodes.done[-2:] == [("leave alone",), nodes.done[-1]]
    assert nodes.done[-1][-1] == str(rolled)
    verb.heal(injection)
    assert "strace is detached" in str(verb.healed(injection))


def test_failed_writes_have_bitten_when_the_broker_is_gone(nodes: Nodes) -> None:
    injection, verb = at(nodes, error="ENOSPC"), VERBS["fail-disk"]
    verb.inject(injection)
    nodes.output = "1 write(9<x>, 5) = -1 ENOSPC (INJECTED)\n"

    assert verb.proof_in_force(injection) is None
    nodes.pids["kafka1"] = None
    assert "1 writes of kafka1 to its segments failed with ENOSPC" in str(
        verb.proof_in_force(injection)
    )
