"""lose-power and lose-disk: what is cut and what stays, and brokers that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.nodes import ClusterError, Node
from harness.nemesis.faults.disks import power
from harness.nemesis.options import Options
from harness.nemesis.target import Setting
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import KAFKA1, KAFKA2, Nodes, at


def traced(nodes: Nodes, node: Node, *, synced: bool) -> Path:
    log = nodes.data_folder(node) / "t-0" / "00.log"
    log.write_bytes(b"x" * 30)
    sync = f"1 fsync(9<{log}>) = 0\n" if synced else ""
    nodes.sync_trace(node).write_text(
        f'1 write(9<{log}>, ""..., 20) = 20\n{sync}1 write(9<{log}>, ""..., 10) = 10\n'
        f"{nodes.pids[node.name]} +++ killed by SIGKILL +++\n"
    )
    return log


def test_lost_power_kills_all_before_it_cuts_and_leaves_what_was_synced(nodes: Nodes) -> None:
    first = traced(nodes, KAFKA1, synced=True)
    second = traced(nodes, KAFKA2, synced=False)
    injection = at(nodes, KAFKA1, KAFKA2)

    VERBS["lose-power"].inject(injection)

    assert nodes.done == [("SIGKILL", "kafka1"), ("SIGKILL", "kafka2")]
    assert first.stat().st_size == 20
    assert not second.exists()
    evidence = VERBS["lose-power"].proof_in_force(injection)
    assert "of 30 bytes in its segments 10 had never been synced" in str(evidence)
    assert "of 30 bytes in its segments 30 had never been synced" in str(evidence)
    assert nodes.sync_trace(KAFKA1).read_text() == f"synced 20 {first}\n"


def test_a_trace_that_does_not_fit_cuts_nothing_and_says_so(nodes: Nodes) -> None:
    log = traced(nodes, KAFKA1, synced=True)
    log.write_bytes(b"x" * 31)

    with pytest.raises(ClusterError, match="cannot tell what was synced"):
        VERBS["lose-power"].inject(at(nodes))

    assert log.stat().st_size == 31


def test_a_lost_disk_is_empty(nodes: Nodes) -> None:
    log = nodes.data_folder(KAFKA1) / "t-0" / "00.log"
    log.write_bytes(b"x" * 30)
    injection = at(nodes)

    VERBS["lose-disk"].inject(injection)

    assert not log.exists()
    assert "1 files of 30 bytes were removed" in str(VERBS["lose-disk"].proof_in_force(injection))


def test_a_broker_that_meets_its_old_session_is_started_again_until_it_has_another(
    nodes: Nodes,
) -> None:
    injection, verb = at(nodes), VERBS["lose-disk"]
    verb.inject(injection)
    verb.heal(injection)
    nodes.last = "ERROR NodeExists"

    assert verb.healed(injection) is None
    assert nodes.done.count(("start", "kafka1")) == 2
    assert verb.healed(injection) is None  # what is registered is the process that was killed
    nodes.registered = 8
    assert verb.healed(injection) == "process 99 of kafka1 serves"


def test_a_broker_that_the_fault_never_ended_is_back_with_the_registration_it_has(
    nodes: Nodes,
) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]
    verb.inject(injection)
    verb.heal(injection)

    assert verb.healed(injection) == "process 11 of kafka1 serves"


def test_a_broker_that_dies_of_its_disk_after_it_was_healed_is_started_again(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]
    verb.inject(injection)
    verb.heal(injection)
    nodes.pids["kafka1"], nodes.last = None, "Shutdown broker because all log dirs in /x failed"

    assert verb.healed(injection) is None
    assert nodes.done[-1] == ("start", "kafka1")
    assert verb.healed(injection) is None  # its old session still lives
    nodes.registered = 8
    assert verb.healed(injection) == "process 99 of kafka1 serves"


def test_a_broker_that_ends_for_another_reason_ends_the_run(nodes: Nodes) -> None:
    injection = at(nodes)
    VERBS["lose-disk"].inject(injection)
    nodes.last = "OutOfMemoryError"

    with pytest.raises(ClusterError, match="OutOfMemoryError"):
        VERBS["lose-disk"].healed(injection)


def test_sizes_are_those_of_every_file_below(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")

    assert power.sizes(tmp_path) == {str(tmp_path / "a" / "b" / "c"): 3}


@pytest.mark.parametrize(
    ("target", "kept", "why"),
    [
        ("quorum-all", {"controllers": 3}, "no topic would ever be back"),
        ("controller1", {"controllers": 1}, "no topic would ever be back"),
        ("all", {"controllers": 3, "combined": True}, "no topic would ever be back"),
        ("all", {"controllers": 3}, None),
        ("all", {"zookeepers": 3}, None),
        ("quorum-majority", {"controllers": 3}, None),
        ("quorum-majority", {"controllers": 3, "dynamic": True}, 'cluster.voters = "static"'),
        ("quorum-minority", {"controllers": 3, "dynamic": True}, None),
    ],
)
def test_somebody_keeps_the_metadata(target: str, kept: dict[str, int], why: str | None) -> None:
    there = {"brokers": 3, "zookeepers": 0, "partitions": 1, "replicas": 3}
    setting = Setting(**{**there, **kept}, workers={}, transactions=False)  # type: ignore[arg-type]
    at = target_of(target, setting)
    assert at is not None

    said = VERBS["lose-disk"].impossible(setting, at, Options())

    assert (why is None and said is None) or str(why) in str(said)
