"""A Kafka in pods that is not ours: hit where the command line allows it, and left as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.waiting import wait_until
from tests.support.commands import (
    COMMAND,
    Ran,
    assert_proved,
    faults_of,
    kill_tree,
    newest,
    ran,
    with_faults,
)
from tests.support.host_pace import bound_s
from tests.support.labs.foreign_kafka import NAMESPACE, Foreign, deploy, hand_image
from tests.support.labs.kubernetes_lab import Kubernetes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]
HERE = Path(__file__).parent
ALLOW = ("--allow", NAMESPACE)
CONTROLLERS = {"controller101", "controller102", "controller103"}


@pytest.fixture(scope="module")
def foreign(cluster: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    folder = tmp_path_factory.mktemp("somebodys")
    yield deploy(cluster, hand_image(cluster, folder), folder)
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def command(foreign: Foreign, scenario: str, folder: Path, *more: str) -> list[str]:
    return [
        *COMMAND,
        "run",
        str(HERE / scenario),
        "--backend",
        "kubernetes",
        "--seed",
        "7",
        *foreign.sets(),
        *more,
        "--results",
        str(folder),
    ]


def carried_out(foreign: Foreign, argv: list[str], folder: Path) -> Ran:
    return ran(argv, folder, limit_s=900, environment=foreign.environment)


def heal(foreign: Foreign, folder: Path, *arguments: str) -> Ran:
    return carried_out(foreign, [*COMMAND, "heal", *arguments], folder)


def topics(foreign: Foreign) -> list[str]:
    """The topics there, as a broker names them."""
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    ends = ",".join(f"{foreign.host}:{foreign.ports[f'kafka-{i}']}" for i in (1, 2, 3))
    client = AdminClient({"bootstrap.servers": ends})
    return list(client.list_topics(timeout=bound_s(30)).topics)


# The guard


def test_faults_are_refused_without_leave(foreign: Foreign, tmp_path: Path) -> None:
    done = carried_out(foreign, command(foreign, "attached.toml", tmp_path), tmp_path)

    assert 255 == done.code
    assert f"--allow {NAMESPACE}" in done.out
    assert [] == [
        name for name, pod in foreign.pods().items() if "ephemeralContainers" in pod["spec"]
    ]


def test_heal_leaves_a_namespace_alone_in_which_nothing_is_ours(
    foreign: Foreign, tmp_path: Path
) -> None:
    done = heal(foreign, tmp_path, "--backend", "kubernetes", "--cluster", NAMESPACE, "--down")

    assert 255 == done.code
    assert "the harness did not make it" in done.err


# One run with every fault


@pytest.fixture(scope="module")
def run(foreign: Foreign, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("attached")
    return carried_out(foreign, command(foreign, "attached.toml", folder, *ALLOW), folder)


PROOFS = (
    ("cut", "packets of clients", "is gone from"),
    ("pause", "is stopped", "runs and serves"),
    ("cut-answers", "answers of", "no rule left"),
    ("delete-pod", "is gone", "serves"),
    ("cut", "packets of kafka2", "set again 1 times"),
    ("delete-pod-now", "is gone", "serves"),
)


@pytest.mark.parametrize(
    ("number", "verb", "bit", "healed"), [(i, *proof) for i, proof in enumerate(PROOFS)]
)
def test_a_fault_bites_and_is_healed(
    run: Ran, number: int, verb: str, bit: str, healed: str
) -> None:
    assert_proved(run, number, verb, bit, healed)


def test_a_cut_names_everybody_it_parts(run: Ran) -> None:
    """Followers and controllers drop the leader's packets in their own pods."""
    said = faults_of(run)[0]["evidence"]

    (leader,) = faults_of(run)[0]["nodes"]
    for name in {"kafka1", "kafka2", "kafka3", *CONTROLLERS} - {leader}:
        assert f"packets of {name}" in said
        assert f"{name} dropped" in said


def test_whoever_led_the_quorum_is_hit(run: Ran) -> None:
    """As the brokers told: nobody but they may ask somebody's controllers."""
    for number in (1, 3):
        fault = faults_of(run)[number]
        (hit,) = fault["nodes"]
        assert hit in CONTROLLERS
        assert json.loads(fault["before"])["controller"] == hit


def test_a_run_with_every_fault_is_valid(run: Ran) -> None:
    assert "valid" == run.report["verdict"], run.report["reasons"]


