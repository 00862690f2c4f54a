"""What a host cannot do is shown with the faults that need it, which the verbs say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.commands.host.setup import faults_that_need, with_faults
from harness.nemesis.verbs import VERBS
from harness.setup import doctor
from harness.setup.host_finding import FAULTS, LOCAL, HostFinding


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        ("iptables REJECT", 'cut and cut-answers with how = "reject" or "reset"'),
        ("iptables statistic", 'lose, cut-answers with how = "reset"'),
        ("tc netem", "reorder, duplicate, corrupt"),
        ("strace", "slow-disk, fail-disk, lose-power"),
    ],
)
def test_a_probe_is_needed_for_the_faults_that_say_so(probe: str, told: str) -> None:
    assert faults_that_need(probe) == told


def test_a_verb_that_comes_is_named_by_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "slow-clock", replace(VERBS["skew-clock"], name="slow-clock"))
    finding = HostFinding(name="libfaketime", status="ok", detail="x", needed_for=FAULTS)
    other = replace(finding, needed_for=LOCAL)

    named = [each.needed_for for each in with_faults([finding, other])]

    assert named == ["skew-clock, slow-clock", LOCAL]


def test_every_probe_for_faults_has_a_fault_and_every_fault_s_probe_is_there() -> None:
    for_faults = {name for name, probe in doctor._PROBES.items() if probe[-1] == FAULTS}

    assert {probe for verb in VERBS.values() for probe in verb.host} == for_faults
