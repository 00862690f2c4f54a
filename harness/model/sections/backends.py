"""Settings of one backend each: where the cluster runs, or the one that is there."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from harness.model.sections.part import Listed, Part

CLIENT = (
    "a .properties file with TLS and SASL settings, relative to the folder in which the command "
    "is given"
)


class DockerPart(Part):
    """The docker backend's containers."""

    image: Annotated[
        str,
        Field(
            description="one image for every container, such as `kafka-harness image` builds; "
            "empty: those of docker-compose.yml",
            examples=["kafka-harness/kafka:3.9.2"],
        ),
    ] = ""


class SelectorsPart(Part):
    """By which labels the pods of an existing Kafka are found (`kubectl get pods -l`)."""

    brokers: Annotated[
        str, Field(description="the brokers' pods, and no others", examples=["app=kafka"])
    ] = ""
    zookeepers: Annotated[
        str,
        Field(
            description="the ZooKeepers' pods, only as other ends of cuts",
            examples=["app=zookeeper"],
        ),
    ] = ""
    controllers: Annotated[
        str,
        Field(
            description="the pods of KRaft's controllers, which faults may hit as well; those of "
            "`brokers` where each is both",
            examples=["app=controller"],
        ),
    ] = ""


class AttachPart(Part):
    """An existing Kafka in pods."""

    namespace: Annotated[
        str,
        Field(
            description="where its pods are; empty: the harness makes a cluster of its own",
            examples=["kafka"],
        ),
    ] = ""
    bootstrap: Annotated[
        Listed,
        Field(description="addresses of brokers, host:port", examples=[["192.168.49.2:31094"]]),
    ] = ()
    client: Annotated[str, Field(description=CLIENT, examples=["client.properties"])] = ""
    selectors: Annotated[
        SelectorsPart,
        Field(description="how pods are found", examples=[{"brokers": "app=kafka"}]),
    ] = SelectorsPart()
    container: Annotated[
        str,
        Field(
            description="Kafka's container in a broker's pod; empty: the first", examples=["kafka"]
        ),
    ] = ""
    image: Annotated[
        str,
        Field(
            description="of the containers that faults need, with sh, iptables, ip, ss, tc and "
            "python3: what `kafka-harness image` builds",
            examples=["registry.example.org/kafka-harness/kafka:3.9.2"],
        ),
    ] = ""


class KubernetesPart(Part):
    """Where the kubernetes backend goes, and what it makes there."""

    context: Annotated[
        str,
        Field(
            description="of the kubeconfig; empty: its current one, or the pod's own identity",
            examples=["minikube"],
        ),
    ] = ""
    namespace: Annotated[
        str,
        Field(
            description="one of yours that exists and stays; empty: one of the run's own",
            examples=["kafka-harness"],
        ),
    ] = ""
    manifests: Annotated[
        str,
        Field(
            description="a kustomization's folder, or a file that one was rendered to; "
            "empty: k8s/minikube or, with KRaft, k8s/minikube-kraft",
            examples=["k8s/kind"],
        ),
    ] = ""
    attach: Annotated[
        AttachPart,
        Field(description="an existing Kafka in pods", examples=[{"namespace": "kafka"}]),
    ] = AttachPart()


class ExternalPart(Part):
    """An existing Kafka, wherever it runs."""

    bootstrap: Annotated[
        Listed,
        Field(
            description="addresses of brokers, host:port; one is enough",
            examples=[["kafka-a.example.org:9093"]],
        ),
    ] = ()
    client: Annotated[str, Field(description=CLIENT, examples=["client.properties"])] = ""


class BackendPart(Part):
    """Settings of one backend each; those of other backends than the run's are ignored."""

    docker: Annotated[
        DockerPart,
        Field(
            description="for `--backend docker`",
            examples=[{"image": "kafka-harness/kafka:3.9.2"}],
        ),
    ] = DockerPart()
    kubernetes: Annotated[
        KubernetesPart,
        Field(description="for `--backend kubernetes`", examples=[{"context": "minikube"}]),
    ] = KubernetesPart()
    external: Annotated[
        ExternalPart,
        Field(
            description="for `--backend external`",
            examples=[{"bootstrap": ["kafka-a.example.org:9093"]}],
        ),
    ] = ExternalPart()