def test_a_deleted_pod_goes_when_its_node_has_ended(run: Ran) -> None:
    """What we have put into it does not keep it until the grace period is over (30 s)."""
    fault = faults_of(run)[3]

    assert 28 > (fault["heal_ok_ns"] - fault["invoke_ns"]) / 1e9


def test_nothing_of_ours_is_left_at_work(run: Ran, foreign: Foreign) -> None:
    made = run.record()["cluster"]["topic"]

    assert [] == foreign.ephemeral("running")
    assert 9 <= len(foreign.ephemeral("terminated"))
    assert made not in topics(foreign)
    assert 6 == len(foreign.pods())


# A harness that is killed


class Killed:
    """A run whose harness was killed, every process of it, while a cut and a pause were in
    force."""

    def __init__(self, foreign: Foreign, folder: Path) -> None:
        self.foreign, self.results = foreign, folder
        argv = command(foreign, "attached-killed.toml", folder, *ALLOW)
        with with_faults(argv, folder, 2, foreign.environment, limit_s=240) as process:
            self.paused = foreign.processes("kafka-3")
            self.rules = self.inside("kafka-1", "iptables -S")
            kill_tree(process)

    @staticmethod
    def await_true(condition: Callable[[], bool], what: str, limit_s: float = 240) -> None:
        wait_until(condition, timeout_s=bound_s(limit_s), what=what, every_s=0.5)

    @property
    def folder(self) -> Path:
        folder = newest(self.results)
        assert folder is not None
        return folder

    def inside(self, pod: str, script: str) -> str:
        """By the container that the killed run has put there for links."""
        found = self.foreign.ephemeral("running")
        (name,) = (
            each.split("/")[1] for each in found if each.startswith(pod) and each.endswith("links")
        )
        return self.foreign.kubectl("exec", pod, "-c", name, "--", "sh", "-c", script)


@pytest.fixture(scope="module")
def killed(foreign: Foreign, run: Ran, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    assert run.folder is not None  # one after the other
    return Killed(foreign, tmp_path_factory.mktemp("killed"))


def test_links_are_mended_and_a_paused_broker_resumed_without_the_harness(killed: Killed) -> None:
    assert "HARNESS" in killed.rules
    assert "(java) T" in killed.paused

    killed.await_true(lambda: "HARNESS" not in killed.inside("kafka-1", "iptables -S"), "mending")
    killed.await_true(lambda: "(java) S" in killed.foreign.processes("kafka-3"), "kafka3 to run")
    assert "(java) T" not in killed.foreign.processes("kafka-3")


def test_another_run_waits_for_what_is_left(killed: Killed, foreign: Foreign, tmp_path) -> None:
    done = carried_out(
        foreign, command(foreign, "attached-killed.toml", tmp_path, *ALLOW), tmp_path
    )

    assert 255 == done.code
    assert "heal --backend kubernetes --cluster" in done.out


def test_heal_tells_what_was_undone_and_ends_what_is_left(killed: Killed, foreign: Foreign) -> None:
    record = json.loads((killed.folder / "run.json").read_text())
    made = record["cluster"]["topic"]
    assert made in topics(foreign)
    named = record["scenario"]["backend"]["kubernetes"]["attach"]
    places = [*named["bootstrap"], *([named["client"]] if named["client"] else [])]
    allow = [word for place in places for word in ("--allow", place)]
    said = heal(foreign, killed.results, str(killed.folder), "--down", *allow)

    assert 0 == said.code, said.err
    assert "kafka-1: removed chain HARNESS-0 of table filter (automatically)" in said.out
    assert "kafka-3: resumed process" in said.out
    assert "is removed" in said.out
    assert [] == foreign.ephemeral("running")
    assert made not in topics(foreign)
    assert 6 == len(foreign.pods())


def test_heal_by_the_namespace_finds_what_is_ours_there(killed: Killed, foreign: Foreign) -> None:
    said = heal(foreign, killed.results, "--backend", "kubernetes", "--cluster", NAMESPACE)

    assert 0 == said.code, said.err
    assert "no fault is in force" in said.out


# Its rights: every run here has no others


def test_the_api_server_takes_the_rights_that_an_attached_run_needs(cluster: Kubernetes) -> None:
    file = ROOT / "k8s" / "attach-rights.yaml"
    cluster.kubectl("create", "namespace", "kafka")
    try:
        said = cluster.kubectl("apply", "--dry-run=server", "-f", str(file))
    finally:
        cluster.kubectl("delete", "namespace", "kafka", "--wait=false")

    assert "role.rbac.authorization.k8s.io/kafka-harness created" in said
