"""kafka-harness show: prints the plan and configuration of a run; starts nothing."""

from __future__ import annotations

import json

from harness.commands.options import (
    Backend,
    ClientDefaults,
    ConsumerConfig,
    Kafka,
    KafkaHome,
    OneScenario,
    ProducerConfig,
    Seed,
    ServerProperties,
    Sets,
    TopicConfig,
    Unpinned,
    console,
    settings,
)


def show(
    scenario: OneScenario,
    seed: Seed = 0,
    backend: Backend = "local",
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
    topic_config: TopicConfig = None,
    client_defaults: ClientDefaults = None,
    kafka: Kafka = "",
    kafka_home: KafkaHome = None,
    unpinned: Unpinned = False,
) -> None:
    """Print the plan and the complete configuration of a run; nothing is started.

    What `run` would refuse on that backend is refused here too.

    kafka-harness show study-1 --set workload.producer.acks=all
    """
    from harness.commands.carry_out import prepare_run
    from harness.scenario.prepare import Request

    request = Request(
        scenario=scenario,
        seed=seed or 0,
        backend=backend,
        settings=settings(sets, client_defaults, kafka),
        producer_config=producer_config,
        consumer_config=consumer_config,
        server_properties=server_properties,
        topic_config=topic_config,
        kafka_home=kafka_home,
        unpinned=unpinned,
    )
    prepared = prepare_run(request)
    for note in prepared.notes:
        console.print(f"note: {note}", style="yellow", markup=False)
    for step in prepared.steps:
        console.print(f"step {step.step}: {step.describe()}")
    for line in prepared.layers:
        console.print(line, markup=False)
    keys = {"seed", "time_limit_s", "scenario", "layers", "shown_demands"}
    shown = prepared.record.model_dump(mode="json", include=keys)
    console.print_json(json.dumps(shown))
