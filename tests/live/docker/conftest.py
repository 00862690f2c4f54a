"""A Docker engine to test with: the one that the environment names, else one of our own.

One of our own needs root and Debian's docker.io, and runs in private namespaces
(scripts/private-dockerd). Without either these tests are skipped, or fail where HARNESS_REQUIRE
names docker.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from harness.checkout import ROOT
from harness.cluster.docker import engine
from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import LABEL
from harness.distribution import kafka_home
from harness.host import system_packages
from harness.setup import kafka_image
from tests.support.labs.docker_engine import Docker

SCRIPT = ROOT / "scripts" / "private-dockerd"


@pytest.fixture(scope="session")
def docker() -> Iterator[Docker]:
    """An engine with our image. Skips, with the reason, where there is none to be had."""
    if "DOCKER_HOST" in os.environ:
        yield Docker(way=way_to(os.environ["DOCKER_HOST"]), image=made_image())
        return
    if not system_packages.own_engine() or system_packages.program("dockerd") is None:
        cannot("no DOCKER_HOST, and a Docker engine of our own needs root and Debian's docker.io")
    with tempfile.TemporaryDirectory(prefix="khd-") as run, pytest.MonkeyPatch.context() as patch:
        data = kafka_home.cache_folder() / "docker"
        begun = subprocess.run(
            [SCRIPT, "start", str(data), run], capture_output=True, text=True, check=False
        )
        if begun.returncode != 0:
            cannot(f"dockerd does not start: {begun.stderr.strip()}")
        try:
            patch.setenv("DOCKER_HOST", f"unix://{run}/docker.sock")
            yield Docker(way=nets_of(begun.stdout.strip()), image=made_image())
        finally:
            subprocess.run([SCRIPT, "stop", run], check=True)


def way_to(host: str) -> tuple[str, ...]:
    """Into the network of an engine that was started by the script; else there is none to enter."""
    pid = Path(host.removeprefix("unix://")).parent / "docker.pid"
    return nets_of(pid.read_text().strip()) if host.startswith("unix:") and pid.exists() else ()


def nets_of(pid: str) -> tuple[str, ...]:
    return ("nsenter", "--net", "--target", pid)


def made_image() -> str:
    """Our image in that engine, made if it is not there."""
    try:
        return kafka_image.make(kafka_home.find_kafka(), print)
    except ClusterError as error:
        cannot(str(error))


def cannot(why: str) -> NoReturn:
    """Skip for this reason, or fail where docker is required."""
    if system_packages.required("docker"):
        pytest.fail(why)
    pytest.skip(why)


def leftovers() -> list[str]:
    """Whatever bears our label, or belongs to a project of ours, in the engine."""
    client = engine.connect()
    found = [c.name for c in client.containers.list(all=True, filters={"label": LABEL})]
    found += [n.name for n in client.networks.list() if n.name.startswith(LABEL)]
    return found + [v.name for v in client.volumes.list()]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> None:
    """On this host an engine's own mounts and links come and go; what is ours is told by labels."""


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_in_the_engine(docker: Docker) -> Iterator[None]:
    before = leftovers()
    yield
    assert set() == {*leftovers()} - {*before}
