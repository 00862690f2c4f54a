"""kafka-harness doctor: what this host can do, and which faults need what it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from harness.host.output import print_table
from harness.model.exit_codes import FAILED, VALID
from harness.nemesis.verbs import VERBS
from harness.setup.doctor import examine
from harness.setup.host_finding import FAULTS, HostFinding, can_run, render


def show_host(console: Console) -> int:
    """Examine the host and show what is found; the exit code."""
    findings = with_faults(examine())
    print_table(console, render(findings, apart="\n" if console.is_terminal else "; "))
    return VALID if can_run(findings) else FAILED


def with_faults(findings: Sequence[HostFinding]) -> list[HostFinding]:
    """The findings; where only faults need a thing, with the names of these faults."""
    return [
        replace(each, needed_for=faults_that_need(each.name) or FAULTS)
        if each.needed_for == FAULTS
        else each
        for each in findings
    ]


def faults_that_need(probe: str) -> str:
    """The verbs that a probe is made for, with the options that ask for it: `cut and cut-answers
    with how = "reset"`."""
    verbs: dict[str, list[str]] = {}  # by the options that ask for it
    for name, verb in VERBS.items():
        if probe in verb.host:
            verbs.setdefault(verb.host[probe], []).append(name)
    always = verbs.pop("", [])
    return ", ".join(always + [f"{' and '.join(them)} with {o}" for o, them in verbs.items()])
