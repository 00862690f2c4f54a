"""What decides loss or duplicates is always set explicitly."""

from __future__ import annotations

import pytest

from harness.clients import defaults


def producer_config(scenario, file=None, **more):
    return defaults.layer_config(
        "producer", defaults.Asked(scenario=scenario, file=file, **more)
    ).config


EXPLICIT = (
    "acks",
    "retries",
    "enable.idempotence",
    "max.in.flight.requests.per.connection",
    "linger.ms",
    "message.timeout.ms",
    "request.timeout.ms",
    "compression.type",
)


@pytest.mark.parametrize("key", EXPLICIT)
def test_a_producer_says_what_it_does_even_when_nobody_asked(key):
    assert key in producer_config({})


SCENARIO = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 50,
    "message.timeout.ms": 4000,
    "socket.timeout.ms": 900,
    "transactional.id": "t",
}


def of(**more):
    return defaults.layer_config("producer", defaults.Asked(scenario=SCENARIO, **more))


def test_without_a_file_all_of_the_scenario_holds_and_set_wins():
    found = of(set={"linger.ms": 7})

    assert SCENARIO | {"linger.ms": 7} == {key: found.config[key] for key in SCENARIO}
    assert (found.layers["acks"], found.layers["linger.ms"]) == ("scenario", "--set")
    assert found.layers["batch.size"] == "default of the Java client"
    assert found.layers["reconnect.backoff.ms"] == "harness"
    assert ({}, {}) == (found.kept, found.replaced)


def test_beside_a_file_times_alone_stay_of_the_scenario():
    lines = {"acks": "f, line 1"}
    found = of(file={"acks": "1"}, lines=lines, set={"retries": 3}, transactional=False)

    assert found.config["acks"] == "1"
    assert found.config["enable.idempotence"] is False  # nobody's: it gives way (KIP-679)
    assert found.config["linger.ms"] == 0
    assert "transactional.id" not in found.config
    assert {"message.timeout.ms": 4000, "socket.timeout.ms": 900} == found.kept
    assert {"acks", "enable.idempotence", "linger.ms", "transactional.id"} == {*found.replaced}
    assert [found.layers[key] for key in ("acks", "retries")] == ["f, line 1", "--set"]
    assert of(file={}, transactional=True).config["transactional.id"] == "t"


@pytest.mark.parametrize(
    ("file", "stay"),
    [
        ({"request.timeout.ms": "5000"}, ["socket.timeout.ms"]),  # longer than a whole send
        ({"transaction.timeout.ms": "2000"}, ["socket.timeout.ms"]),
        ({"message.timeout.ms": "500"}, []),
        ({"message.timeout.ms": "9000"}, ["socket.timeout.ms"]),
        ({"linger.ms": "3"}, ["message.timeout.ms", "socket.timeout.ms"]),
    ],
)
def test_a_time_of_the_scenario_that_contradicts_the_file_s_gives_way(file, stay):
    assert stay == list(of(file=file, transactional=False).kept)


def test_heartbeats_must_be_shorter_than_a_session():
    def kept(**file):
        own = {"heartbeat.interval.ms": 500, "session.timeout.ms": 2000}
        asked = defaults.Asked(scenario=own, file={k.replace("_", "."): v for k, v in file.items()})
        return list(defaults.layer_config("consumer", asked).kept)

    assert kept(session_timeout_ms="500") == []
    assert kept(session_timeout_ms="501") == ["heartbeat.interval.ms"]


