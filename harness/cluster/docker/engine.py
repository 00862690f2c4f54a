"""A compose project in the Docker engine: its containers, found by labels, never by name.

Only this file uses Docker's SDK, and imports it late: all else works without the extra `docker`.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import LABEL

PROJECT, SERVICE = "com.docker.compose.project", "com.docker.compose.service"
TIMEOUT_S = 60
FRAME = struct.Struct(">BxxxI")  # stream, bytes that follow; docker: attach, stream format
T = TypeVar("T")


def connect() -> Any:
    """A client of the Docker engine that the environment names. Raises ClusterError."""
    import docker  # noqa: PLC0415

    try:
        client = docker.from_env(timeout=TIMEOUT_S)
        client.ping()
    except docker.errors.DockerException as error:
        raise ClusterError(
            f"no Docker engine answers ({error}): start it, join the group docker, or set "
            "DOCKER_HOST"
        ) from None
    return client


class Engine:
    """One project's containers. Every failure of the engine is a ClusterError."""

    def __init__(self, client: Any, project: str) -> None:
        self.client = client
        self.project = project
        self._ids: dict[str, str] = {}

    @property
    def version(self) -> str:
        """The engine's own version."""
        return str(_asked(self.client.version)["Version"])

    @property
    def host(self) -> str:
        """Where ports are published: the loopback of an engine that is reached by a socket, else
        the host that is named in DOCKER_HOST, or what HARNESS_ADDRESS says."""
        if own := os.environ.get("HARNESS_ADDRESS"):
            return own
        remote = urlsplit(os.environ.get("DOCKER_HOST", ""))
        if remote.scheme not in ("tcp", "ssh", "http", "https") or not remote.hostname:
            return "127.0.0.1"
        return socket.gethostbyname(remote.hostname)

    def services(self) -> dict[str, Any]:
        """Service -> container, running or not."""
        containers = _asked(lambda: self.client.containers.list(all=True, filters=self._filter()))
        return {container.labels[SERVICE]: container for container in containers}

    def is_ours(self) -> bool:
        """Whether all containers bear our label, and there are any."""
        containers = self.services().values()
        return bool(containers) and all(LABEL in container.labels for container in containers)

    def pid(self, service: str) -> int | None:
        """The pid of the container's process on the Docker host; None when it does not run."""
        state = self._inspect(service)["State"]
        return int(state["Pid"]) if state["Running"] else None

    def state_of(self, service: str, pid: int) -> str:
        """A process's state as ps(1) tells it; empty when it is gone."""
        try:
            listing = _asked(lambda: self.client.api.top(self._id(service), ps_args="-eo pid,stat"))
        except ClusterError:
            return ""
        processes = listing["Processes"] or ()  # none, when it has just ended
        return next((stat for number, stat in processes if int(number) == pid), "")

    def address(self, service: str) -> str:
        """The container's address in the project's one network."""
        networks = self._inspect(service)["NetworkSettings"]["Networks"]
        return str(next(iter(networks.values()))["IPAddress"])

    def published(self, service: str, port: int) -> int:
        """The host's port that leads to this one of the container. Raises ClusterError."""
        ports = self._inspect(service)["NetworkSettings"]["Ports"]
        if not (bound := ports.get(f"{port}/tcp")):
            raise ClusterError(f"{service} runs, but its port {port} is not published")
        return int(bound[0]["HostPort"])

    def kill(self, service: str, name: str) -> None:
        """Send a signal to the container's process."""
        _asked(lambda: self.client.api.kill(self._id(service), name))

    def start(self, service: str) -> None:
        """Start a container that has ended."""
        _asked(lambda: self.client.api.start(self._id(service)))

    def archive(self, service: str, folder: str, file: Path) -> None:
        """Write a folder of the container as a tar file."""
        with file.open("wb") as output:
            for chunk in _asked(lambda: self.client.api.get_archive(self._id(service), folder))[0]:
                output.write(chunk)

    def log(self, service: str, tail: int | None = None, *, since_start: bool = False) -> bytes:
        """What the container has printed: all of it, its last lines, or since its last start."""
        options: dict[str, Any] = {"tail": "all" if tail is None else tail}
        if since_start:
            started = self._inspect(service)["State"]["StartedAt"]
            options["since"] = datetime.fromisoformat(started[:19] + "+00:00")
        return bytes(_asked(lambda: self.client.api.logs(self._id(service), **options)))

    def run(self, service: str, argv: Sequence[str]) -> str:
        """Run a command in a container, as root, and return what it printed."""

        def execute() -> tuple[int, bytes, bytes]:
            api = self.client.api
            made = api.exec_create(self._id(service), list(argv), user="0")
            out, err = api.exec_start(made, demux=True)
            return int(api.exec_inspect(made)["ExitCode"]), out or b"", err or b""

        code, out, err = _asked(execute)
        if code != 0:
            said = (err or out).decode(errors="replace").strip().splitlines() or [f"exit {code}"]
            raise ClusterError(f"{service}: {argv[0]}: {said[-1]}")
        return out.decode(errors="replace")

    def exec_stream(self, service: str, argv: Sequence[str]) -> ExecStream:
        """Run a command in a container and stay attached to it."""

        def attach() -> Any:
            api = self.client.api
            made = api.exec_create(self._id(service), list(argv), user="0", stdin=True)
            return api.exec_start(made, socket=True)

        return ExecStream(_asked(attach))

    def remove(self) -> None:
        """Remove the project's containers with their volumes, and its networks."""
        for container in self.services().values():
            with contextlib.suppress(ClusterError):  # it is removed already
                _asked(partial(container.remove, force=True, v=True))
        for network in _asked(lambda: self.client.networks.list(filters=self._filter())):
            _asked(network.remove)
        for volume in _asked(lambda: self.client.volumes.list(filters=self._filter())):
            _asked(volume.remove)

    def _filter(self) -> dict[str, str]:
        return {"label": f"{PROJECT}={self.project}"}

    def _inspect(self, service: str) -> Any:
        return _asked(lambda: self.client.api.inspect_container(self._id(service)))

    def _id(self, service: str) -> str:
        if service not in self._ids:
            self._ids = {name: str(c.id) for name, c in self.services().items()}
        if service not in self._ids:
            raise ClusterError(f"{self.project} has no container of {service}")
        return self._ids[service]


