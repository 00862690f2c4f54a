"""A Kafka in pods that is not ours: the one of k8s/kraft without sidecar, shared processes and
labels of ours, with those that Strimzi gives its own and, as there, no two pods of one number; its
brokers' node ports are its outside listener."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.checkout import ROOT
from harness.cluster.kubernetes import manifests
from harness.cluster.node_settings import KRAFT_STARTED, ClusterSettings
from harness.model.scenario import ClusterPart
from harness.waiting import wait_until
from tests.support.host_pace import bound_s
from tests.support.labs.kubernetes_lab import HOME, LAB, Kubernetes

NAMESPACE = "somebodys"
OF_CLUSTER = {"strimzi.io/cluster": "my-cluster"}
BROKERS = "strimzi.io/cluster=my-cluster,strimzi.io/name=my-cluster-kafka"
CONTROLLERS = "strimzi.io/cluster=my-cluster,strimzi.io/name=my-cluster-controllers"
RENAMED = {"kafka": "my-cluster-kafka", "controller": "my-cluster-controllers"}
SETTINGS = ClusterSettings(
    metadata="kraft",
    server={
        "broker.session.timeout.ms": 2000,
        "broker.heartbeat.interval.ms": 444,
        "request.timeout.ms": 3000,
        "replica.lag.time.max.ms": 30000,  # cuts and deletions do not shrink the ISR
    },
)
PROGRAMS = ("sh", "sleep", "cat", "sed", "tr", "mv", "ln", "rm", "mkdir", "ip", "ss", "python3")
RULES = ("iptables", "iptables-nft", "iptables-legacy", "tc")


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """Such a Kafka that is up: what a scenario is told of it."""

    cluster: Kubernetes
    environment: dict[str, str]  # of who may do there what k8s/attach-rights.yaml says
    ports: dict[str, int]
    host: str
    image: str

    def sets(self) -> list[str]:
        where = "backend.kubernetes.attach"
        return [
            word
            for key, value in {
                "namespace": NAMESPACE,
                "image": self.image,
                "bootstrap": json.dumps([f"{self.host}:{self.ports['kafka-1']}"]),
                "selectors.brokers": BROKERS,
                "selectors.controllers": CONTROLLERS,
            }.items()
            for word in ("--set", f"{where}.{key}={value}")
        ]

    def kubectl(self, *arguments: str) -> str:
        return self.cluster.kubectl("-n", NAMESPACE, *arguments)

    def pods(self) -> dict[str, Any]:
        found = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
        return {pod["metadata"]["name"]: pod for pod in found}

    def ephemeral(self, state: str) -> list[str]:
        """The ephemeral containers in that state, as pod/container."""
        return [
            f"{name}/{status['name']}"
            for name, pod in self.pods().items()
            for status in pod["status"].get("ephemeralContainerStatuses", ())
            if state in status["state"]
        ]

    def processes(self, pod: str) -> str:
        """State and name of all that runs in a broker's own container."""
        show = "for p in /proc/[0-9]*; do cut -d' ' -f2,3 $p/stat; done 2>/dev/null || true"
        return self.kubectl("exec", pod, "-c", "node", "--", "sh", "-c", show)


def limited(cluster: Kubernetes, folder: Path) -> dict[str, str]:
    """The environment of an account that has an attached run's rights there, and no others."""
    rights = (ROOT / "k8s" / "attach-rights.yaml").read_text()
    made = rights.replace("namespace: kafka}", f"namespace: {NAMESPACE}}}")
    cluster.kubectl("apply", "-f", "-", text=made)
    token = cluster.kubectl("-n", NAMESPACE, "create", "token", "kafka-harness", "--duration=2h")
    config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"][0]["user"] = {"token": token.strip()}
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return {**cluster.environment, "KUBECONFIG": str(file)}


