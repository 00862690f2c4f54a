"""An application to try: it reads orders, and sends a payment for each.

    python payments.py --commit transaction|before|after

    transaction   a payment and the offset of its order are committed together, or neither is
    before        offsets first: killed in between, orders have no payment
    after         payments first: killed in between, orders are paid twice

KAFKA, ORDERS and PAID are the brokers' addresses and the topics. A batch takes half a second, half
of it between the two steps, so that a fault comes between them often.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, Message, Producer

BATCH = 50
BETWEEN_S = 0.25


def main() -> None:
    """Pay what is ordered, until something ends this."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", choices=("transaction", "before", "after"), required=True)
    parser.add_argument("--name", default="payments-0", help="of this process's transactions")
    arguments = parser.parse_args()
    brokers = {"bootstrap.servers": os.environ["KAFKA"]}
    consumer = Consumer(
        {
            **brokers,
            "group.id": "payments",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
        }
    )
    own = {"transactional.id": arguments.name} if arguments.commit == "transaction" else {}
    producer = Producer({**brokers, "acks": "all", **own})
    if own:
        producer.init_transactions()
    consumer.subscribe([os.environ["ORDERS"]])
    print("Started", flush=True)
    while True:
        orders = [each for each in consumer.consume(BATCH, 0.2) if each.error() is None]
        if orders:
            pay(arguments.commit, consumer, producer, orders)


def pay(commit: str, consumer: Consumer, producer: Producer, orders: Sequence[Message]) -> None:
    """Send a payment for each order, and commit these."""
    if commit == "transaction":
        producer.begin_transaction()
    if commit == "before":
        consumer.commit(asynchronous=False)
        time.sleep(BETWEEN_S)
    for order in orders:
        number = json.loads(order.value() or b"{}")["order_id"]
        producer.produce(os.environ["PAID"], json.dumps({"order_id": number}))
    producer.flush()
    if commit != "before":
        time.sleep(BETWEEN_S)
    if commit == "after":
        consumer.commit(asynchronous=False)
    if commit == "transaction":
        offsets = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
        producer.commit_transaction()


if __name__ == "__main__":
    main()
