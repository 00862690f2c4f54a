"""The faults of disks, power and clocks: the files are real, the nodes are not."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.capabilities import NodeState
from harness.cluster.local import launch_modes
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError, Node
from harness.host import system_packages
from harness.nemesis.faults import clock
from harness.nemesis.faults.disks import flip_bit, power, storage
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS

KAFKA1, KAFKA2 = local_nodes(1, 2)[1:]
CALLS = "write,pwrite64,fsync,fdatasync"


@dataclass
class Nodes:
    """Processes that end when they are told to, disks that are folders, logs that are lists."""

    folder: Path
    pids: dict[str, int | None] = field(default_factory=lambda: {"kafka1": 11, "kafka2": 12})
    log: list[str] = field(default_factory=list)
    last: str | None = None
    done: list[tuple[str, ...]] = field(default_factory=list)
    offset_s: float = 0
    output: str = ""
    registered: int | None = 7

    def registration(self, node: Node) -> int | None:
        return self.registered

    def data_folder(self, node: Node) -> Path:
        return self.folder / node.name

    def sync_trace(self, node: Node) -> Path:
        return self.folder / f"{node.name}.trace"

    def wipe(self, node: Node) -> None:
        for file in self.data_folder(node).rglob("*.log"):
            file.unlink()

    def in_mounts_of(self, node: Node, argv: Any) -> str:
        self.done.append(tuple(argv))
        return ""

    def said(self, node: Node, pattern: str) -> str | None:
        return next((line for line in reversed(self.log) if re.search(pattern, line)), None)

    def state(self, node: Node) -> NodeState:
        return NodeState(pid=self.pids[node.name], stopped=False)

    def signal(self, node: Node, number: signal.Signals) -> None:
        if number == signal.SIGQUIT:
            self.log.append(
                f"{datetime.now() + timedelta(seconds=self.offset_s):%Y-%m-%d %H:%M:%S}"  # noqa: DTZ005
            )
            return
        self.done.append((number.name, node.name))
        self.pids[node.name] = None

    def start_node(self, node: Node) -> None:
        self.done.append(("start", node.name))
        self.pids[node.name], self.last = 99, None

    def exited_early(self, node: Node) -> str | None:
        return self.last

    def set_clock(self, node: Node, offset_s: float) -> None:
        self.offset_s = offset_s

    def tamper(self, node: Node, options: Any) -> None:
        self.done.append(tuple(options))

    def tampered(self, node: Node) -> str:
        return self.output

    def leave_alone(self, node: Node) -> None:
        self.done.append(("leave alone",))

    def is_tampered(self, node: Node) -> bool:
        return ("leave alone",) not in self.done


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    for name in ("kafka1", "kafka2"):
        (tmp_path / name / "t-0").mkdir(parents=True)
    return Nodes(folder=tmp_path)


def at(nodes: Nodes, *hit: Node, **options: Any) -> Injection:
    return Injection(
        fault=3,
        nodes=hit or (KAFKA1,),
        roles=None,
        cluster=nodes,
        view=nodes,  # type: ignore[arg-type]
        options=options,
        seed=1,
    )


# --- power and disks that are lost


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
    evidence = VERBS["lose-power"].bit(injection)
    assert "of 30 bytes in its segments 10 had never been synced" in str(evidence)
    assert "of 30 bytes in its segments 30 had never been synced" in str(evidence)
    assert nodes.sync_trace(KAFKA1).read_text() == f"synced 20 {first}\n"


def test_a_trace_that_does_not_fit_cuts_nothing_and_says_so(nodes: Nodes) -> None:
    log = traced(nodes, KAFKA1, synced=True)
    log.write_bytes(b"x" * 31)

    with pytest.raises(ClusterError, match="what was synced is not known"):
        VERBS["lose-power"].inject(at(nodes))

    assert log.stat().st_size == 31


def test_a_lost_disk_is_empty(nodes: Nodes) -> None:
    log = nodes.data_folder(KAFKA1) / "t-0" / "00.log"
    log.write_bytes(b"x" * 30)
    injection = at(nodes)

    VERBS["lose-disk"].inject(injection)

    assert not log.exists()
    assert "1 files of 30 bytes were removed" in str(VERBS["lose-disk"].bit(injection))


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


# --- read-only and full


def test_a_frozen_disk_has_bitten_when_the_broker_met_it_and_is_gone(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]
    verb.inject(injection)
    folder = str(nodes.data_folder(KAFKA1))

    assert nodes.done == [
        ("mount", "--bind", folder, folder),
        ("mount", "-o", "remount,bind,ro", folder),
    ]
    assert verb.bit(injection) is None
    nodes.log.append("java.io.FileNotFoundException: x.tmp (Read-only file system)")
    assert verb.bit(injection) is None
    nodes.pids["kafka1"] = None
    assert "Read-only file system" in str(verb.bit(injection))


def test_thawing_undoes_our_mount_where_the_process_lives_and_starts_it_where_it_does_not(
    nodes: Nodes,
) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]
    verb.inject(injection)
    verb.heal(injection)
    assert nodes.done[-1][0] == "umount"

    nodes.pids["kafka1"] = None
    nodes.done.clear()
    verb.heal(injection)
    assert nodes.done == [("start", "kafka1")]


def test_the_ballast_takes_what_is_left_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 pages are said to be free, but somebody takes 3 of them meanwhile."""
    taken = 0

    def allocate(_: int, offset: int, length: int) -> None:
        nonlocal taken
        if offset + length > 7 * storage.PAGE:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = offset + length

    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=10, f_frsize=4096))
    monkeypatch.setattr(os, "posix_fallocate", allocate)

    assert storage.fill(tmp_path / "ballast") == taken == 7 * storage.PAGE


