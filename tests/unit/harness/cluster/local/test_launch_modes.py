"""How local nodes are started for faults that need strace or libfaketime."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.capabilities import CannotPrepare
from harness.cluster.local import launch_modes
from harness.host import system_packages


@pytest.mark.parametrize("way", sorted(launch_modes.TRACED))
def test_without_strace_it_is_refused_with_the_command_that_installs_it(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(system_packages, "SYSTEM_FOLDERS", ())

    with pytest.raises(CannotPrepare, match="strace, which is not installed") as refused:
        launch_modes.check(frozenset({way}))
    assert refused.value.way == way


def test_without_libfaketime_it_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system_packages, "FAKETIME", ())

    with pytest.raises(CannotPrepare, match="libfaketime, which is not installed") as refused:
        launch_modes.check(frozenset({launch_modes.FAKE_TIME}))
    assert refused.value.way == launch_modes.FAKE_TIME


@pytest.mark.jvm
def test_only_tests_must_have_what_only_some_faults_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "FAKETIME", ())
    monkeypatch.setattr(
        system_packages, "program", lambda name: None if name == "strace" else Path("/x")
    )

    assert {"strace", "libfaketime"} <= {*system_packages.missing_for_tests()}
    assert {"strace", "libfaketime"}.isdisjoint(system_packages.missing())


def test_a_node_is_told_its_clock_only_where_clocks_are_faked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system_packages, "libfaketime", lambda: Path("/l.so"))

    assert launch_modes.environment(frozenset(), Path("/c")) == {}
    told = launch_modes.environment(frozenset({launch_modes.FAKE_TIME}), Path("/c"))
    assert (told["LD_PRELOAD"], told["FAKETIME_TIMESTAMP_FILE"]) == ("/l.so", "/c")
    assert told["FAKETIME_FORCE_MONOTONIC_FIX"] == "0"
