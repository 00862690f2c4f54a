"""What librdkafka calls the settings that the table of defaults has under the Java client's names.

The table's values are librdkafka's, so a key whose name means another thing there needs both:

    request.timeout.ms (Java)        =>  socket.timeout.ms: how long the client waits for a broker
    request.timeout.ms (librdkafka)  =>  how long a broker may wait for the replicas

A test holds that these are the names by which the workers' configurations are translated.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "delivery.timeout.ms": "message.timeout.ms",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}


def whose(key: str, client: str) -> str:
    """Whose setting it is, and what librdkafka calls it where that is another name."""
    if key == "request.timeout.ms" and client == "producer":
        return "producer; librdkafka’s socket.timeout.ms, not its own request.timeout.ms"
    own = NAMES.get(key)
    return "; ".join([*([client] if client else []), *([f"librdkafka’s {own}"] if own else [])])