def test_only_a_disk_of_its_own_is_filled(nodes: Nodes) -> None:
    with pytest.raises(ClusterError, match="no disk of its own"):
        VERBS["fill-disk"].inject(at(nodes))


# --- writes


def test_slow_writes_follow_the_segments_and_keep_their_count(nodes: Nodes) -> None:
    log = nodes.data_folder(KAFKA1) / "t-0" / "00.log"
    log.touch()
    injection, verb = at(nodes, delay_ms=20), VERBS["slow-disk"]
    verb.inject(injection)
    assert f"inject={CALLS}:delay_enter=20000" in nodes.done[0]
    assert nodes.done[0][-2:] == ("-P", str(log))
    assert verb.bit(injection) is None

    nodes.output = "1 write(9<x>, 5) = 5 (DELAYED) <0.000020>\n"
    assert verb.bit(injection) is None  # it took no longer than ever
    nodes.output = "1 write(9<x>, 5) = 5 (DELAYED) <0.019926>\n"  # by strace's own clock
    rolled = log.with_name("05.log")
    rolled.touch()
    assert verb.bit(injection) == (  # one before, one since it was attached anew
        "2 writes of kafka1 to its segments waited 20 ms: they took 20 to 20 ms each"
    )
    assert nodes.done[-2:] == [("leave alone",), nodes.done[-1]]
    assert nodes.done[-1][-1] == str(rolled)
    verb.heal(injection)
    assert "nothing changes" in str(verb.healed(injection))


def test_failed_writes_have_bitten_when_the_broker_is_gone(nodes: Nodes) -> None:
    injection, verb = at(nodes, error="ENOSPC"), VERBS["fail-disk"]
    verb.inject(injection)
    nodes.output = "1 write(9<x>, 5) = -1 ENOSPC (INJECTED)\n"

    assert verb.bit(injection) is None
    nodes.pids["kafka1"] = None
    assert "1 writes of kafka1 to its segments failed with ENOSPC" in str(verb.bit(injection))


# --- bits


def batch(records: bytes) -> bytes:
    return bytes(8) + (49 + len(records)).to_bytes(4) + bytes(49) + records


def test_a_bit_is_flipped_in_the_records_of_a_closed_segment_and_restored(nodes: Nodes) -> None:
    folder = nodes.data_folder(KAFKA1) / "t-0"
    closed = folder / "00.log"
    whole = batch(b"a" * 30) + batch(b"b" * 40)
    injection, verb = at(nodes), VERBS["flip-bit"]
    closed.write_bytes(whole)
    verb.inject(injection)
    assert verb.bit(injection) is None  # it is the active one
    assert closed.read_bytes() == whole
    (folder / "09.log").touch()

    assert verb.bit(injection) is None
    assert " was 0x6" in str(verb.bit(injection))
    differ = [
        i for i, (old, new) in enumerate(zip(whole, closed.read_bytes(), strict=True)) if old != new
    ]
    assert len(differ) == 1
    verb.heal(injection)
    assert closed.read_bytes() == whole
    assert "again" in str(verb.healed(injection))


