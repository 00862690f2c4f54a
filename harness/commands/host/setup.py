"""Commands that are needed once a machine: `setup`, `image`, `harness-image` and `doctor`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import Kafka, KafkaHome, Unpinned, console
from harness.model.exit_codes import FAILED, VALID
from harness.model.sections.kafka_releases import DEFAULT, default_metadata, release_of
from harness.model.sections.kafka_releases import unpinned as untried
from harness.release import MANIFESTS

if TYPE_CHECKING:
    from harness.setup.host_finding import HostFinding


def doctor() -> None:
    """Say what this host can and cannot do, and the remedy for each.

    kafka-harness doctor | grep -v "  ok  "
    """
    from harness.host.output import print_table
    from harness.setup.doctor import examine
    from harness.setup.host_finding import can_run, render

    findings = with_faults([*examine(), _archive_of_checks()])
    print_table(console, render(findings, apart="\n" if console.is_terminal else "; "))
    raise typer.Exit(VALID if can_run(findings) else FAILED)


def _archive_of_checks() -> HostFinding:
    """Whether the checker's JVM takes the archive that lets it start faster."""
    from analysis.spark.jvm import archive_fits, archive_path
    from harness.setup.doctor import SET_UP
    from harness.setup.host_finding import FASTER, HostFinding

    name = "class archive of checks"
    if archive_fits():
        return HostFinding(name=name, status="ok", detail=str(archive_path()), needed_for=FASTER)
    detail = "none for this Java and these jars of Spark: checks start more slowly"
    return HostFinding(name=name, status="warning", detail=detail, remedy=SET_UP, needed_for=FASTER)


def with_faults(findings: Sequence[HostFinding]) -> list[HostFinding]:
    """The findings, with the names of the faults that need them."""
    from harness.setup.host_finding import FAULTS

    return [
        replace(finding, needed_for=faults_that_need(finding.name) or FAULTS)
        if finding.needed_for == FAULTS
        else finding
        for finding in findings
    ]


def faults_that_need(probe: str) -> str:
    """The verbs that a probe is made for, with the options that ask for it: `cut and cut-answers
    with how = "reset"`."""
    from harness.nemesis.verbs import VERBS

    verbs: dict[str, list[str]] = {}  # by the options that ask for it
    for name, verb in VERBS.items():
        if probe in verb.host:
            verbs.setdefault(verb.host[probe], []).append(name)
    always = verbs.pop("", [])
    return ", ".join(always + [f"{' and '.join(them)} with {o}" for o, them in verbs.items()])


def setup(kafka: Kafka = "", unpinned: Unpinned = False) -> None:
    """Install what runs need beside the harness: system packages, Kafka's jars, class archives.

    Another release than 3.9 is fetched when a run asks for it, or here.

    kafka-harness setup

    kafka-harness setup --kafka 4.4
    """
    from harness.commands.host.fetch_kafka import have
    from harness.model.scenario import ScenarioError
    from harness.run.progress import Screen
    from harness.setup import install

    release = release_of(kafka)
    if not unpinned and (why := untried(release)):
        raise ScenarioError(f"--kafka: {why}")
    install.set_up()
    if kafka:
        have(release, default_metadata(release), Screen(console).say)
    console.print("ready: `kafka-harness doctor` says what this host can do", markup=False)


def image(kafka: Kafka = "", kafka_home: KafkaHome = None) -> None:
    """Make an image of Kafka, and ZooKeeper, for docker and Kubernetes, without a registry.

    kafka-harness image

    kafka-harness image --kafka 4.4
    """
    from harness.distribution.kafka_home import fetch, find_kafka
    from harness.run.progress import Screen
    from harness.setup import kafka_image

    screen, release = Screen(console), release_of(kafka)
    if kafka_home is None and untried(release) is None:
        home = fetch(release, screen.say)
    else:
        home = find_kafka(kafka_home, release)
    name = kafka_image.make(home, screen.say)
    option = "" if home.version == DEFAULT else f" --kafka {home.version}"
    use = f"kafka-harness run SCENARIO{option} --backend docker --set backend.docker.image={name}"
    console.print(use, markup=False)


def harness_image(
    wheel: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="The harness's wheel file."),
    ] = None,
) -> None:
    """Make the harness's own image, for runs inside Kubernetes, without a registry.

    kafka-harness harness-image
    """
    from harness.run.progress import Screen
    from harness.setup import harness_image as image_of_ours

    name = image_of_ours.make(Screen(console).say, wheel)
    console.print(f"minikube image load {name}      # or push it to your registry, then")
    console.print(f"kubectl apply -f {shlex.quote(str(MANIFESTS / 'nightly.yaml'))}", markup=False)