class ExecStream:
    """An attached command in a container (harness.cluster.sidecar.heartbeat.ExecStream)."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._socket = getattr(stream, "_sock", stream)  # the SDK wraps a Unix socket for reading
        self._buffer = b""
        self._said = ""
        self._over = False

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError."""
        self._socket.sendall(f"{line}\n".encode())

    def said(self) -> str:
        """All that it has printed so far, errors too."""
        while select.select([self._socket], [], [], 0)[0]:
            more = self._socket.recv(65536)
            if not more:
                self._over = True
                break
            self._take(more)
        return self._said

    def over(self) -> bool:
        """Whether it has ended, as far as `said` has seen."""
        return self._over

    def until_the_end(self) -> Iterator[str]:
        """What it prints, as it comes, until it ends."""
        while more := self._socket.recv(65536):
            before = len(self._said)
            self._take(more)
            yield self._said[before:]

    def end(self) -> None:
        """End its input; what it prints then can still be read."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Let go of the connection."""
        self._socket.close()

    def _take(self, more: bytes) -> None:
        self._buffer += more
        while len(self._buffer) >= FRAME.size:
            _, length = FRAME.unpack_from(self._buffer)
            if len(self._buffer) < FRAME.size + length:
                break
            self._said += self._buffer[FRAME.size : FRAME.size + length].decode(errors="replace")
            self._buffer = self._buffer[FRAME.size + length :]


def _asked(question: Callable[[], T]) -> T:
    import docker  # noqa: PLC0415
    import requests  # noqa: PLC0415  what the SDK is built on lets its own errors through

    try:
        return question()
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise ClusterError(f"Docker: {error}") from None