def test_only_records_of_whole_batches_are_chosen() -> None:
    segment = batch(b"a" * 5) + batch(b"") + batch(b"b" * 5)[:-1]

    assert list(flip_bit.batches(segment)) == [(0, 66)]
    assert {flip_bit.pick(segment, Random(i)) for i in range(40)} == {61, 62, 63, 64, 65}


# --- clocks


def test_a_skewed_clock_is_seen_in_a_thread_dump_and_so_is_its_return(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "ASK_EVERY_S", 1e9)
    injection, verb = at(nodes, offset_s=-600), VERBS["skew-clock"]
    nodes.signal(KAFKA1, signal.SIGQUIT)  # a dump from before
    verb.inject(injection)

    assert verb.bit(injection) is None  # it is asked now
    assert verb.bit(injection) in {
        f"the clock of kafka1 is {s} s ahead by its own thread dump" for s in (-599, -600, -601)
    }
    verb.heal(injection)
    assert verb.healed(injection) is None
    nodes.signal(KAFKA1, signal.SIGQUIT)
    assert "is right again" in str(verb.healed(injection))


# --- options and ways


@pytest.mark.parametrize(
    ("verb", "options", "problem"),
    [
        ("skew-clock", {}, "offset_s is missing"),
        ("skew-clock", {"offset_s": 2}, "at least 5"),
        ("skew-clock", {"offset_s": "9"}, "at least 5"),
        ("skew-clock", {"offset_s": 9, "by": 1}, "'by' is unknown"),
        ("slow-disk", {"delay_ms": 0}, "delay_ms is 0"),
        ("slow-disk", {"delay": 1}, "this verb takes delay_ms"),
        ("fail-disk", {"error": "EPIPE"}, "one of EIO, ENOSPC, EROFS"),
        ("lose-power", {"x": 1}, "takes none"),
    ],
)
def test_an_option_that_cannot_be_is_told(verb: str, options: Any, problem: str) -> None:
    assert any(problem in told for told in VERBS[verb].problems(options))


def test_options_that_can_be_are_not_told() -> None:
    assert not VERBS["skew-clock"].problems({"offset_s": -60.5})
    assert not VERBS["slow-disk"].problems({"delay_ms": 2.5})
    assert not VERBS["fail-disk"].problems({"error": "EROFS"})


def test_two_tracers_at_one_process_are_refused_with_the_remedy() -> None:
    with pytest.raises(ClusterError, match="scenario of its own"):
        launch_modes.check(frozenset({launch_modes.SYNC_TRACE, launch_modes.TAMPERING}))


@pytest.mark.parametrize("way", [launch_modes.SYNC_TRACE, launch_modes.TAMPERING])
def test_without_strace_it_is_refused_with_the_command_that_installs_it(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(system_packages, "SYSTEM_FOLDERS", ())

    with pytest.raises(ClusterError, match="strace, which is not installed"):
        launch_modes.check(frozenset({way}))


def test_without_libfaketime_it_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system_packages, "FAKETIME", ())

    with pytest.raises(ClusterError, match="libfaketime, which is not installed"):
        launch_modes.check(frozenset({launch_modes.FAKE_TIME}))


def test_only_tests_must_have_what_only_some_faults_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "FAKETIME", ())
    monkeypatch.setattr(system_packages, "find_java", lambda: None)
    monkeypatch.setattr(
        system_packages, "program", lambda name: None if name == "strace" else Path("/x")
    )

    assert {"strace", "libfaketime"} <= set(system_packages.missing(tests=True))
    assert {"strace", "libfaketime"}.isdisjoint(system_packages.missing())


def test_a_node_is_told_its_clock_only_where_clocks_are_faked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system_packages, "libfaketime", lambda: Path("/l.so"))

    assert launch_modes.environment(frozenset(), Path("/c")) == {}
    told = launch_modes.environment(frozenset({launch_modes.FAKE_TIME}), Path("/c"))
    assert (told["LD_PRELOAD"], told["FAKETIME_TIMESTAMP_FILE"]) == ("/l.so", "/c")
    assert told["FAKETIME_FORCE_MONOTONIC_FIX"] == "0"


def test_sizes_are_those_of_every_file_below(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")

    assert power.sizes(tmp_path) == {str(tmp_path / "a" / "b" / "c"): 3}
