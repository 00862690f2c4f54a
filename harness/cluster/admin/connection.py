"""A client of the brokers for administration; it retries, since the controller of a new cluster can
be unknown to a client for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.cluster.nodes import ClusterError, Node, NotInTime, brokers
from harness.waiting import WaitTimeout, wait_until

REQUEST_LIMIT_S = 10.0
CREATE_LIMIT_S = 2.0  # a fresh client may wait in vain for a controller: ask again soon
CHANGE_LIMIT_S = 30.0
ASK_EVERY_S = 0.1
# Errors of a broker that does not know the controller, or a new topic, yet.
NOT_YET = ("NOT_CONTROLLER", "UNKNOWN_TOPIC_OR_PART")
T = TypeVar("T")


class AdminConnection:
    """A `client` of confluent_kafka's; `renew` puts a fresh one in its place."""

    def __init__(self, nodes: Sequence[Node], settings: Mapping[str, str] | None) -> None:
        """`settings` let it in: harness.cluster.capabilities.client_settings."""
        self._config: dict[str, Any] = {
            **(settings or {}),
            "bootstrap.servers": ",".join(node.endpoint for node in brokers(nodes)),
            "log_level": 0,
        }
        self.client = AdminClient(dict(self._config))

    def renew(self) -> None:
        """Use a new client: one that has met a broker too early may never learn of any broker
        (librdkafka issue 5301)."""
        self.client = AdminClient(dict(self._config))

    def knows_controller(self) -> bool:
        """Ask for fresh metadata: a client that met the cluster too early waits for it in vain."""
        try:
            return int(self.client.list_topics(timeout=CREATE_LIMIT_S).controller_id) >= 0
        except KafkaException:
            return False

    def insist(self, ask: Callable[[], T], what: str, limit_s: float = CHANGE_LIMIT_S) -> T:
        """Ask again while brokers cannot tell; ClusterError when they refuse or time is over."""

        def attempt() -> T | None:
            try:
                return ask()
            except KafkaException as error:
                problem = error.args[0]
                if problem.code() < 0 or problem.retriable() or problem.name() in NOT_YET:
                    return None
                raise ClusterError(f"{what}: refused: {problem.str()}") from None

        try:
            return cast(T, wait_until(attempt, timeout_s=limit_s, what=what, every_s=ASK_EVERY_S))
        except WaitTimeout as error:
            raise NotInTime(str(error)) from None
