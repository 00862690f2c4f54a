"""k8s/nightly.yaml for real: a pod runs the harness, with no rights but those the file gives it.

The pod borrows this checkout and its Python from the machine; the harness's own image is made and
tried by hand (`kafka-harness harness-image`), it would take minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.spark.jvm import archive_path
from harness.checkout import ROOT
from harness.model.campaigns.ledger import read
from harness.waiting import wait_until
from tests.support.host_pace import bound_s
from tests.support.labs.kubernetes_lab import BORROWED, Kubernetes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]
NIGHTLY = ROOT / "k8s" / "nightly.yaml"
NAMESPACE = "kafka-harness-nightly"
CAMPAIGN = """
title = "A night of one run"
data = "ledger.jsonl"
seed = 9000
backends = ["kubernetes"]
producer_config = "/properties/producer.properties"
[[cells]]
name = "ours"
scenario = "/scenarios/orders.toml"
repeats = 1
"""
SCENARIO = """
title = "A scenario of the user's own"
extends = "study-4"
[workload]
rounds = 200
[[faults]]
verb = "pause"
target = "leader"
after_rounds = 60
for_s = 2
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nightly")


@pytest.fixture(scope="module")
def ended(cluster: Kubernetes, results: Path) -> Iterator[dict[str, Any]]:
    """The job's pod, once it has ended."""
    if cluster.number is None:
        pytest.skip("a pod can borrow this checkout only where it runs on this machine")
    documents = [borrowing(each, results) for each in yaml.safe_load_all(NIGHTLY.read_text())]
    cluster.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(documents))
    try:
        rendered = cluster.kubectl("kustomize", str(cluster.manifests))
        given(cluster, "ConfigMap", "cluster", {"cluster.yaml": rendered})
        files = {"nightly.toml": CAMPAIGN, "orders.toml": SCENARIO}
        given(cluster, "ConfigMap", "scenarios", files)
        given(cluster, "Secret", "properties", {"producer.properties": "linger.ms=7\n"})
        cluster.kubectl("-n", NAMESPACE, "create", "job", "tonight", "--from=cronjob/nightly")
        yield once_ended(cluster)
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE)


def given(cluster: Kubernetes, kind: str, name: str, files: dict[str, str]) -> None:
    """What the pod finds in a folder of that name."""
    data = {"ConfigMap": "data", "Secret": "stringData"}[kind]
    metadata = {"name": name, "namespace": NAMESPACE}
    document = {"apiVersion": "v1", "kind": kind, "metadata": metadata, data: files}
    cluster.kubectl("create", "-f", "-", text=yaml.safe_dump(document))


def borrowing(document: dict[str, Any], results: Path) -> dict[str, Any]:
    """The same with a pod that has this machine's programs, Python and checkout."""
    if document["kind"] != "CronJob":
        return document
    pod = document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    places = {**BORROWED, "checkout": str(ROOT), "python": sys.base_prefix, "venv": sys.prefix}
    places["archives"] = str(archive_path().parent)  # or Spark starts slowly
    pod["securityContext"] = {"runAsUser": 0}  # whose folders these may be
    for harness in (*pod["initContainers"], *pod["containers"]):
        harness["image"] = "localhost/hostroot:1"
        harness["command"] = [sys.executable, "-B", "-m", "harness.cli"]
        harness["env"] = [{"name": "PYTHONPATH", "value": str(ROOT)}]
        harness["volumeMounts"] += [
            {"name": name, "mountPath": place, "readOnly": True} for name, place in places.items()
        ]
    pod["volumes"] = [each for each in pod["volumes"] if each["name"] != "results"] + [
        {"name": name, "hostPath": {"path": place}}
        for name, place in {**places, "results": str(results)}.items()
    ]
    return document


def once_ended(cluster: Kubernetes) -> dict[str, Any]:
    def status() -> dict[str, Any] | None:
        job = json.loads(cluster.kubectl("-n", NAMESPACE, "get", "job/tonight", "-o", "json"))
        state: dict[str, Any] = job["status"]
        return state if {"succeeded", "failed"} & {*state} else None

    state = wait_until(status, timeout_s=bound_s(600), every_s=1, what="the job to end")
    assert state is not None
    return {**state, "said": cluster.kubectl("-n", NAMESPACE, "logs", "job/tonight")}


def test_the_nightly_job_makes_the_campaign_s_run(ended: dict[str, Any], results: Path) -> None:
    assert 1 == ended.get("succeeded"), ended["said"]
    report = json.loads(next(results.glob("orders/2*/report.json")).read_text())

    assert "valid" == report["verdict"], report["reasons"]
    assert ["pause"] == [fault["verb"] for fault in report["faults"]]
    assert "7" == report["configuration"]["producer"]["linger.ms"]


def test_it_calibrates_first_and_keeps_the_night_s_ledger(
    ended: dict[str, Any], results: Path
) -> None:
    (tonight,) = (results / "nights").glob("*.jsonl")
    told = read(tonight)

    assert [True] == [line["met"] for line in told.calibrations], ended["said"]
    assert ["ours"] == [line["cell"] for line in told.standing]
    assert "against 0 nights before" in tonight.with_suffix(".md").read_text()


def test_it_leaves_nothing_in_its_namespace_but_itself(
    ended: dict[str, Any], cluster: Kubernetes
) -> None:
    kinds = "statefulsets,services,configmaps,poddisruptionbudgets,pods"
    left = cluster.kubectl("-n", NAMESPACE, "get", kinds, "-l", "kafka-harness", "-o", "name")

    assert "" == left, ended["said"]
