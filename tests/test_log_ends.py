"""Log ends are asked of a fresh client after a failure: an old one may know no broker any more."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from harness.cluster import admin
from harness.cluster.local import local_nodes


class Client:
    """Knows the brokers, or nobody at all and for good."""

    made = 0

    def __init__(self, config: dict[str, Any]) -> None:
        Client.made += 1
        self.lost = Client.made == 1

    def list_offsets(self, wanted: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        if self.lost:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            future.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(wanted, future)


def test_a_client_that_knows_nobody_any_more_is_replaced(monkeypatch):
    monkeypatch.setattr(admin, "AdminClient", Client)
    asked = admin.Admin(local_nodes(1, 3))

    assert asked.log_ends("t", 2) is None
    assert asked.log_ends("t", 2) == (7, 7)
    assert asked.log_ends("t", 2) == (7, 7)
    assert Client.made == 2
