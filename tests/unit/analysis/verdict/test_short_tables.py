"""A table that holds less than its worker counted at its end, or whose worker has no end that
anybody saw, proves nothing by what it lacks."""

from __future__ import annotations

import json
from typing import Any

from tests.support.histories import Part, damage, fault, final_read, found, read, sent, with_story

Report = dict[str, Any]
# acks=all: that record 2 is gone is forbidden.
LOSS = (sent(1, at=0), sent(2, at=1), final_read(1))
FOREIGN = (sent(1, at=0), read(9, at=1), final_read(1, 9))


def end(process: str, **counted: int) -> Part:
    row = {"event": "end", "process": process, "text": json.dumps({"reason": "done", **counted})}
    return Part(table="events", ms=9000, rows=(row,))


@with_story(*LOSS, end("final-read-0", reads=2))
def test_a_final_read_with_fewer_rows_than_it_counted_convicts_nobody(report: Report) -> None:
    """Its last page may be zeros: the host kept nothing of it."""
    assert (report["verdict"], found(report, "lost")) == ("unknown", [2])
    assert report["reasons"][-1] == (
        "lost: history/operations/final-read-0.parquet is damaged, so what was seen may be damage "
        "too"
    )


@with_story(*LOSS, end("final-read-0", reads=1))
def test_one_with_as_many_as_it_counted_convicts(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], found(report, "lost")) == ("invalid", [2])


@with_story(*FOREIGN, end("producer-0", sends=2, acked=2))
def test_a_producer_with_fewer_rows_than_it_counted_may_have_sent_it(report: Report) -> None:
    assert (report["verdict"], found(report, "phantom")) == ("unknown", [9])


@with_story(*FOREIGN, end("producer-0", sends=1, acked=1))
def test_one_with_as_many_as_it_counted_did_not(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], found(report, "phantom")) == ("invalid", [9])


@with_story(*FOREIGN, damage("no-end"), workers=[{"process": "producer-0", "exit": None}])
def test_a_producer_whose_end_nobody_saw_may_have_sent_it(report: Report) -> None:
    """Its host may have gone down with it, and with what it wrote last."""
    assert (report["verdict"], found(report, "phantom")) == ("unknown", [9])
    assert report["reasons"][-1].startswith("phantom: nobody saw how producer-0 ended")


@with_story(
    *FOREIGN,
    damage("no-end"),
    workers=[{"process": "producer-0", "exit": -9}],
    state="running",
)
def test_so_may_one_of_a_run_that_did_not_end(report: Report) -> None:
    assert (report["verdict"], found(report, "phantom")) == ("unknown", [9])


@with_story(
    *FOREIGN,
    fault("kill", "client", ms=1, nodes=("producer-0",)),
    damage("no-end"),
    workers=[{"process": "producer-0", "exit": -9}],
)
def test_one_that_was_killed_did_not(report: Report) -> None:
    """The twin of both: pages that were written outlive their process."""
    assert (report["verdict"], found(report, "phantom")) == ("invalid", [9])


@with_story(*LOSS, damage("no-end"), workers=[{"process": "producer-0", "exit": None}])
def test_what_it_did_record_was_sent(report: Report) -> None:
    """That an acknowledged record is lost needs nothing that came after it."""
    assert (report["verdict"], found(report, "lost")) == ("invalid", [2])
