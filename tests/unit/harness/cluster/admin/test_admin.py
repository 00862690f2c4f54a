"""Log ends are asked of a fresh client after a failure: an old one may know no broker any more."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException

from harness.cluster.admin import admin, connection
from harness.cluster.local.backend import local_nodes


class Client:
    """Knows the brokers, or nobody at all and for good."""

    made = 0
    open = False  # a transaction, from offset 3 on

    def __init__(self, config: dict[str, Any]) -> None:
        Client.made += 1
        self.lost = Client.made == 1

    def list_offsets(
        self, wanted: dict[Any, Any], *, isolation_level: IsolationLevel, **_: Any
    ) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        open_ = Client.open and isolation_level == IsolationLevel.READ_COMMITTED
        if self.lost:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            future.set_result(SimpleNamespace(offset=3 if open_ else 7))
        return dict.fromkeys(wanted, future)


def test_a_client_that_knows_nobody_any_more_is_replaced(monkeypatch):
    monkeypatch.setattr(connection, "AdminClient", Client)
    monkeypatch.setattr(Client, "made", 0)
    asked = admin.Admin(local_nodes(1, 3))

    assert asked.log_ends("t", 2) is None
    assert asked.log_ends("t", 2) == (7, 7)
    assert asked.log_ends("t", 2) == (7, 7)
    assert Client.made == 2


def test_a_log_with_an_open_transaction_has_no_end_yet(monkeypatch):
    """Readers of committed records cannot get there; it is ended sooner or later."""
    monkeypatch.setattr(connection, "AdminClient", Client)
    monkeypatch.setattr(Client, "made", 1)  # the next one knows the brokers
    asked = admin.Admin(local_nodes(1, 3))

    monkeypatch.setattr(Client, "open", True)
    assert asked.log_ends("t", 2) is None
    assert asked.log_ends("t", 2, though_open=True) == (7, 7)
    monkeypatch.setattr(Client, "open", False)
    assert asked.log_ends("t", 2) == (7, 7)
