"""What is done once a machine, as commands: `setup`, `image`, `harness-image` and `doctor`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from analysis.spark.jvm import archive_fits, archive_path
from harness.commands.host.fetch_kafka import have
from harness.distribution.kafka_home import fetch, find_kafka
from harness.host.output import print_table
from harness.model.exit_codes import FAILED, VALID
from harness.model.scenario import ScenarioError
from harness.model.sections.kafka_releases import DEFAULT, default_metadata, release_of, unpinned
from harness.nemesis.verbs import VERBS
from harness.release import MANIFESTS
from harness.run.progress import Screen
from harness.setup import harness_image, install, kafka_image
from harness.setup.doctor import SET_UP, examine
from harness.setup.host_finding import FASTER, FAULTS, HostFinding, can_run, render


def install_missing(kafka: str, console: Console, *, unpinned_too: bool) -> int:
    """Install what a run needs beside the Python packages, and that release; the exit code."""
    release = release_of(kafka)
    if not unpinned_too and (why := unpinned(release)):
        raise ScenarioError(f"--kafka: {why}")
    install.set_up()
    if kafka:
        have(release, default_metadata(release), Screen(console).say)
    console.print("ready: `kafka-harness doctor` says what this host can do", markup=False)
    return VALID


def make_image(kafka: str, kafka_home: Path | None, console: Console) -> int:
    """Make the image of the nodes and say how to use it; the exit code."""
    screen, release = Screen(console), release_of(kafka)
    if kafka_home is None and unpinned(release) is None:
        home = fetch(release, screen.say)
    else:
        home = find_kafka(kafka_home, release)
    name = kafka_image.make(home, screen.say)
    asked = "" if home.version == DEFAULT else f" --kafka {home.version}"
    use = f"kafka-harness run SCENARIO{asked} --backend docker --set backend.docker.image={name}"
    console.print(use, markup=False)
    return VALID


def make_harness_image(wheel: Path | None, console: Console) -> int:
    """Make the harness's own image and say how it gets to a cluster; the exit code."""
    name = harness_image.make(Screen(console).say, wheel)
    console.print(f"minikube image load {name}      # or push it to your registry, then")
    console.print(f"kubectl apply -f {shlex.quote(str(MANIFESTS / 'nightly.yaml'))}", markup=False)
    return VALID


def _archive_of_checks() -> HostFinding:
    """Whether the checker's JVM takes the archive that lets it start faster."""
    name = "class archive of checks"
    if archive_fits():
        return HostFinding(name=name, status="ok", detail=str(archive_path()), needed_for=FASTER)
    detail = "none for this Java and these jars of Spark: checks start more slowly"
    return HostFinding(name=name, status="warning", detail=detail, remedy=SET_UP, needed_for=FASTER)


def show_host(console: Console) -> int:
    """Examine the host and show what is found; the exit code."""
    findings = with_faults([*examine(), _archive_of_checks()])
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
