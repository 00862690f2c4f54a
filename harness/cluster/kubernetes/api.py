"""The API of a Kubernetes cluster: what the backend needs of the `kubernetes` client.

The cluster is the one of the kubeconfig ($KUBECONFIG, ~/.kube/config) and the context asked for, or
of the pod that this process runs in. Every error becomes one sentence.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import urllib3
from kubernetes import client, config, stream, utils
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from websocket import WebSocketException

from harness.cluster.kubernetes import minikube
from harness.cluster.kubernetes.manifests import Manifest
from harness.cluster.kubernetes.pod_watch import EphemeralContainer, Pod
from harness.cluster.nodes import ClusterError

EXEC_LIMIT_S = 20.0
ASK_LIMIT_S = 10.0
SHORT = 120
FORBIDDEN, NOT_FOUND, TOO_MANY_REQUESTS = 403, 404, 429


def configuration(context: str) -> client.Configuration:
    """How the cluster is reached. Raises ClusterError."""
    made = client.Configuration()
    try:
        if not context:
            try:
                config.load_incluster_config(client_configuration=made)
            except ConfigException:
                config.load_kube_config(client_configuration=made)
        else:
            config.load_kube_config(context=context, client_configuration=made)
    except (ConfigException, OSError) as error:
        raise ClusterError(
            f"--backend kubernetes: no Kubernetes is configured ({error}): set KUBECONFIG, or "
            "backend.kubernetes.context"
        ) from None
    made.retries = 1
    return made


def minikube_profile(context: str) -> str | None:
    """The profile behind the context asked for, or behind the current one; None where it is none of
    minikube's."""
    try:
        every, current = config.list_kube_config_contexts()
    except ConfigException:
        return None
    chosen = next((candidate for candidate in every if candidate["name"] == context), current)
    return minikube.profile_of(chosen) if chosen else None


