"""A harness that is killed in the middle of a cut, of a pause and of a kill leaves a cluster that
mends and resumes by itself, starts again by `heal`, and goes when it is told to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from harness.cluster.docker import compose, engine
from harness.cluster.sidecar import heartbeat
from harness.nemesis import undo_record
from harness.waiting import wait_until
from tests.support.commands import below, newest_run, with_faults
from tests.support.host_pace import bound_s
from tests.support.labs.docker_engine import Docker
from tests.support.left_behind import assert_nothing_left

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]
PAUSED = ("zk2", "kafka2")


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a killed harness has left: its run, its project, and the rules that stood before."""

    run: Path
    project: engine.Engine
    before: dict[str, str]

    def rules(self, node: str) -> str:
        return self.project.run(compose.holder_of(node), ["iptables", "-S"])

    def node(self, name: str) -> str:
        """Pid and state of a node's JVM, as its sidecar sees it."""
        return self.project.run(compose.holder_of(name), heartbeat.command("node")).strip()


@pytest.fixture(scope="module")
def left(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    folder = tmp_path_factory.mktemp("orphan")
    argv = docker.argv(str(Path(__file__).with_name("orphan.toml")), folder, "--no-check")
    with with_faults(argv, folder, 4, {}, limit_s=300) as process:
        run = newest_run(folder)
        project = engine.Engine(engine.connect(), project_of(run))
        found = Left(run=run, project=project, before={})
        try:
            try:
                found.before.update(what_stands(found))
            finally:
                kill_harness(process)
            yield found
        finally:
            project.remove()


def what_stands(left: Left) -> dict[str, str]:
    """Rules and processes of the nodes that a fault has hold of."""
    rules = {node: left.rules(node) for node in ("kafka1", "kafka2", "zk2")}
    return rules | {f"{node} process": left.node(node) for node in PAUSED}


def kill_harness(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the harness alone; the command that started it ends by itself."""
    for each in below(process.pid, "harness.run"):
        with suppress(psutil.NoSuchProcess):  # one that ended with the one before it
            each.kill()
    process.wait(60)


def project_of(run: Path) -> str:
    return str(json.loads((run / "run.json").read_text())["cluster"]["project"])


def test_the_faults_were_in_force(left):
    assert "-A INPUT -j HARNESS-" in left.before["kafka1"]
    assert "-A OUTPUT -j HARNESS-" in left.before["kafka1"]
    assert all(left.before[f"{node} process"].endswith("T") for node in PAUSED)
    assert left.project.pid("kafka3") is None
    assert len(undo_record.outstanding(left.run)) == 4


def test_links_mend_and_what_was_paused_goes_on_without_a_harness(left):
    def undone() -> bool:
        rules = left.rules("kafka1") + left.rules("kafka2")
        stopped = [node for node in PAUSED if left.node(node).endswith("T")]
        return "HARNESS" not in rules and not stopped

    wait_until(
        undone,
        timeout_s=bound_s(2 * heartbeat.LIMIT_S + 20),
        what="the sidecars to act",
        every_s=0.5,
    )

    for node in PAUSED:
        said = left.project.log(compose.holder_of(node)).decode()
        assert "resumed process" in said
        assert "no keepalive from the harness" in said
        assert left.node(node).split()[0] == left.before[f"{node} process"].split()[0]


def test_heal_starts_what_was_killed(left, docker):
    healed = docker.harness("heal", str(left.run))

    assert healed.code == 0, healed.out + healed.err
    assert "kafka3: started" in healed.out
    assert left.project.pid("kafka3") is not None
    assert not undo_record.outstanding(left.run)


def test_heal_finds_a_cluster_by_its_name_alone_and_removes_it_when_told(left, docker):
    name = left.project.project
    again = docker.harness("heal", "--backend", "docker", "--cluster", name, "--down")

    assert again.code == 0, again.out + again.err
    assert "no fault is in force" in again.out
    assert_nothing_left(left.project.services())


def test_nothing_is_done_to_a_project_that_is_not_ours(docker):
    client = engine.connect()
    labels = {engine.PROJECT: "somebodys", engine.SERVICE: "net-kafka1"}
    container = client.containers.create(docker.image, ["true"], labels=labels)
    try:
        refused = docker.harness("heal", "--backend", "docker", "--cluster", "somebodys", "--down")
        container.reload()
    finally:
        container.remove(force=True)

    assert refused.code == 255
    assert "the harness did not make it" in refused.err
    assert container.status == "created"


def test_a_project_that_is_gone_has_nothing_to_heal(docker):
    assert (
        "no container of the project"
        in docker.harness("heal", "--backend", "docker", "--cluster", "kafka-harness-gone").out
    )
