"""librdkafka's own mock cluster, as brokers on the loopback that real workers can talk to.

The Python client offers it only inside one client; its C functions (rdkafka_mock.h) are in the same
library, so tests reach them by ctypes. Offsets and leaders are real enough for a worker; requests
can be answered with an error of choice, brokers can go away and come back.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import confluent_kafka  # noqa: F401  loads the library
import pytest

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_COMMIT = 0, 1, 2, 8
INIT_PRODUCER_ID, END_TXN, TXN_OFFSET_COMMIT = 22, 26, 28
TOPIC = "harness"
# For members of a group. In a session of at most 1 s the mock coordinator lets a rebalance take as
# long as the session: short of CPU, it finds that who waits for the rebalance has been silent for a
# session, drops it, and never answers. Above that the rebalance is a second shorter; and what is
# not answered is asked again 3 s after max.poll.interval.ms, not after five minutes.
MEMBER = {
    "session.timeout.ms": 2000,
    "heartbeat.interval.ms": 200,
    "max.poll.interval.ms": 10_000,
}
two_partitions = pytest.mark.parametrize("kafka", [2], indirect=True)  # of the fixture
_POINTER, _INT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p


def librdkafka() -> Any:
    """The library that the client has loaded. Its path is the sixth column and may have blanks."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split(maxsplit=5)[5] for line in maps if "librdkafka" in line))


def _library() -> Any:
    library = librdkafka()
    for name, result, arguments in (
        ("rd_kafka_conf_new", _POINTER, []),
        ("rd_kafka_conf_set", _INT, [_POINTER, _TEXT, _TEXT, _TEXT, ctypes.c_size_t]),
        ("rd_kafka_new", _POINTER, [_INT, _POINTER, _TEXT, ctypes.c_size_t]),
        ("rd_kafka_destroy", None, [_POINTER]),
        ("rd_kafka_mock_cluster_new", _POINTER, [_POINTER, _INT]),
        ("rd_kafka_mock_cluster_destroy", None, [_POINTER]),
        ("rd_kafka_mock_cluster_bootstraps", _TEXT, [_POINTER]),
        ("rd_kafka_mock_topic_create", _INT, [_POINTER, _TEXT, _INT, _INT]),
        ("rd_kafka_mock_broker_set_down", _INT, [_POINTER, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_up", _INT, [_POINTER, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_rtt", _INT, [_POINTER, ctypes.c_int32, _INT]),
        ("rd_kafka_mock_group_initial_rebalance_delay_ms", None, [_POINTER, ctypes.c_int32]),
        (
            "rd_kafka_mock_push_request_errors_array",
            None,
            [_POINTER, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(_INT)],
        ),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class MockKafka:
    """A running mock cluster with one topic."""

    def __init__(self, brokers: int = 3, partitions: int = 1) -> None:
        self._library = _library()
        self._brokers = range(1, brokers + 1)
        text = ctypes.create_string_buffer(256)
        config = self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(config, b"log_level", b"0", text, 256)
        self._client = self._library.rd_kafka_new(0, config, text, 256)
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, brokers)
        self._library.rd_kafka_mock_topic_create(self._cluster, TOPIC.encode(), partitions, brokers)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 100)
        self.bootstrap: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def answer(self, request: int, *errors: int) -> None:
        """Answer the next requests of a kind with these errors, one each."""
        codes = (_INT * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, request, len(errors), codes
        )

    def down(self) -> None:
        """All brokers go away."""
        for broker in self._brokers:
            self._library.rd_kafka_mock_broker_set_down(self._cluster, broker)

    def up(self) -> None:
        """They come back."""
        for broker in self._brokers:
            self._library.rd_kafka_mock_broker_set_up(self._cluster, broker)

    def slow(self, milliseconds: int) -> None:
        """Every answer takes this long."""
        for broker in self._brokers:
            self._library.rd_kafka_mock_broker_set_rtt(self._cluster, broker, milliseconds)

    def close(self) -> None:
        """End the cluster."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)