class Api:
    """One cluster, and one namespace in it."""

    def __init__(self, how: client.Configuration, namespace: str) -> None:
        self._how = how
        self.namespace = namespace
        self._mine = threading.local()

    @property
    def _client(self) -> client.ApiClient:
        """This thread's own, with its connections: `stream` bends the client that it goes by."""
        if not hasattr(self._mine, "client"):
            self._mine.client = client.ApiClient(self._how)
        return self._mine.client

    @property
    def _core(self) -> Any:
        return client.CoreV1Api(self._client)

    def version(self) -> str:
        """The API server's."""
        with api_errors("the API server to answer"):
            version = client.VersionApi(self._client).get_code(_request_timeout=ASK_LIMIT_S)
            return str(version.git_version)

    # Objects

    def create(self, manifest: Manifest) -> None:
        """Make one object; an existing one is an error."""
        what = f"{manifest['kind']} {manifest['metadata']['name']}"
        with api_errors(f"{what} to be created"):
            try:
                utils.create_from_dict(self._client, manifest)
            except utils.FailToCreateError as error:
                raise error.api_exceptions[0] from None

    def namespace_labels(self) -> dict[str, str] | None:
        """The namespace's labels; None when there is no such namespace."""
        with api_errors(f"namespace {self.namespace}"):
            try:
                namespace = self._core.read_namespace(self.namespace, _request_timeout=ASK_LIMIT_S)
            except ApiException as error:
                if error.status == NOT_FOUND:
                    return None
                raise
            return dict(namespace.metadata.labels or {})

    def delete_namespace(self) -> None:
        """Have the namespace and all in it removed; returns at once."""
        with api_errors(f"namespace {self.namespace} to be removed"), absent_is_fine():
            self._core.delete_namespace(self.namespace, _request_timeout=ASK_LIMIT_S)

    def delete_all(self, selector: str) -> None:
        """Have everything with these labels that a run makes removed; returns at once.

        Pods get no time to end in order: a broker without its ZooKeeper would take all of it.
        """
        apps, policy = client.AppsV1Api(self._client), client.PolicyV1Api(self._client)
        core, more = self._core, {"label_selector": selector, "_request_timeout": ASK_LIMIT_S}
        with api_errors(f"what is labelled {selector} to be removed"):
            apps.delete_collection_namespaced_stateful_set(
                self.namespace, propagation_policy="Orphan", **more
            )
            core.delete_collection_namespaced_pod(self.namespace, grace_period_seconds=0, **more)
            policy.delete_collection_namespaced_pod_disruption_budget(self.namespace, **more)
            core.delete_collection_namespaced_config_map(self.namespace, **more)
            core.delete_collection_namespaced_service(self.namespace, **more)
            core.delete_collection_namespaced_persistent_volume_claim(self.namespace, **more)

    def node_ports(self, selector: str) -> dict[str, int]:
        """The node port of each Service with these labels that has one."""
        with api_errors("the Services"):
            services = self._core.list_namespaced_service(self.namespace, label_selector=selector)
            return {
                service.metadata.name: service.spec.ports[0].node_port
                for service in services.items
                if service.spec.type == "NodePort"
            }

    # Pods

    def pods(self, selector: str) -> dict[str, Pod]:
        """The pods with these labels, by name."""
        with api_errors("the pods"):
            pods = self._core.list_namespaced_pod(
                self.namespace, label_selector=selector, _request_timeout=ASK_LIMIT_S
            )
            return {pod.metadata.name: _pod(pod) for pod in pods.items}

    def delete_pod(self, name: str, *, force: bool) -> None:
        """Graceful: SIGTERM, and the time that the manifest gives; by force: gone at once as far
        as the cluster knows."""
        grace = {"grace_period_seconds": 0} if force else {}
        with api_errors(f"pod {name} to be deleted"):
            self._core.delete_namespaced_pod(
                name, self.namespace, _request_timeout=ASK_LIMIT_S, **grace
            )

    def evict_pod(self, name: str) -> bool:
        """Ask that a pod leave; False when a PodDisruptionBudget forbids it now."""
        eviction = client.V1Eviction(
            metadata=client.V1ObjectMeta(name=name, namespace=self.namespace)
        )
        with api_errors(f"pod {name} to be evicted"):
            try:
                self._core.create_namespaced_pod_eviction(
                    name, self.namespace, eviction, _request_timeout=ASK_LIMIT_S
                )
            except ApiException as error:
                if error.status == TOO_MANY_REQUESTS:
                    return False
                raise
        return True

    # Machines, which Kubernetes calls nodes

    def machine(self, name: str) -> Any:
        """One of them, as the client has it."""
        with api_errors(f"Kubernetes node {name}"):
            return self._core.read_node(name, _request_timeout=ASK_LIMIT_S)

    def machines(self) -> list[Any]:
        """All of them, as the client has them; none where we may not look."""
        with api_errors("the Kubernetes nodes"):
            try:
                return list(self._core.list_node(_request_timeout=ASK_LIMIT_S).items)
            except ApiException as error:
                if error.status == FORBIDDEN:
                    return []
                raise

    def change_machine(self, name: str, patch: Mapping[str, Any]) -> None:
        """Patch a machine."""
        with api_errors(f"Kubernetes node {name}"):
            self._core.patch_node(name, patch, _request_timeout=ASK_LIMIT_S)

    # What is in pods

    def put_into(self, pod: str, containers: Sequence[Mapping[str, Any]]) -> None:
        """Have ephemeral containers begun in a pod that is there; returns at once."""
        with api_errors(f"containers to be put into pod {pod}"):
            self._core.patch_namespaced_pod_ephemeralcontainers(
                pod,
                self.namespace,
                {"spec": {"ephemeralContainers": list(containers)}},
                _request_timeout=ASK_LIMIT_S,
            )

    def log(self, pod: str, container: str, tail: int | None = None) -> str:
        """What a container has said; empty when it cannot be had."""
        more = {"tail_lines": tail} if tail else {}
        try:
            answer = self._core.read_namespaced_pod_log(
                pod,
                self.namespace,
                container=container,
                _request_timeout=ASK_LIMIT_S,
                _preload_content=False,
                **more,
            )
            return bytes(answer.data).decode(errors="replace")
        except (ApiException, urllib3.exceptions.HTTPError, OSError):
            return ""

    def run_in(self, pod: str, container: str, argv: Sequence[str]) -> str:
        """Run a command in a container and return what it printed; ClusterError when it fails."""
        with api_errors(f"a command in {pod}"):
            line = self._line(pod, container, argv, stdin=False)
            try:
                line.run_forever(timeout=EXEC_LIMIT_S)
                if line.is_open():
                    raise ClusterError(f"{pod}: {_short(argv)} took over {EXEC_LIMIT_S:g} s")
                code, out = _code(line), str(line.read_all())
            finally:
                line.close()
        if code != 0:
            raise ClusterError(f"{pod}: {_short(argv)} failed ({code}): {out.strip()}")
        return out

    def line_to(self, pod: str, container: str, argv: Sequence[str]) -> Any:
        """A command in a container with a line to its standard input: kubernetes' own WSClient."""
        with api_errors(f"a command in {pod}"):
            return self._line(pod, container, argv, stdin=True)

    def _line(self, pod: str, container: str, argv: Sequence[str], *, stdin: bool) -> Any:
        return stream.stream(
            self._core.connect_get_namespaced_pod_exec,
            pod,
            self.namespace,
            container=container,
            command=list(argv),
            stdin=stdin,
            stdout=True,
            stderr=True,
            tty=False,
            _preload_content=False,
            _request_timeout=ASK_LIMIT_S,
        )


