"""What set-up installs is pinned and hashed, comes from wherever pip is told to look, and is what
pyproject.toml asks for; `make requirements` writes it."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.checkout import ROOT
from harness.cluster.docker.backend import SDK
from harness.cluster.kubernetes.location import CLIENT
from harness.setup.install import REQUIREMENTS

BUILD, PACKAGES = REQUIREMENTS
PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; [^\\]+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.M
)


def pins(text: str) -> dict[str, set[str]]:
    """Name -> its pinned versions: several where they depend on Python's."""
    found: dict[str, set[str]] = {}
    for name, version, _ in PIN.findall(text):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def asked_for() -> dict[str, list[str]]:
    """What each file must have pins of."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = chain.from_iterable(told["project"]["optional-dependencies"].values())
    return {
        BUILD.name: told["build-system"]["requires"],
        PACKAGES.name: [*told["project"]["dependencies"], *extras],
    }


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.name)
def test_what_pyproject_asks_for_is_pinned(file: Path) -> None:
    pinned = pins(file.read_text())

    for requirement in map(Requirement, asked_for()[file.name]):
        versions = pinned.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement.name} is not in {file.name}: make requirements"
        assert all(map(requirement.specifier.contains, versions)), (
            f"{file.name} has {requirement.name} {versions}, pyproject.toml asks for "
            f"{requirement}: make requirements"
        )


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.name)
def test_every_line_is_a_pin_with_hashes(file: Path) -> None:
    """So no address, no option, nothing that pip would fetch unchecked."""
    rest = PIN.sub("", file.read_text()).splitlines()

    assert [] == [line for line in rest if not line.lstrip().startswith("#")]
    assert [] == [line for line in rest if "://" in line]


def test_what_builds_is_what_stays_installed() -> None:
    build, packages = (pins(file.read_text()) for file in REQUIREMENTS)

    assert {} == {
        name: versions
        for name, versions in build.items()
        if packages.get(name, versions) != versions
    }


@pytest.mark.parametrize(("extra", "told"), [("docker", SDK), ("kubernetes", CLIENT)])
def test_what_a_backend_lacks_is_asked_for_as_pyproject_does(extra: str, told: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert [told] == project["optional-dependencies"][extra]
