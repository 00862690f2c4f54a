"""A Docker engine to test with (tests.support.labs.docker_engine)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from harness.cluster.docker import engine
from harness.cluster.ownership import LABEL
from tests.support.labs import docker_engine
from tests.support.labs.docker_engine import Docker, NoEngine
from tests.support.left_behind import assert_nothing_left
from tests.support.needs import lacks


@pytest.fixture(scope="session")
def way() -> Iterator[tuple[str, ...]]:
    """Into the network of an engine. Skips, with the reason, where there is none to be had."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(docker_engine.engine())
        except NoEngine as error:
            lacks("docker", str(error))
        yield found


@pytest.fixture(scope="session")
def docker(way: tuple[str, ...]) -> Docker:
    """That engine with our image. Skips, with the reason, where none can be made."""
    try:
        return Docker(way=way, image=docker_engine.image())
    except NoEngine as error:
        lacks("docker", str(error))


def leftovers() -> list[str]:
    """Whatever bears our label, or belongs to a project of ours, in the engine."""
    client = engine.connect()
    found = [c.name for c in client.containers.list(all=True, filters={"label": LABEL})]
    found += [n.name for n in client.networks.list() if n.name.startswith(LABEL)]
    return found + [v.name for v in client.volumes.list()]


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_in_the_engine(docker: Docker) -> Iterator[None]:
    before = leftovers()
    yield
    assert_nothing_left({*leftovers()} - {*before})
