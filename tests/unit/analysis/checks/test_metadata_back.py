"""Committed metadata that went back: the smallest histories, and twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import Part, fault, final_read, ns_of, sent, view, with_story

Report = dict[str, Any]
CONTROLLERS = [f"controller{n}" for n in (1, 2, 3)]
KRAFT: dict[str, Any] = {
    "cluster": {"kafka": "4.4.0", "metadata": "kraft"},
    "nodes": {
        **{f"kafka{n}": {"address": f"b{n}:9092", "role": "broker", "id": n} for n in (1, 2, 3)},
        **{
            name: {"address": f"{name}:9093", "role": "controller", "id": 100 + n}
            for n, name in enumerate(CONTROLLERS, start=1)
        },
    },
}
DYNAMIC = {**KRAFT, "cluster": {**KRAFT["cluster"], "voters": "dynamic"}}
WRITTEN = (*(sent(n, at=n, ms=n) for n in range(3)), final_read(0, 1, 2))


def seen(*, ms: float, **more: Any) -> Part:
    """A view as KRaft's log tells it."""
    part = view("kafka1", ms=ms, isr=("kafka1", "kafka2", "kafka3"), controller="controller1")
    told = {"elr": [], "since_ns": ns_of(ms - 50), "partition_epoch": 3, **more}
    return replace(part, rows=({**part.rows[0], **told},))


def emptied(*nodes: str, number: int = 0, **times: Any) -> Part:
    """Controllers that lost their disks."""
    target = "quorum-one" if len(nodes) == 1 else "quorum-majority"
    return fault("lose-disk", target, nodes=nodes, number=number, **times)


BEGIN = seen(ms=-1000)
BACK = seen(ms=500, went_back=True)


def judged(report: Report) -> tuple[str, str]:
    """The verdict, and what the one row of the anomaly is judged."""
    (row,) = report["anomalies"]["metadata-back"]["examples"]
    return report["verdict"], row["judged"]


@with_story(*WRITTEN, BEGIN, seen(ms=500), **KRAFT)
def test_metadata_that_stays_is_none(report: Report) -> None:
    assert report["anomalies"]["metadata-back"]["count"] == 0
    assert report["verdict"] == "valid"


@with_story(*WRITTEN, BEGIN, BACK, **KRAFT)
def test_what_goes_back_without_any_fault_convicts_though_nothing_was_lost(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")
    (row,) = report["anomalies"]["metadata-back"]["examples"]
    assert (row["partition"], row["offset"], round(row["time_s"], 3)) == (0, None, 0.45)
    assert "1 partition had committed metadata that went back" in report["sentence"]
    assert report["outcome"]["data"] != "lost"


@with_story(*WRITTEN, BEGIN, BACK, fault(ms=300), **KRAFT)
def test_so_it_does_after_a_fault_that_leaves_every_disk(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")


@with_story(*WRITTEN, BEGIN, BACK, emptied("controller1", ms=300), **KRAFT)
def test_of_a_static_quorum_one_lost_disk_permits_it(report: Report) -> None:
    assert judged(report) == ("valid", "permitted")
    (row,) = report["anomalies"]["metadata-back"]["examples"]
    assert row["permitted_by"].startswith("lose-disk took what controller1 had written")


@with_story(*WRITTEN, BEGIN, BACK, emptied("controller1", ms=300, for_ms=140), **KRAFT)
def test_not_once_every_voter_had_all_of_it_again(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")


@with_story(*WRITTEN, BEGIN, BACK, emptied("controller1", ms=501), **KRAFT)
def test_nor_before_it_was_lost(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")


@with_story(*WRITTEN, BEGIN, BACK, emptied("kafka1", ms=300), **KRAFT)
def test_nor_by_a_brokers_disk(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")


@with_story(*WRITTEN, BEGIN, BACK, emptied("controller1", ms=300), **DYNAMIC)
def test_of_dynamic_voters_the_majority_that_kept_its_disks_has_it(report: Report) -> None:
    assert judged(report) == ("invalid", "forbidden")


@with_story(*WRITTEN, BEGIN, BACK, emptied(*CONTROLLERS[:2], ms=300), **DYNAMIC)
def test_a_majority_without_them_has_not(report: Report) -> None:
    assert judged(report) == ("valid", "permitted")


@with_story(*WRITTEN, BEGIN, BACK, fault("power-loss", nodes=CONTROLLERS[:1], ms=300), **KRAFT)
def test_whether_lost_power_took_it_is_not_known(report: Report) -> None:
    assert judged(report) == ("unknown", "in-doubt")


@with_story(*WRITTEN, seen(ms=-1000, partition_epoch=None), **KRAFT)
def test_where_nobody_read_the_log_it_is_not_judged(report: Report) -> None:
    assert "metadata-back" not in report["anomalies"]
