"""Finds the brokers of a cluster of which only some addresses are known, by its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.brokers import VERSION, metadata_request
from harness.cluster.view.connection import Link, Refused, Unanswered

METADATA = 3  # the request's number


def discovered(bootstrap: Sequence[str], settings: Mapping[str, str]) -> tuple[Node, ...]:
    """The brokers of a cluster, as the first of these that answers knows them.

    Raises ClusterError with what each of them said.
    """
    said: list[str] = []
    for endpoint in bootstrap:
        host, _, port = endpoint.rpartition(":")
        link = Link(host.strip("[]"), int(port), settings)
        try:
            members = _brokers(link)
        except Refused as problem:
            raise ClusterError(f"connection failed: {problem}") from None
        except Unanswered as problem:
            said.append(str(problem))
            continue
        finally:
            link.close()
        if members:
            return members
        said.append(f"{endpoint}: its metadata lists no brokers yet")
    raise ClusterError("the cluster cannot be reached: " + "; ".join(said))


def _brokers(link: Link) -> tuple[Node, ...]:
    link.connect()
    if link.newest(METADATA) < VERSION:
        raise ClusterError(
            f"{link.endpoint}: Kafka before 2.4 is not supported: its metadata has no reliable "
            "leader epochs"
        )
    answered = link.ask(metadata_request([])).brokers
    return tuple(
        Node(
            name=f"kafka{broker.node_id}",
            role="broker",
            id=broker.node_id,
            address=broker.host,
            port=broker.port,
        )
        for broker in sorted(answered, key=lambda broker: int(broker.node_id))
    )
