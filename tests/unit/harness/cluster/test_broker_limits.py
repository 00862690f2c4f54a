"""Brokers' settings that Kafka holds against each other."""

from __future__ import annotations

import pytest

from harness.cluster.broker_limits import fitted, problems


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        (
            {"replica.lag.time.max.ms": "500"},
            {"replica.lag.time.max.ms": 499},
            "replica.fetch.wait",
        ),
        (
            {"replica.socket.timeout.ms": 500},
            {"replica.socket.timeout.ms": 4},
            "replica.fetch.wait",
        ),
        (
            {"replica.fetch.wait.max.ms": 30000},
            {"replica.fetch.wait.max.ms": 30001},
            "lag.time.max",
        ),
        ({"log.cleaner.threads": 1}, {"log.cleaner.threads": 2}, "dedupe.buffer.size = 2097152"),
        (
            {"log.cleaner.threads": 3, "log.cleaner.dedupe.buffer.size": 3 * 2**20 + 1},
            {"log.cleaner.threads": 3, "log.cleaner.dedupe.buffer.size": 3 * 2**20},
            "log.cleaner.threads = 3 times 1,048,576",
        ),
        ({"queued.max.request.bytes": -1}, {"queued.max.request.bytes": 5}, "socket.request.max"),
        ({"log.retention.ms": "-1"}, {"log.retention.ms": "0"}, "-1, or at least 1"),
        ({"offsets.topic.compression.codec": 4}, {"offsets.topic.compression.codec": 7}, "0 to 4"),
        (
            {"inter.broker.protocol.version": "3.9"},
            {"inter.broker.protocol.version": "4.0"},
            "where ZooKeeper ends",
        ),
        ({"max.connections.per.ip": 1}, {"max.connections.per.ip": 0}, "nobody could connect"),
        (
            {"max.connections.per.ip": 0, "max.connections.per.ip.overrides": "a:1,b:20"},
            {"max.connections.per.ip.overrides": "foo"},
            "HOST:NUMBER",
        ),
        (
            {"offsets.commit.required.acks": 1, "offsets.topic.replication.factor": 1},
            {"offsets.commit.required.acks": 2, "offsets.topic.replication.factor": 1},
            "offsets.topic.replication.factor = 1",
        ),
        (
            {"transaction.state.log.replication.factor": 2},
            {"transaction.state.log.replication.factor": 1},
            "transaction.state.log.min.isr = 2",
        ),
        (
            {"group.max.session.timeout.ms": "6000"},
            {"group.max.session.timeout.ms": "5999"},
            "group.min.session.timeout.ms = 6000",
        ),
        ({"replica.lag.time.max.ms": "soon"}, {"log.retention.hours": 0}, "-1, or at least 1"),
    ],
)
def test_what_no_broker_starts_with_is_told(right, wrong, key):
    assert [] == list(problems(right))
    told = list(problems(wrong))
    assert any(key in sentence for sentence in told)
    assert all(sentence.startswith("cluster.server") for sentence in told)


def test_the_scenario_s_and_the_harness_s_give_way_to_what_is_named():
    short = {"replica.lag.time.max.ms": 2000, "num.io.threads": 2}
    gone = fitted(short, {"replica.fetch.wait.max.ms": "3000"}, {})
    grown = fitted(short, {}, {"log.cleaner.threads": "3"})
    lower = fitted({}, {"transaction.state.log.replication.factor": "1"}, {})

    assert ({"num.io.threads": 2}, {}) == (gone.own, gone.added)
    assert short == grown.own
    assert {"log.cleaner.dedupe.buffer.size": ("6291456", "log.cleaner.threads")} == grown.added
    set_alone = fitted(short, {}, {"replica.fetch.wait.max.ms": "3000"})
    assert short == set_alone.own  # that is refused
    assert "1" == lower.added["transaction.state.log.min.isr"][0]
    for fits in ({"replica.fetch.wait.max.ms": "2000"}, {"log.cleaner.threads": "1"}, {}):
        assert (short, {}) == (fitted(short, fits, {}).own, fitted(short, fits, {}).added)


def test_two_that_are_named_are_left_as_they_are():
    named = {"replica.fetch.wait.max.ms": "3000", "replica.lag.time.max.ms": "2000"}

    assert fitted({}, named, {}).added == {}
    assert list(problems(named))
