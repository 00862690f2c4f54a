"""A connection to one broker, for requests that client libraries do not send to a single broker.

Encoding and SASL are kafka-python's, whose protocol layer does no input or output; the socket is
ours, so that every wait has a limit. A link connects when it is asked first, and anew after any
error; `generation` counts that. One thread at a time.

The library takes a tenth of a second to import, so import this module late.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from kafka.errors import KafkaError, for_code
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from harness.cluster.client_security import mechanism_of, protocol_of, sasl, tls
from harness.cluster.nodes import ClusterError

LIMIT_S = 3.0
logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it would log what is sent


class Unanswered(ClusterError):
    """A broker did not answer, or not as it should."""


class Refused(Unanswered):
    """Authentication with a broker failed."""


class Link:
    """Asks one broker. `settings` are harness.cluster.client_security's."""

    def __init__(
        self, host: str, port: int, settings: Mapping[str, str], limit_s: float = LIMIT_S
    ) -> None:
        self.endpoint = f"{host}:{port}"
        self.generation = 0
        self._address, self._settings, self._limit_s = (host, port), settings, limit_s
        self._tls = tls(settings)
        self._socket: socket.socket | None = None
        self._protocol = KafkaProtocol()
        self._offered: dict[int, int] = {}

    def ask(self, request: Any) -> Any:
        """The broker's answer. Raises Unanswered."""
        return self._connected(lambda: self._exchange(request))

    def reach(self, host: str, port: int) -> None:
        """Ask there from now on."""
        if (host, port) != self._address:
            self.close()
            self.endpoint, self._address = f"{host}:{port}", (host, port)

    def connect(self) -> None:
        """Be connected, so that `newest` can tell. Raises Unanswered."""
        self._connected(lambda: None)

    def _connected(self, ask: Callable[[], Any]) -> Any:
        try:
            if self._socket is None:
                self._connect()
            return ask()
        except Refused:
            self.close()
            raise
        except (OSError, KafkaError, ValueError, EOFError) as error:
            self.close()
            raise Unanswered(f"{self.endpoint}: {error or type(error).__name__}") from None

    def newest(self, api_key: int) -> int:
        """The newest version of a request that the broker knows; -1 for none. Once connected."""
        return self._offered.get(api_key, -1)

    def close(self) -> None:
        """End the connection; the next question makes another."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _connect(self) -> None:
        self._socket = self._dial()
        self._protocol = KafkaProtocol(client_id="kafka-harness")
        self.generation += 1
        try:
            versions = self._exchange(ApiVersionsRequest(version=0))
        except (EOFError, ConnectionError, KafkaError):
            raise Refused(
                f"{self.endpoint}: no Kafka response with "
                f"security.protocol={protocol_of(self._settings)}: check it in the client "
                "settings, and that the address is a broker's"
            ) from None
        self._offered = {key.api_key: key.max_version for key in versions.api_keys}
        self._authenticate()

    def _dial(self) -> socket.socket:
        plain = socket.create_connection(self._address, timeout=self._limit_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return plain
        try:
            return self._tls.wrap_socket(plain, server_hostname=self._address[0])
        except (ssl.SSLError, ConnectionError) as error:
            plain.close()
            said = getattr(error, "verify_message", "") or getattr(error, "reason", "") or error
            raise Refused(f"{self.endpoint}: TLS failed: {said}") from None

    def _authenticate(self) -> None:
        mechanism = sasl(self._settings, self._address[0])
        if mechanism is None:
            return
        name = mechanism_of(self._settings)
        shaken = self._exchange(SaslHandshakeRequest(mechanism=name, version=1))
        if shaken.error_code:
            raise Refused(
                f"{self.endpoint}: SASL mechanism {name} is not enabled; enabled: "
                f"{', '.join(shaken.mechanisms) or 'none'}"
            )
        while not mechanism.is_done():
            said = self._exchange(SaslAuthenticateRequest(mechanism.auth_bytes(), version=1))
            if said.error_code:
                why = said.error_message or for_code(said.error_code).__name__
                raise Refused(f"{self.endpoint}: {name}: {why}")
            mechanism.receive(said.auth_bytes)
        if not mechanism.is_authenticated():
            raise Refused(f"{self.endpoint}: {name}: authentication failed")

    def _exchange(self, request: Any) -> Any:
        assert self._socket is not None
        self._protocol.send_request(request)
        self._socket.sendall(self._protocol.send_bytes())
        while True:
            received = self._socket.recv(65536)
            if not received:
                raise EOFError(
                    "it closed the connection: is its security.protocol "
                    f"{protocol_of(self._settings)}?"
                )
            if answers := self._protocol.receive_bytes(received):
                return answers[0][1]