def _pod(pod: Any) -> Pod:
    statuses = pod.status.container_statuses or []
    return Pod(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        ip=pod.status.pod_ip,
        host_ip=pod.status.host_ip,
        leaving=pod.metadata.deletion_timestamp is not None,
        ready=bool(statuses) and all(status.ready for status in statuses),
        restarts=sum(status.restart_count for status in statuses),
        trouble=next((why for status in statuses if (why := _trouble(status))), None),
        machine=pod.spec.node_name,
        containers=tuple(container.name for container in pod.spec.containers),
        ephemeral=_ephemeral(pod),
        volatile=tuple(volume.name for volume in pod.spec.volumes or () if volume.empty_dir),
    )


def _ephemeral(pod: Any) -> dict[str, EphemeralContainer]:
    statuses = {status.name: status for status in pod.status.ephemeral_container_statuses or ()}
    made = {}
    for container in pod.spec.ephemeral_containers or ():
        status = statuses.get(container.name)
        state = status.state if status else None
        made[container.name] = EphemeralContainer(
            image=container.image,
            running=bool(state and state.running),
            code=state.terminated.exit_code if state and state.terminated else None,
            trouble=_trouble(status) if status else None,
        )
    return made


# Reasons that do not pass by themselves, as the kubelet gives them.
_FINAL = (
    "ErrImageNeverPull",
    "InvalidImageName",
    "ErrImagePull",
    "ImagePullBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "CrashLoopBackOff",
)


def _trouble(status: Any) -> str | None:
    waiting = status.state.waiting if status.state else None
    if waiting is None or waiting.reason not in _FINAL:
        return None
    return f"container {status.name}: {waiting.reason}: {waiting.message or 'no reason given'}"


def _code(line: Any) -> int:
    """How a command ended; the API server tells it at the end of the line, if the line held."""
    try:
        return int(line.returncode)
    except (TypeError, KeyError, IndexError, ValueError):
        raise ClusterError(
            "the connection to the container broke before the command ended"
        ) from None


def _short(argv: Sequence[str]) -> str:
    text = " ".join(argv)
    return text if len(text) < SHORT else f"{text[:SHORT]}…"


@contextmanager
def api_errors(what: str) -> Iterator[None]:
    """What the client raises inside the block, as one sentence."""
    try:
        yield
    except ApiException as error:
        raise ClusterError(f"Kubernetes, {what}: {_reason(error)}") from None
    except (urllib3.exceptions.HTTPError, WebSocketException, OSError) as error:
        raise ClusterError(f"Kubernetes, {what}: {error}") from None


@contextmanager
def absent_is_fine() -> Iterator[None]:
    """Ignore that an object to remove does not exist."""
    try:
        yield
    except ApiException as error:
        if error.status != NOT_FOUND:
            raise


def _reason(error: ApiException) -> str:
    """The API server's own sentence, where it gave one."""
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"
