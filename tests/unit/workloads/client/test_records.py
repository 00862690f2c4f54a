"""What a record has beside its value: keys, lengths, and the clients' partitioners."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Producer

from harness.history.record_format import drawn, value_of, zipf_ends
from tests.support.mock_kafka import TOPIC, MockKafka
from workloads.client.records import Partitions, key_of, length_of, partition_of
from workloads.worker import Spec

N = 20_000


def spec(**own: Any) -> Spec:
    given: dict[str, Any] = {"partitions": 5, "config": {}, "seed": 7, **own}
    return Spec(run_id="a/b", process="p", history=Path(), topic=TOPIC, limit_s=9, **given)


def test_the_kth_key_is_a_kth_as_frequent_as_the_first() -> None:
    key = key_of(spec(keys=4))
    assert key is not None
    counts = Counter(key(value_of(3, n)) for n in range(N))

    whole = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert {b"0", b"1", b"2", b"3"} == counts.keys()
    for rank in range(4):
        assert counts[b"%d" % rank] / N == pytest.approx(1 / (rank + 1) / whole, abs=0.01)


def test_a_checker_knows_the_keys_of_many_values_at_once() -> None:
    key = key_of(spec(keys=1000))
    assert key is not None
    values = np.arange(value_of(3999, 0), value_of(3999, 500), dtype=np.uint64)
    numbers = np.searchsorted(np.array(zipf_ends(1000), np.uint64), drawn(values, 7), side="right")

    assert [b"%d" % number for number in numbers] == [key(value) for value in values.tolist()]


def test_each_record_may_have_a_key_of_its_own_or_none() -> None:
    own = key_of(spec(keys="per-record"))

    assert own is not None
    assert b"8" == own(8)
    assert key_of(spec()) is None


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(100, 100)], {100}),
        ([(20, 22)], {20, 21, 22}),
        ([(50, 50), (3_000_000, 3_000_000)], {50, 3_000_000}),
    ],
)
def test_each_length_is_as_likely(sizes: list[tuple[int, int]], expected: set[int]) -> None:
    length = length_of(spec(sizes=sizes))
    counts = Counter(length(value_of(0, n)) for n in range(3000))

    assert expected == counts.keys()
    assert min(counts.values()) > 3000 / len(expected) * 0.9


@pytest.mark.parametrize("kafka", [5], indirect=True)
@pytest.mark.parametrize(
    ("partitioner", "theirs"), [("java", "murmur2_random"), ("librdkafka", "consistent_random")]
)
def test_a_key_goes_where_the_clients_send_it(
    kafka: MockKafka, partitioner: str, theirs: str
) -> None:
    """As librdkafka's own partitioners decide, one of which is Java's. One key a residue modulo 4
    of its length, and bytes above 127."""
    told = spec(partitioner=partitioner, keys="per-record")
    chosen, key = partition_of(told, Partitions(told)), key_of(told)
    assert key is not None
    went: list[Any] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": theirs})
    numbers = [0, 7, 12, 345, 6789, 12345, 999_999]
    for n in numbers:
        producer.produce(
            TOPIC, b"", key(n), on_delivery=lambda _, m: went.append((m.key(), m.partition()))
        )
    producer.flush(30)

    assert sorted(went) == sorted((key(n), chosen(n)) for n in numbers)
    assert len({partition for _, partition in went}) > 2


def test_records_without_a_key_stay_with_a_partition_for_a_batch() -> None:
    told = spec(partitioner="java", sizes=[(130, 130)], config={"batch.size": 1000})
    choose = partition_of(told, Partitions(told))
    gone = [choose(n) for n in range(500)]

    batches = [gone[at : at + 5] for at in range(0, 500, 5)]
    assert all(len(set(batch)) == 1 for batch in batches)
    assert set(range(5)) == {batch[0] for batch in batches}


def test_by_default_the_partitions_take_turns() -> None:
    choose = partition_of(spec(keys=3), Partitions(spec()))

    assert [0, 1, 2, 3, 4, 0] == [choose(n) for n in range(6)]