def deploy(cluster: Kubernetes, image: str, folder: Path) -> Foreign:
    """Make it, and wait until it is up."""
    rendered = yaml.safe_load_all(cluster.kubectl("kustomize", str(cluster.kraft)))
    nodes = manifests.pod_nodes(ClusterPart(metadata="kraft"))
    made = manifests.of_run(
        [_disowned(each) for each in rendered if each],
        namespace=NAMESPACE,
        labels=OF_CLUSTER,
        counts=manifests.counts(nodes),
    )
    made = json.loads(_numbered(json.dumps(made)))
    last = [each for each in made if each["kind"] in ("StatefulSet", "ConfigMap")]
    for each in sorted((m for m in made if m not in last), key=lambda m: m["kind"] != "Namespace"):
        cluster.kubectl("apply", "-f", "-", text=json.dumps(each))
    found = json.loads(cluster.kubectl("-n", NAMESPACE, "get", "services", "-o", "json"))
    ports = {
        each["metadata"]["name"]: port
        for each in found["items"]
        if (port := each["spec"]["ports"][0].get("nodePort"))
    }
    told = {name.replace("-", ""): port for name, port in ports.items()}
    settings = manifests.settings(nodes, NAMESPACE, SETTINGS, told)
    for each in sorted(last, key=lambda m: m["kind"]):
        if each["metadata"]["name"] == manifests.SETTINGS:
            each["data"] = json.loads(_numbered(json.dumps(settings)))
        cluster.kubectl("apply", "-f", "-", text=json.dumps(each))
    host = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"][0]
    address = next(a["address"] for a in host["status"]["addresses"] if a["type"] == "InternalIP")
    given = Foreign(
        cluster=cluster,
        environment=limited(cluster, folder),
        ports=ports,
        host=address,
        image=image,
    )
    wait_until(
        lambda: _up(given),
        timeout_s=bound_s(240),
        what="somebody's Kafka",
        every_s=1,
        ignoring=(AssertionError,),
    )
    return given


def _up(given: Foreign) -> bool:
    pods = given.pods()
    return len(pods) == 6 and all(
        KRAFT_STARTED in given.kubectl("logs", name) for name in pods if "kafka" in name
    )


def _numbered(text: str) -> str:
    """With the controllers' ids, 101 and so on, in their pods' names."""
    return re.sub(r"controller-(\d)\b", r"controller-10\1", text)


def _disowned(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest with nothing of ours in it."""
    text = json.dumps(manifest)
    for name, theirs in RENAMED.items():
        text = text.replace(f'"kafka-harness/role": "{name}"', f'"strimzi.io/name": "{theirs}"')
    made: dict[str, Any] = json.loads(text.replace('"kafka-harness": "kafka-harness"', '"a": "b"'))
    if made["kind"] == "StatefulSet":
        pod = made["spec"]["template"]["spec"]
        if made["metadata"]["name"] == "controller":
            made["spec"]["ordinals"]["start"] = 101
        del pod["shareProcessNamespace"]
        pod["containers"] = [each for each in pod["containers"] if each["name"] != "holder"]
    return made


def hand_image(cluster: Kubernetes, folder: Path) -> str:
    """The name of an image with what faults need, loaded into the lab."""
    if cluster.number is None:
        return os.environ.get("KAFKA_HARNESS_HAND", "kafka-harness/kafka:3.9.2")
    name, file = "localhost/hand:1", folder / "hand.tar"
    python = Path(os.path.realpath("/usr/bin/python3")).name
    elves = [f"/usr/bin/{each}" for each in PROGRAMS] + [f"/usr/sbin/{each}" for each in RULES]
    copies = ["/usr/lib/x86_64-linux-gnu/xtables", f"/usr/lib/{python}"]
    subprocess.run(
        [
            str(LAB / "mkimage.py"),
            "--name",
            name,
            "--out",
            str(file),
            *(word for each in elves for word in ("--elf", each)),
            *(word for each in copies for word in ("--copy", each)),
        ],
        check=True,
        timeout=bound_s(120),
    )
    subprocess.run(
        [str(LAB / "load-image.sh"), str(file)],
        check=True,
        timeout=bound_s(120),
        env={**os.environ, "LAB_HOME": str(HOME), "LAB_ID": str(cluster.number)},
    )
    file.unlink()
    return name
