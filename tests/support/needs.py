"""What a test needs beyond Python, git and make, each by its word in HARNESS_REQUIRE.

Where it is missing the test is skipped and says what is missing; where HARNESS_REQUIRE (words with
commas between) has its word, the test fails.

    actionlint       which set-up makes where there is a Go
    browser          Chromium with its driver
    docker           an engine with our image: tests.support.labs.docker_engine
    java             on the PATH
    kafka            its jars, which set-up fetches
    kubernetes       a cluster, or what its lab needs: tests.support.labs.kubernetes_lab
    kustomize        it or kubectl, on the PATH
    libfaketime
    namespaces       those of a run, with iptables, iproute2, util-linux
    ordinary-user    a Python that an ordinary user may run: tests.support.ordinary_user
    strace
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import NoReturn

import pytest

from harness.cluster.kubernetes import manifests
from harness.cluster.nodes import ClusterError
from harness.distribution import kafka_home
from harness.host import system_packages
from harness.host.machine import HostError
from harness.setup import doctor
from harness.setup.install import ACTIONLINT


def _without_actionlint() -> str | None:
    told = "there is no actionlint: scripts/setup --tests makes it where there is a Go"
    return None if ACTIONLINT.exists() else told


def _without_browser() -> str | None:
    found = doctor.browser()
    return None if found.status == "ok" else f"Chromium is {found.detail}: {found.remedy}"


def _without_java() -> str | None:
    told = "there is no java: " + system_packages.install_command(["java"])
    return None if system_packages.program("java") else told


def _without_kafka() -> str | None:
    try:
        kafka_home.find_kafka()
    except kafka_home.KafkaHomeError as error:
        return str(error)
    return None


def _without_kustomize() -> str | None:
    try:
        manifests.kustomize()
    except ClusterError as error:
        return str(error)
    return None


def _without_libfaketime() -> str | None:
    told = "libfaketime is not installed: " + system_packages.install_command(["libfaketime"])
    return None if system_packages.libfaketime() else told


@cache
def _without_namespaces() -> str | None:
    try:
        system_packages.require(system_packages.PROGRAMS)
    except HostError as error:
        return str(error)
    found = doctor.namespaces()
    return None if found.status == "ok" else found.detail


def _without_strace() -> str | None:
    told = "strace is not installed: " + system_packages.install_command(["strace"])
    return None if system_packages.program("strace") else told


# Word -> why it is missing here; None where a fixture finds that out, and tells `lacks`.
WORDS: dict[str, Callable[[], str | None] | None] = {
    "actionlint": _without_actionlint,
    "browser": _without_browser,
    "docker": None,
    "java": _without_java,
    "kafka": _without_kafka,
    "kubernetes": None,
    "kustomize": _without_kustomize,
    "libfaketime": _without_libfaketime,
    "namespaces": _without_namespaces,
    "ordinary-user": None,
    "strace": _without_strace,
}


def needs(*words: str) -> None:
    """The test that calls this goes no further where one of these is missing."""
    for word in words:
        look = WORDS[word]
        if look and (why := look()):
            lacks(word, why)


def lacks(word: str, why: str) -> NoReturn:
    """The test needs this, and it is missing."""
    required = {*filter(None, os.environ.get("HARNESS_REQUIRE", "").split(","))}
    assert required <= {*WORDS}, f"HARNESS_REQUIRE knows {', '.join(WORDS)}"
    if word in required:
        pytest.fail(f"HARNESS_REQUIRE has {word}: {why}")
    pytest.skip(f"{word}: {why}")
