"""Under acks=1 an ack says that the leader has a record, and a read that all of the ISR has it.

A leader loses its followers at 400 ms and dies at 900 ms; one of them is elected, whatever it
lacks. The record's place is another's then. That is permitted if that follower may have lacked it:
if it was out of the ISR already when something first said that all of the ISR has the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.histories import (
    Part,
    final_read,
    moved,
    read,
    sent,
    split,
    stayed,
    view,
    with_story,
)

Report = dict[str, Any]

ALONE_THEN_UNCLEAN = (
    view("kafka1", ms=-1000, isr=("kafka1", "kafka2")),
    view("kafka1", ms=400, isr=("kafka1",)),
    view("kafka2", ms=900, isr=("kafka2",), epoch=1),
    sent(2, at=0, ms=950),
    final_read(2),
)
UNCLEAN = {"unclean.leader.election.enable": "true"}


def story(*parts: Part, acks: str) -> Callable[[Any], Any]:
    return with_story(*parts, *ALONE_THEN_UNCLEAN, acks=acks, topic=UNCLEAN)


def judged(report: Report) -> dict[str, int]:
    found = report["anomalies"]["inconsistent-offset"]
    assert found["count"] == 1
    return {name: count for name, count in found["judged"].items() if count}


@story(sent(1, at=0, ms=5), read(1, 0, ms=500), acks="1")
def test_acked_before_the_followers_were_out_and_read_after(report: Report) -> None:
    """The leader alone was all of the ISR when it was read."""
    assert judged(report) == {"permitted": 1}
    assert report["verdict"] == "valid"


@story(sent(1, at=0, ms=5), read(1, 0, ms=100), acks="1")
def test_read_before_they_were_out(report: Report) -> None:
    """The twin: the one that was elected had it."""
    assert judged(report) == {"forbidden": 1}
    assert report["verdict"] == "invalid"


@story(sent(1, at=0, ms=5), read(1, 0, ms=500), acks="all")
def test_under_acks_all_the_ack_says_so_too(report: Report) -> None:
    """The twin: acked by all of the ISR while it was whole."""
    assert judged(report) == {"forbidden": 1}


@story(sent(1, at=0, ms=450), read(1, 0, ms=500), acks="all")
def test_acked_by_the_leader_alone(report: Report) -> None:
    assert judged(report) == {"permitted": 1}


@story(sent(1, at=0, ms=5), acks="1")
def test_read_by_nobody(report: Report) -> None:
    """As before: its loss is acks=1's."""
    assert judged(report) == {"permitted": 1}


COPIED = (sent(1, at=1, ms=100), final_read({0: 1}))
REPEATED = {"acks": "1", "retries": 5}


@with_story(*moved(ms=5000), *COPIED, **REPEATED)
def test_the_acknowledged_copy_of_a_repeated_send_may_be_lost_while_another_stays(
    report: Report,
) -> None:
    assert split(report, "inconsistent-offset")["acked_elsewhere"] == 1
    assert report["anomalies"]["inconsistent-offset"]["judged"]["permitted"] == 1


@with_story(stayed(), *COPIED, **REPEATED)
def test_it_stays_where_its_leader_does(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["inconsistent-offset"]["judged"]["forbidden"] == 1
