"""How a send ended: doubt is info, and the table of certain failures is short."""

import pytest
from confluent_kafka import KafkaError

from harness.history.record_format import FAIL, INFO
from workloads.client.errors import (
    NO_ACK,
    REFUSED_BATCH,
    REFUSED_FOR_ITSELF,
    STANDING,
    TOO_LARGE,
    SendRules,
)

EVERY_CODE = [
    value
    for name in dir(KafkaError)
    if name.isupper() and isinstance(value := getattr(KafkaError, name), int) and value
]


def rules(**config: object) -> SendRules:
    """The rules for acks=all and no retries, but for what is given (dots as underscores)."""
    given = {key.replace("_", "."): value for key, value in config.items()}
    return SendRules.of({"acks": "all", "retries": 0, "enable.idempotence": False, **given})


@pytest.mark.parametrize(
    "config",
    [
        {"retries": 1},
        {"retries": 2_147_483_647},
        {"enable_idempotence": True},
        {"enable_idempotence": "true", "retries": 5},
    ],
)
def test_with_retries_nothing_that_a_broker_answers_is_certain(config: dict[str, object]) -> None:
    """The last error says nothing of the attempts before it."""
    assert {INFO} == {rules(**config).outcome(code) for code in EVERY_CODE}


def test_where_refusals_stand_they_are_certain_with_retries_too() -> None:
    """Nothing in the run changes what is refused; but an earlier attempt may have been in time."""
    standing = SendRules.of({"acks": "all", "retries": 5}, refusals_stand=True)

    assert STANDING == {code for code in EVERY_CODE if standing.outcome(code) == FAIL}
    assert standing.outcome(KafkaError.INVALID_TIMESTAMP) == INFO


@pytest.mark.parametrize(
    ("size", "compression", "stand", "outcome"),
    [
        (1001, "none", True, FAIL),
        (1000, "none", True, INFO),  # others in its batch made it too large
        (1001, "lz4", True, INFO),  # compressed it may have been smaller
        (1001, "none", False, INFO),  # the limit may have been raised in between
    ],
)
def test_a_record_alone_above_the_limit_was_never_taken(
    size: int, compression: str, stand: bool, outcome: int
) -> None:
    config = {"acks": "all", "retries": 5, "compression.type": compression}
    known = SendRules.of(config, refusals_stand=stand, largest=1000)

    assert known.outcome(TOO_LARGE, size) == outcome


def test_without_a_word_about_retries_there_are_some() -> None:
    """librdkafka's own default."""
    assert frozenset() == SendRules.of({"acks": 1, "retries": 2_147_483_647}).definite


def test_without_retries_only_the_table_is_certain() -> None:
    """Every error that the client knows, acks=all: those that refuse the record itself."""
    certain = {code for code in EVERY_CODE if rules().outcome(code) == FAIL}

    assert REFUSED_FOR_ITSELF.keys() == certain


@pytest.mark.parametrize("acks", [1, "1", 0])
def test_without_waiting_for_followers_a_refused_batch_is_certain_too(acks: object) -> None:
    """No attempt before can have been appended and then answered with an error."""
    certain = {code for code in EVERY_CODE if rules(acks=acks).outcome(code) == FAIL}

    assert {*REFUSED_FOR_ITSELF, *REFUSED_BATCH} == certain


@pytest.mark.parametrize(
    "name",
    [
        "REQUEST_TIMED_OUT",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_FOR_PARTITION",
        "UNKNOWN_TOPIC_OR_PART",
        "LEADER_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "_MSG_TIMED_OUT",
        "_TIMED_OUT",
        "_TRANSPORT",
        "_PURGE_INFLIGHT",
        "_PURGE_QUEUE",
        "_FATAL",
    ],
)
@pytest.mark.parametrize("acks", ["all", 1])
def test_what_may_have_landed_is_info(name: str, acks: object) -> None:
    """Whatever the configuration."""
    assert INFO == rules(acks=acks).outcome(getattr(KafkaError, name))


def test_the_table_s_names_are_the_client_s() -> None:
    """A code in the table is the error that it is called."""
    table = {**REFUSED_FOR_ITSELF, **REFUSED_BATCH}

    assert list(table.values()) == [KafkaError(code).name() for code in table]


def test_an_unheard_of_error_is_info() -> None:
    """Brokers of the future may say anything."""
    assert INFO == rules().outcome(12_345)


def test_acks_zero_brings_no_acks() -> None:
    """However it is written."""
    assert [False, False, True, True] == [rules(acks=acks).acks_come for acks in (0, "0", 1, "all")]


def test_our_own_code_is_nobody_else_s() -> None:
    """librdkafka would call it unknown."""
    assert NO_ACK not in EVERY_CODE
