"""The command against a real Kubernetes: every fault bites and heals, a killed harness is cleared
up after, and nothing is left. What somebody runs there has KRaft, see test_attached.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from harness.checkout import ROOT
from harness.waiting import wait_until
from tests.support.commands import (
    COMMAND,
    Ran,
    assert_proved,
    assert_valid,
    kill_tree,
    newest,
    ran,
    with_faults,
)
from tests.support.host_pace import bound_s
from tests.support.labs.kubernetes_lab import Kubernetes
from tests.support.left_behind import assert_nothing_left

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]
HERE = Path(__file__).parent
NAMESPACES = ("get", "namespaces", "-l", "kafka-harness", "-o", "name")


def options(cluster: Kubernetes) -> list[str]:
    return [
        "--backend",
        "kubernetes",
        "--seed",
        "7",
        "--set",
        f"backend.kubernetes.manifests={cluster.manifests}",
    ]


def run(cluster: Kubernetes, folder: Path, *arguments: str) -> Ran:
    return ran([*COMMAND, *arguments], folder, limit_s=900, environment=cluster.environment)


# One run with every fault


@pytest.fixture(scope="module")
def faulty(cluster: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("faults")
    told = (*options(cluster), "--no-check", "--results", str(folder))
    return run(cluster, folder, "run", str(HERE / "faults.toml"), *told)


PROOFS = (
    ("kill", "is gone", "serves"),
    ("pause", "is stopped", "runs and serves"),
    ("stop", "is gone", "serves"),
    ("cut", "packets of clients", "is gone from"),
    ("delete-pod", "is gone", "serves"),
    ("cut", "packets of kafka2", "set again 1 times"),
    ("delete-pod-now", "is gone", "serves"),
    ("drain", "is cordoned", "is uncordoned"),
    ("cut-answers", "answers of", "no rule left"),
)


@pytest.mark.parametrize(
    ("number", "verb", "bit", "healed"), [(i, *proof) for i, proof in enumerate(PROOFS)]
)
def test_a_fault_bites_and_is_healed(
    faulty: Ran, number: int, verb: str, bit: str, healed: str
) -> None:
    assert_proved(faulty, number, verb, bit, healed)


def test_a_run_with_every_fault_is_judged_as_anywhere(faulty: Ran) -> None:
    assert_valid(faulty)


def test_nothing_is_left_of_a_run(faulty: Ran, cluster: Kubernetes) -> None:
    assert faulty.folder is not None
    assert_nothing_left(cluster.kubectl(*NAMESPACES).splitlines())


# A harness that is killed


class Killed:
    """A run whose harness was killed, every process of it, while three faults were in force."""

    def __init__(self, cluster: Kubernetes, folder: Path) -> None:
        self.cluster, self.results = cluster, folder
        argv = [*COMMAND, "run", str(HERE / "killed.toml"), *options(cluster)]
        argv += ["--results", str(folder)]
        with with_faults(argv, folder, 3, cluster.environment, limit_s=240) as process:
            kill_tree(process)
        self.pods = {
            pod["metadata"]["name"]: pod
            for pod in json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
        }

    @property
    def namespace(self) -> str:
        folder = newest(self.results)
        assert folder is not None
        return str(json.loads((folder / "run.json").read_text())["cluster"]["namespace"])

    def kubectl(self, *arguments: str) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments)

    def inside(self, pod: str, script: str) -> str:
        return self.kubectl("exec", pod, "-c", "holder", "--", "sh", "-c", script)


def await_true(condition: Callable[[], bool], limit_s: float, what: str) -> None:
    wait_until(condition, timeout_s=bound_s(limit_s), what=what, every_s=0.5)


JVM = "ps -eo stat=,comm= | grep java || true"


@pytest.fixture(scope="module")
def killed(cluster: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    given = Killed(cluster, tmp_path_factory.mktemp("killed"))
    yield given
    run(
        cluster,
        given.results,
        "heal",
        "--backend",
        "kubernetes",
        "--cluster",
        given.namespace,
        "--down",
    )


def test_the_pods_of_a_killed_harness_undo_its_faults_themselves(killed: Killed) -> None:
    await_true(lambda: "HARNESS" not in killed.inside("kafka-1", "iptables -S"), 30, "mending")
    await_true(lambda: not killed.inside("zk-3", JVM).startswith("T"), 30, "zk-3 to be resumed")

    assert "java" in killed.inside("zk-3", JVM)
    assert "" == killed.inside("kafka-3", JVM)  # nobody starts it but `heal`


def test_heal_starts_what_was_killed_and_can_take_everything_away(killed: Killed) -> None:
    folder = newest(killed.results)

    said = run(killed.cluster, killed.results, "heal", str(folder))
    assert 0 == said.code, said.err
    assert "kafka-3: had been stopped: started" in said.out
    await_true(lambda: "java" in killed.inside("kafka-3", JVM), 30, "kafka-3 to run")
    said = run(killed.cluster, killed.results, "heal", str(folder), "--down")

    assert 0 == said.code, said.err
    assert_nothing_left(killed.cluster.kubectl(*NAMESPACES).splitlines())


# The wrong cluster, and the manifests


def test_a_namespace_that_is_not_ours_is_left_alone(cluster: Kubernetes, tmp_path: Path) -> None:
    said = run(
        cluster, tmp_path, "heal", "--backend", "kubernetes", "--cluster", "default", "--down"
    )

    assert 255 == said.code
    assert "the harness did not make it" in said.err
    assert "Active" in cluster.kubectl("get", "namespace", "default")


@pytest.fixture
def namespace(cluster: Kubernetes) -> Iterator[None]:
    cluster.kubectl("create", "namespace", "kafka-harness")
    yield
    cluster.kubectl("delete", "namespace", "kafka-harness")


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("manifests", ["minikube", "kind", "minikube-kraft"])
def test_the_api_server_takes_the_manifests(cluster: Kubernetes, manifests: str) -> None:
    said = cluster.kubectl("apply", "--dry-run=server", "-k", str(ROOT / "k8s" / manifests))

    assert "statefulset.apps/kafka created" in said


def test_the_api_server_takes_the_nightly_job(cluster: Kubernetes) -> None:
    file = ROOT / "k8s" / "nightly.yaml"
    space = yaml.safe_load(file.read_text().split("---")[0])
    cluster.kubectl("create", "namespace", space["metadata"]["name"])
    try:
        said = cluster.kubectl("apply", "--dry-run=server", "-f", str(file))
    finally:
        cluster.kubectl("delete", "namespace", space["metadata"]["name"])

    assert "cronjob.batch/nightly created" in said