@pytest.mark.parametrize(
    ("role", "file", "fitted", "value"),
    [
        ("producer", {"reconnect.backoff.ms": "2000"}, "reconnect.backoff.max.ms", "2000"),
        ("consumer", {"max.poll.interval.ms": "30000"}, "session.timeout.ms", "30000"),
        ("consumer", {"session.timeout.ms": "400000"}, "max.poll.interval.ms", "400000"),
        ("consumer", {"fetch.max.bytes": "5000"}, "message.max.bytes", "5000"),
        ("producer", {"transactional.id": "t", "message.timeout.ms": "9" * 6}, None, 60000),
        ("producer", {"reconnect.backoff.ms": "200"}, None, None),
        ("consumer", {"max.poll.interval.ms": "3", "session.timeout.ms": "4"}, None, None),
    ],
)
def test_what_librdkafka_refuses_and_java_does_not_is_made_to_fit(role, file, fitted, value):
    found = defaults.layer_config(role, defaults.Asked(file=file))

    if fitted is None:
        assert ({"message.timeout.ms"} if value else set()) == found.fitted.keys()
        assert value is None or found.config["message.timeout.ms"] == value
    else:
        (other,) = found.fitted.values()
        assert (found.config[fitted], [fitted], other in file) == (value, [*found.fitted], True)
        assert found.layers[fitted] == f"to fit {other}"
    alone = defaults.layer_config(role, defaults.Asked(scenario=file))
    assert alone.fitted == {}


@pytest.mark.parametrize(
    ("file", "delivery"),
    [
        ({"linger.ms": "200000"}, 230000),
        ({"request.timeout.ms": "180000", "socket.timeout.ms": "180000"}, 180000),
        ({"linger.ms": "5"}, 120000),
        ({"linger.ms": "200000", "message.timeout.ms": "300000"}, "300000"),
    ],
)
def test_java_tries_as_long_as_a_request_may_take(file, delivery):
    found = defaults.layer_config("producer", defaults.Asked(file=file)).config

    assert found["message.timeout.ms"] == delivery
    asked = defaults.Asked(file={"linger.ms": "3"}, client="librdkafka")
    assert defaults.layer_config("producer", asked).config["message.timeout.ms"] == 300000


def test_a_session_that_had_to_fit_takes_its_heartbeat_along():
    own = {"heartbeat.interval.ms": 500}
    asked = defaults.Asked(scenario=own, file={"max.poll.interval.ms": "300"})
    found = defaults.layer_config("consumer", asked)

    assert (found.config["session.timeout.ms"], found.config["heartbeat.interval.ms"]) == (
        "300",
        100,
    )
    assert {"session.timeout.ms", "heartbeat.interval.ms"} == {*found.fitted}
    named = defaults.Asked(file={"max.poll.interval.ms": "2000", "heartbeat.interval.ms": "3000"})
    assert defaults.layer_config("consumer", named).config["heartbeat.interval.ms"] == 666


def test_acks_has_one_spelling():
    found = defaults.layer_config(
        "producer", defaults.Asked(scenario={"acks": "all"}, file={"acks": "-1"})
    )

    assert ("all", {}) == (found.config["acks"], found.replaced)


def test_with_the_newer_protocol_brokers_say_what_a_session_is():
    own = {"heartbeat.interval.ms": 500, "session.timeout.ms": 2000, "fetch.wait.max.ms": 9}
    asked = defaults.Asked(scenario=own, file={"group.protocol": "consumer"})

    assert {"fetch.wait.max.ms": 9} == defaults.layer_config("consumer", asked).kept


@pytest.mark.parametrize("spelled", ["1", "t", "TRUE", True])
def test_what_is_on_has_one_spelling(spelled):
    """So it is judged as on, whatever librdkafka takes for it."""
    file = {"enable.idempotence": spelled}
    found = defaults.layer_config("producer", defaults.Asked(file=file, client="librdkafka")).config

    assert found["enable.idempotence"] is True
    assert found["max.in.flight.requests.per.connection"] == 5


def test_beside_a_file_a_consumer_has_its_client_s_isolation_and_reset():
    def config(**more):
        found = defaults.layer_config("consumer", defaults.Asked(**more)).config
        return [found[key] for key in ("isolation.level", "auto.offset.reset", "check.crcs")]

    assert config() == ["read_committed", "earliest", True]
    assert config(file={}) == ["read_uncommitted", "latest", True]
    assert config(file={}, client="librdkafka") == ["read_committed", "latest", False]
    assert config(client="librdkafka") == ["read_committed", "earliest", False]


