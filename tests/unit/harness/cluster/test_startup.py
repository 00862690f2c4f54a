"""What is said of a node that does not come up."""

from __future__ import annotations

import pytest

from harness.cluster.nodes import ClusterError, Node
from harness.cluster.startup import await_up, cause_in

LOG = """java.lang.IllegalArgumentException: Error creating broker listeners
\tat kafka.Kafka.main(Kafka.scala)
Caused by: java.lang.IllegalArgumentException: requirement failed: a.b should be at most c.d
\tat scala.Predef$.require(Predef.scala:337)
\t... 6 more"""


def test_the_cause_is_what_the_last_exception_says() -> None:
    assert cause_in(LOG) == "a.b should be at most c.d"
    assert cause_in("org.apache.kafka.common.config.ConfigException: Invalid value x") == (
        "Invalid value x"
    )
    assert cause_in("[2026-11-21] INFO [KafkaServer id=1] shutting down") is None


@pytest.mark.parametrize(("log", "said"), [(LOG, ": a.b should be at most c.d"), ("INFO x", "")])
def test_a_node_that_ends_is_one_sentence_beside_its_log(log: str, said: str) -> None:
    node = Node(name="kafka1", role="broker", id=1, address="127.0.0.1", port=9092)

    def up() -> bool:
        raise ClusterError("kafka1 did not start")

    with pytest.raises(ClusterError) as failed:
        await_up(node, up, limit_s=1, last_lines=lambda: log)
    assert (str(failed.value), failed.value.log) == (f"kafka1 did not start{said}", log)
