"""A node that answers Kafka's requests on the loopback as it is told to, by the request's number.

    AnsweringNode("kafka1", 1, {METADATA: response})

Which requests it knows, it tells who connects, and the levels of its `features`; `silent`, it takes
questions and answers none.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse

from harness.cluster.nodes import Node, role_by_name

METADATA, API_VERSIONS, DESCRIBE_QUORUM = 3, 18, 55
_VERSIONS = {METADATA: 9}  # that it is asked for; else 0


class AnsweringNode(threading.Thread):
    """One node; `said` has its answers, and may be changed; `asked` the questions so far."""

    def __init__(self, name: str, number: int, said: dict[int, Any]) -> None:
        super().__init__(daemon=True)
        self.said, self.silent = said, False
        self.asked: list[int] = []
        self.features: dict[str, int] = {}
        self._ear = socket.create_server(("127.0.0.1", 0))
        role = role_by_name(name)
        assert role is not None
        port = self._ear.getsockname()[1]
        self.node = Node(name=name, role=role, id=number, address="127.0.0.1", port=port)
        self._open: list[socket.socket] = [self._ear]
        self.start()

    def callers(self) -> list[socket.socket]:
        """The connections of all who came."""
        return self._open[1:]

    def hang_up(self) -> None:
        """End the connections; who comes again learns anew what it knows."""
        _end(self.callers())

    def run(self) -> None:
        """Until `close`."""
        with suppress(OSError):
            while True:
                self._open.append(self._ear.accept()[0])
                threading.Thread(target=self._serve, args=self._open[-1:], daemon=True).start()

    def close(self) -> None:
        """Answer nobody any more."""
        _end(self._open)

    def _serve(self, caller: socket.socket) -> None:
        with suppress(OSError, struct.error):
            while True:
                (length,) = struct.unpack(">i", caller.recv(4, socket.MSG_WAITALL))
                head = caller.recv(length, socket.MSG_WAITALL)[:8]
                key, version, number = struct.unpack(">hhi", head)
                self.asked.append(key)
                if not self.silent:
                    caller.sendall(self._answer(key, version, number))

    def _answer(self, key: int, version: int, number: int) -> bytes:
        if key == API_VERSIONS:
            known = [
                ApiVersionsResponse.ApiVersion(
                    api_key=each, min_version=0, max_version=_VERSIONS.get(each, 0)
                )
                for each in self.said
            ]
            told = ApiVersionsResponse(
                error_code=0,
                api_keys=known,
                finalized_features=[
                    ApiVersionsResponse.FinalizedFeatureKey(
                        name=name, max_version_level=level, min_version_level=level
                    )
                    for name, level in self.features.items()
                ],
                version=version,
            )
            body: bytes = told.encode(version=version)
            return struct.pack(">ii", len(body) + 4, number) + body
        body = self.said[key].encode(version=_VERSIONS.get(key, 0))
        return struct.pack(">iib", len(body) + 5, number, 0) + body


def _end(sockets: Iterable[socket.socket]) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
