"""The brokers of a cluster, found in its metadata by some of their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.brokers import VERSION, metadata_request
from harness.cluster.view.connection import Link, Refused, Unanswered

METADATA = 3  # the request's number


def discovered(bootstrap: Sequence[str], settings: Mapping[str, str]) -> tuple[Node, ...]:
    """The brokers of a cluster, as the first of these that answers knows them.

    Raises ClusterError with the problem of each.
    """
    problems: list[str] = []
    for endpoint in bootstrap:
        host, _, port = endpoint.rpartition(":")
        link = Link(host.strip("[]"), int(port), settings)
        try:
            found = _brokers(link)
        except Refused as problem:
            raise ClusterError(f"the connection was refused: {problem}") from None
        except Unanswered as problem:
            problems.append(str(problem))
            continue
        finally:
            link.close()
        if found:
            return found
        problems.append(f"{endpoint}: it names no brokers yet")
    raise ClusterError("the cluster cannot be reached: " + "; ".join(problems))


def _brokers(link: Link) -> tuple[Node, ...]:
    link.connect()
    if link.newest(METADATA) < VERSION:
        raise ClusterError(
            f"{link.endpoint}: this broker is older than Kafka 2.4, whose metadata has "
            "no reliable leader epochs: use a newer one"
        )
    known = link.ask(metadata_request([])).brokers
    return tuple(
        Node(
            name=f"kafka{each.node_id}",
            role="broker",
            id=each.node_id,
            address=each.host,
            port=each.port,
        )
        for each in sorted(known, key=lambda one: int(one.node_id))
    )
