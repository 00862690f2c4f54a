"""The harness's ephemeral containers in pods that are not ours.

They are ephemeral containers, put into a pod while it runs; nothing else of it changes. One of each
kind that a run's faults need:

    links     shares the pod's network only. It outlives the node's container, so that its timer
              mends links even where the kubelet has restarted the node meanwhile
    process   shares the process namespace of the node's container as well (targetContainerName),
              and ends with it

Their names begin with kafka-harness-, then comes the run's. A container of that kind can never be
taken out of its pod's spec (KEP-277): it ends when the run does, at the latest after a time that
it was given, and undoes what is left. `heal` finds it by its name.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.cluster.nodes import ClusterError
from harness.cluster.sidecar import heartbeat
from harness.waiting import WaitTimeout, wait_until

if TYPE_CHECKING:  # needs the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api
    from harness.cluster.kubernetes.pod_watch import EphemeralContainer, Pod

PREFIX = "kafka-harness-"
LINKS, PROCESS = "links", "process"
BEGIN_LIMIT_S = 120.0  # an image may have to be pulled
END_LIMIT_S = 30.0
SAID = "kafka-harness: "  # before every line of a sidecar in its container's log


def of_run(run_id: str) -> str:
    """With what the names of a run's containers begin."""
    return f"{PREFIX}{re.sub(r'[^a-z0-9]+', '-', run_id.lower())[-38:].strip('-')}-"


def manifest(name: str, image: str, command: Iterable[str], target: str | None) -> dict[str, Any]:
    """The container as the API server takes it; `target` is whose processes it shares."""
    made = {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        # The kubelet puts variables in place of $(NAME), and takes $$ for a dollar.
        "command": [word.replace("$", "$$") for word in command],
        "securityContext": {
            "runAsUser": 0,
            "runAsNonRoot": False,
            "capabilities": {"add": ["NET_ADMIN"]},
        },
    }
    return made if target is None else {**made, "targetContainerName": target}


def ours(
    pods: Mapping[str, Pod], prefix: str = PREFIX
) -> Iterator[tuple[str, str, EphemeralContainer]]:
    """Pod, name and state of every container of ours, or of one run's."""
    for pod in sorted(pods):
        for name, container in pods[pod].ephemeral.items():
            if name.startswith(prefix):
                yield pod, name, container


def at_work(pods: Mapping[str, Pod]) -> str | None:
    """The name of a pod in which a container of ours runs or is about to."""
    for pod, _, container in ours(pods):
        if container.running or (container.code is None and container.trouble is None):
            return pod
    return None


def put_into(api: Api, wanted: Mapping[str, Collection[Mapping[str, Any]]]) -> None:
    """Put containers into pods (by name) that have none of those names, and wait until all run.

    Raises ClusterError.
    """
    pods = api.pods("")
    for pod, made in wanted.items():
        known = pods[pod].ephemeral if pod in pods else {}
        if new := [spec for spec in made if spec["name"] not in known]:
            api.put_into(pod, new)
    names = {(pod, spec["name"]) for pod, made in wanted.items() for spec in made}
    _await(api, names, begun=True)


def end(api: Api, prefix: str) -> None:
    """Have a run's containers end, and wait until they have. Raises ClusterError."""
    pods = {name: pod for name, pod in api.pods("").items() if not pod.leaving}
    running = {(pod, name) for pod, name, container in ours(pods, prefix) if container.running}
    untold = list[str]()
    for pod, name in sorted(running):
        try:
            api.run_in(pod, name, heartbeat.command("leave"))
        except ClusterError as error:
            untold.append(str(error))  # the others are ended all the same
    if untold:
        raise ClusterError(f"a container of the harness could not be stopped: {untold[0]}")
    _await(api, running, begun=False)


def _await(api: Api, names: Collection[tuple[str, str]], *, begun: bool) -> None:
    """Until containers (pod, name) run, or have ended."""

    def settled() -> bool:
        containers = {(pod, name): container for pod, name, container in ours(api.pods(""))}
        for (pod, name), container in containers.items():
            if (pod, name) in names and begun and (container.trouble or container.code is not None):
                why = container.trouble or f"it ended with exit code {container.code}"
                raise ClusterError(
                    f"the container of the harness in pod {pod} is not running: {why}"
                )
        if begun:
            return all(key in containers and containers[key].running for key in names)
        return not any(key in containers and containers[key].running for key in names)

    limit_s = BEGIN_LIMIT_S if begun else END_LIMIT_S
    what = f"the harness's containers to {'run' if begun else 'end'}"
    try:
        wait_until(settled, timeout_s=limit_s, what=what, every_s=0.3)
    except WaitTimeout as error:
        raise ClusterError(str(error)) from None


# After a harness that was killed


def heal(api: Api, prefix: str = PREFIX) -> list[str]:
    """Tell what its containers have undone by themselves, undo what they have not, end them.

    Raises ClusterError while a harness is at work there.
    """
    said: list[str] = []
    for pod, name, container in ours(api.pods(""), prefix):
        if container.running:
            said += [f"{pod}: {line} (automatically)" for line in _log(api, pod, name)]
            undone = api.run_in(pod, name, heartbeat.command("undo")).splitlines()
            said += [f"{pod}: {line}" for line in undone]
        elif container.code and name.endswith(LINKS):
            said += [f"{pod}: {line}" for line in _mend(api, pod, container.image, prefix)]
        elif prefix != PREFIX:
            said += [f"{pod}: {line} (automatically)" for line in _log(api, pod, name)]
    end(api, prefix)
    return said


def _mend(api: Api, pod: str, image: str, prefix: str) -> list[str]:
    """Undo by a new container what one that was killed could not."""
    name = f"{prefix}{secrets.token_hex(2)}-mend"
    api.put_into(pod, [manifest(name, image, heartbeat.command("undo"), None)])

    def ended() -> bool:
        return any(
            (pod, name) == (p, n) and container.code is not None
            for p, n, container in ours(api.pods(""))
        )

    wait_until(
        ended, timeout_s=BEGIN_LIMIT_S, what=f"faults in pod {pod} to be undone", every_s=0.3
    )
    return _log(api, pod, name)


def _log(api: Api, pod: str, name: str) -> list[str]:
    """What a sidecar has done, as its container's log has it."""
    lines = [
        line.removeprefix(SAID) for line in api.log(pod, name).splitlines() if line.startswith(SAID)
    ]
    return [line for line in lines if not line.startswith("no keepalive from")]
