"""A stored run without ZooKeeper: its run.json and its views say which Kafka permits what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict.permission import permission_of
from harness.model.runs.run_record import RecordError, parse
from tests.support.histories import Part, fault, ns_of, view
from tests.support.permitting import Record, judged
from tests.support.stored_runs import run_of
from tests.support.story_runs import story_record

KRAFT = {"kafka": "4.4.0", "metadata": "kraft"}
UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "2"}
NODES = {
    **{f"kafka{n}": {"address": f"b{n}:9092", "role": "broker", "id": n} for n in (1, 2, 3)},
    "controller1": {"address": "c:9093", "role": "controller", "id": 101},
}
ELR = "eligible.leader.replicas.version"


def seen(leader: str | None, ms: float, isr: tuple[str, ...], **more: Any) -> Part:
    """A view as KRaft's log tells it: with an ELR, empty unless told."""
    epoch = more.pop("epoch", 4)
    part = view(leader, ms=ms, isr=isr, epoch=epoch, controller="controller1")
    told = {"elr": [], "since_ns": ns_of(ms - 1), "partition_epoch": None, **more}
    return replace(part, rows=({**part.rows[0], **told},))


ALONE = (
    seen("kafka1", -1000, ("kafka1", "kafka2")),
    seen("kafka1", 500, ("kafka1",), elr=["kafka2"]),
    seen("kafka2", 900, ("kafka2",), elr=["kafka1"], epoch=5),
)


def lost(*parts: Part, **record: Any) -> str:
    """Whether a record is permitted to be lost that was acknowledged while kafka1 was alone."""
    said = {"cluster": KRAFT, "nodes": NODES, "topic": UNCLEAN, **record}
    run = run_of(*parts, **said)
    sent = Record(begun_ns=ns_of(550), known_ns=ns_of(600))
    return judged(permission_of(run), "lost", sent)


def test_the_elr_of_the_views_counts() -> None:
    assert lost(*ALONE) == "forbidden"
    told = (*ALONE[:1], seen("kafka1", 500, ("kafka1",)), *ALONE[2:])
    assert lost(*told) == "permitted"


def test_where_the_views_tell_none_the_features_decide_whether_there_was_one() -> None:
    untold = [replace(part, rows=({**part.rows[0], "elr": None},)) for part in ALONE]

    assert lost(*untold) == "in-doubt"
    assert lost(*untold, features={ELR: 0}) == "permitted"
    assert lost(*untold, features={ELR: 1}) == "in-doubt"
    assert lost(*untold, cluster={"kafka": "4.0.2", "metadata": "kraft"}) == "permitted"


def test_a_quorum_that_forgot_is_seen_in_a_view() -> None:
    emptied = fault("lose-disk", ms=550, for_ms=300, nodes=["controller1"])
    back = seen("kafka1", 800, ("kafka1", "kafka2"), went_back=True)
    views = (ALONE[0], seen("kafka1", 500, ("kafka1",)), back, ALONE[2])
    clean = {"topic": {"min.insync.replicas": "2"}}

    assert lost(*views, emptied, **clean) == "permitted"
    stayed = replace(back, rows=({**back.rows[0], "went_back": None},))
    assert lost(*views[:2], stayed, ALONE[2], emptied, **clean) == "forbidden"
    assert lost(*views, **clean) == "forbidden"


def test_what_promises_rest_on_must_be_numbers_of_the_controllers_too() -> None:
    record = story_record("told/1", {}).changed(
        node_settings={"controller": {"broker.session.timeout.ms": "2000"}}
    )
    text = record.as_json()

    assert parse(text).node_settings is not None
    with pytest.raises(RecordError, match=r"node_settings\.controller"):
        parse(text.replace('"2000"', '"soon"'))