@pytest.mark.parametrize(
    ("file", "idempotent", "in_flight"),
    [
        ({}, False, 1000000),
        ({"enable.idempotence": "true"}, True, 5),
        ({"transactional.id": "t"}, True, 5),
        ({"enable.idempotence": "true", "max.in.flight": "3"}, True, 3),
    ],
)
def test_librdkafka_is_idempotent_where_it_is_asked_to_be(file, idempotent, in_flight):
    found = defaults.layer_config("producer", defaults.Asked(file=file, client="librdkafka")).config

    assert str(found["enable.idempotence"]).lower() == str(idempotent).lower()
    assert int(found["max.in.flight.requests.per.connection"]) == in_flight


def test_a_setting_has_one_name_whoever_writes_it():
    config = producer_config({"request.required.acks": "1"}, {"max.in.flight": 1})

    assert config["acks"] == "all"
    assert config["max.in.flight.requests.per.connection"] == 1
    assert "request.required.acks" not in config


def test_index_is_the_worker_s_number():
    config = {"client.rack": "rack{index}", "transactional.id": "t-{index}-x", "linger.ms": 1}

    expected = {"client.rack": "rack1", "transactional.id": "t-4-x", "linger.ms": 1}
    assert expected == defaults.worker_config(config, 4, 1)


@pytest.mark.parametrize(
    "asked", [{"acks": "1"}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}]
)
def test_idempotence_gives_way_when_nobody_asked_for_it(asked):
    assert producer_config({})["enable.idempotence"] is True
    assert producer_config(asked)["enable.idempotence"] is False


def test_each_producer_has_a_transactional_id_of_its_own():
    config = producer_config({"transactional.id": "shop"})

    ids = [defaults.worker_config(config, number, number)["transactional.id"] for number in (0, 1)]
    assert ids == ["shop-0", "shop-1"] == [defaults.transactional_id(config, n) for n in (0, 1)]
    assert defaults.worker_config({"acks": "all"}, 0, 0) == {"acks": "all"}
    assert defaults.transactional_id({}, 0) is None


def test_no_send_may_outlast_its_transaction():
    """librdkafka refuses longer ones; what somebody asked for stays, and is refused later."""
    config = producer_config(
        {"transactional.id": "t", "transaction.timeout.ms": 5000}, set={"socket.timeout.ms": 7000}
    )

    assert (config["message.timeout.ms"], config["socket.timeout.ms"]) == (5000, 7000)
    assert producer_config({"transactional.id": "t"})["message.timeout.ms"] == 60000
    assert producer_config({})["message.timeout.ms"] == 120000


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"acks": 1}, "needs acks=all, but acks is 1"),
        ({"request.required.acks": "0"}, "needs acks=all, but acks is 0"),
        ({"retries": 0}, "needs retries > 0"),
        ({"message.send.max.retries": 0}, "needs retries > 0"),
        ({"enable.idempotence": False}, "needs enable.idempotence=true"),
        ({"transactional.id": ""}, "is empty"),
    ],
)
def test_what_rules_transactions_out_is_said_with_its_remedy(more, why):
    problem = defaults.transaction_problem({"transactional.id": "t", **more})

    assert problem is not None
    assert problem.startswith("transactional.id ")
    assert why in problem
    assert (
        defaults.transaction_problem(
            {**more}
            | {
                "transactional.id": "t",
                "acks": -1,
                "retries": 1,
                "enable.idempotence": True,
                "request.required.acks": "all",
                "message.send.max.retries": 1,
            }
        )
        is None
    )
    more.pop("transactional.id", None)
    assert defaults.transaction_problem(more) is None


def test_idempotence_that_was_asked_for_stays_and_is_refused_later():
    config = producer_config({"acks": "1", "enable.idempotence": True})

    assert config["enable.idempotence"] is True
