"""freeze-disk and fill-disk: a disk that is read-only or full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cluster.nodes import ClusterError
from harness.nemesis.faults.disks import storage
from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import KAFKA1, Nodes, at


def test_a_frozen_disk_has_bitten_when_the_broker_met_it_and_is_gone(nodes: Nodes) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]
    verb.inject(injection)
    folder = str(nodes.data_folder(KAFKA1))

    assert nodes.done == [
        ("mount", "--bind", folder, "/mnt"),
        ("mount", "-o", "remount,bind,ro", "/mnt"),
        ("mount", "--move", "/mnt", folder),
    ]
    assert verb.proof_in_force(injection) is None
    nodes.log.append("java.io.FileNotFoundException: x.tmp (Read-only file system)")
    assert verb.proof_in_force(injection) is None
    nodes.pids["kafka1"] = None
    assert "Read-only file system" in str(verb.proof_in_force(injection))


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


def test_a_disk_that_could_not_be_frozen_keeps_its_own_mount(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    injection, verb = at(nodes), VERBS["freeze-disk"]

    def refuse(*_: object) -> str:
        raise ClusterError("mount failed")

    with monkeypatch.context() as refused:
        refused.setattr(nodes, "in_mounts_of", refuse)
        with pytest.raises(ClusterError, match="mount failed"):
            verb.inject(injection)
    verb.heal(injection)

    assert "umount" not in [step[0] for step in nodes.done]


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
